/* Where a kernel's result goes: fp32, or with RESULT_BF16 rounded to bf16, for a product that reads it so. Included,
 * never built alone. */

#ifndef RESULT_COLUMNS /* more than one file includes this one */
#define RESULT_COLUMNS 16 /* of a vector */

#ifdef RESULT_BF16
#include "include/bf16.cl"
typedef ushort result_element;

static inline void wide_store_result(struct wide value, __global result_element *y, int count)
{
    if (count == RESULT_COLUMNS) {
        store_bf16_16(value.v, y);
    } else {
        float lanes[RESULT_COLUMNS];
        vstore16(value.v, 0, lanes);
        for (int i = 0; i < count; i++) {
            y[i] = (ushort)(round_bf16(lanes[i]) >> 16);
        }
    }
}
#else
typedef float result_element;

static inline void wide_store_result(struct wide value, __global result_element *y, int count)
{
    if (count == RESULT_COLUMNS) {
        vstore16(value.v, 0, y);
    } else {
        store_part(value.v, y, count);
    }
}
#endif
#define store_result16(value, y, count) wide_store_result(WIDE(value), y, count)
#endif
