/* Levels of instructions of the CPU form: C and OpenCL include this one file.
 *
 * All that one level does otherwise than another stands in its row of device/levels.c and in
 * cl/include/level.cl. */
#ifndef CLF_DEVICE_LEVELS_H
#define CLF_DEVICE_LEVELS_H

/* Instructions, as cl/device/probe.cl finds them: its answer is a sum of these. */
#define CLF__DOT_INT8 1 /* vpdpbusd on 512 bits (AVX512_VNNI) */
#define CLF__DOT_BF16 2 /* vdpbf16ps on 512 bits (AVX512_BF16) */

#ifndef __OPENCL_C_VERSION__
struct clf__level {
    const char *name;
    int instructions; /* that it needs, and that its kernels use */
    int block_rows;   /* rows of a register block in products, 1 to 8 */
    int int8_bytes;   /* of an element of packed activations in int8 */
};

/* The level of kernels in OpenCL C alone, which every device runs. */
const struct clf__level *clf__level_portable(void);

/* The best level for which the instructions that a probe kernel found are enough. */
const struct clf__level *clf__level_find(int instructions);
#endif

#endif
