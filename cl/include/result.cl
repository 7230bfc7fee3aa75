/* The result of a kernel: fp32, or with RESULT_PRECISION (fp16 or bf16, a value of clf_precision) rounded for a
 * GEMM that reads that precision; the CPU variant supports bf16. Include file, not a program. */

#ifndef RESULT_COLUMNS /* more than one file includes this one */
#define RESULT_COLUMNS 16 /* columns of a vector */

#ifdef RESULT_PRECISION
#define OPERAND_PRECISION RESULT_PRECISION
#include "include/operand16.cl"
#include "include/bf16.cl"
typedef ushort result_element;
#define store_result      store_operand16
#define store_result_quad store_operand_quad

static inline void wide_store_result(struct wide value, __global result_element *y, int count)
{
    if (RESULT_PRECISION == 2 && count == RESULT_COLUMNS) {
        store_bf16_16(value.v, y);
    } else {
        float lanes[RESULT_COLUMNS];
        vstore16(value.v, 0, lanes);
        for (int i = 0; i < count; i++) {
            store_operand16(lanes[i], y + i);
        }
    }
}
#else
typedef float result_element;
#define store_result(value, to) (*(to) = (value))
#define store_result_quad       store_quad

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
