/* The functions of cl_intel_subgroup_matrix_multiply_accumulate for x86 compilers without them, for tests of the fragments. Include
 * after the types of matrix_dpas.cl. A group must call DPAS with all of its work-items at once, and a device must run at most
 * EMULATED_GROUPS consecutive groups at the same time. */
#ifndef __x86_64__
#error "the device has no matrix instructions, and only x86 processors emulate them"
#endif
#define EMULATED_GROUPS 64
#define EMULATED_ITEMS  256

/* Returns memory for the parts of the lanes of a running group: a static variable, which only OpenCL C 2.0 could declare. */
static inline __global dpas_parts *emulated_parts(void)
{
    __global dpas_parts *all;
    __asm__(".local clf_emulated_parts\n\t.comm clf_emulated_parts, 524288, 64\n\tleaq clf_emulated_parts(%%rip), %0" : "=r"(all));
    return all + get_group_id(0) % EMULATED_GROUPS * EMULATED_ITEMS;
}
#if EMULATED_GROUPS * EMULATED_ITEMS * 32 > 524288
#error "the memory of emulated_parts() is too small"
#endif

#if PRECISION == 3
static inline int emulated_dot(uint a, uint b, int sum)
{
    int4 products = convert_int4(as_char4(a)) * convert_int4(as_char4(b));
    return sum + products.x + products.y + products.z + products.w;
}
#else
static inline float emulated_float(uint bits)
{
#if PRECISION == 1
    uchar2 bytes = as_uchar2((ushort)bits); /* characters may alias halves */
    return vload_half(0, (const half *)&bytes);
#else
    return as_float(bits << 16);
#endif
}

static inline float emulated_dot(uint a, uint b, float sum)
{
    sum = fma(emulated_float(a & 0xffff), emulated_float(b & 0xffff), sum);
    return fma(emulated_float(a >> 16), emulated_float(b >> 16), sum);
}
#endif

/* Returns unit `unit` of row `row` of A, from the lanes of a sub-group. */
static inline uint emulated_unit(const __global dpas_parts *lanes, int unit, int row)
{
#if MATRIX_LANES == 8
    return (uint)((const __global int *)&lanes[unit])[row];
#else
    const __global short *low = (const __global short *)&lanes[2 * unit], *high = (const __global short *)&lanes[2 * unit + 1];
    return (uint)(ushort)low[row] | (uint)(ushort)high[row] << 16;
#endif
}

static inline __attribute__((always_inline)) dpas_sums emulated_dpas(dpas_parts a, int8 b, dpas_sums sums)
{
    __global dpas_parts *group = emulated_parts();
    matrix_sum own[MATRIX_ROWS];
    uint units[8];
    vstore8(sums, 0, own);
    vstore8(as_uint8(b), 0, units);
    barrier(CLK_GLOBAL_MEM_FENCE);
    group[get_local_id(0)] = a;
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int row = 0; row < MATRIX_ROWS; row++) {
        for (int unit = 0; unit < 8; unit++) {
            own[row] = emulated_dot(emulated_unit(group + WARP * MATRIX_LANES, unit, row), units[unit], own[row]);
        }
    }
    return vload8(0, own);
}
#undef DPAS
#define DPAS emulated_dpas
