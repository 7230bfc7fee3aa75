/* The first kernel on a device: the host checks the result and rejects the device if it is wrong.
 *
 * y[i] = fma(x[i], scale, sum of x[0 .. i]) + (float)(i / 3), i < count <= 64: one work-group. The numbers are
 * small integers, so the result is exact. y[count] holds the instructions of the processor, a sum of flags of
 * runtime/tuning/levels.h; the use of tiles is requested from the system only if asks_for_tiles is set. No macros. */

/* Inline assembly provides instructions that the compiler does not know. This works only if the compiler targets
 * the processor directly (not SPIR-V or a simulator) and knows registers of that width. The kernel detects the
 * instructions, because it may run on a different processor than the host. */
#if defined(__x86_64__) && defined(__AVX2__) && !defined(__SPIR__)
static inline uint4 cpuid(uint leaf, uint part)
{
    uint4 r;
    __asm__("cpuid" : "=a"(r.x), "=b"(r.y), "=c"(r.z), "=d"(r.w) : "0"(leaf), "2"(part));
    return r;
}

/* Requests permission to use tiles. Linux then reserves 8 KiB per thread for the whole process, including the
 * stacks of signal handlers. The kernel makes the request, because it may run in a different process than the
 * host. */
static inline int may_use_tiles(void)
{
    long result = -1;
#if defined(__linux__) && __clang_major__ >= 12 /* the assembler knows tiles */
    const long arch_prctl = 158, request_permission = 0x1023, tile_data = 18;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(arch_prctl), "D"(request_permission), "S"(tile_data)
                     : "rcx", "r11", "memory");
#endif
    return result == 0;
}

static inline int find_instructions(int asks_for_tiles)
{
    const uint fma_bit = 1u << 12, osxsave = 1u << 27, f16c = 1u << 29;
    const uint avx2 = 1u << 5, avx512f = 1u << 16, avx512bw = 1u << 30, avx512vl = 1u << 31, avx512_vnni = 1u << 11;
    const uint avx_vnni = 1u << 4, avx512_bf16 = 1u << 5;
    const uint amx = 1u << 22 | 1u << 24 | 1u << 25; /* bf16 products, tiles, int8 products */
    const uint basic = fma_bit | osxsave | f16c;
    if (cpuid(0, 0).x < 7 || (cpuid(1, 0).z & basic) != basic) { /* osxsave: the system saves wide
                                                                  * registers */
        return 0;
    }
    uint low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    uint4 features = cpuid(7, 0);
    uint more = features.x >= 1 ? cpuid(7, 1).x : 0;
    if ((low & 0x06) != 0x06 || !(features.y & avx2)) { /* xmm and ymm */
        return 0;
    }
    int found = CLF__AVX2 | (more & avx_vnni ? CLF__DOT_INT8_256 : 0);
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
    const uint needed = avx512f | avx512bw | avx512vl;
    if ((low & 0xe6) == 0xe6 && (features.y & needed) == needed) { /* zmm and masks */
        found |= CLF__WIDE | CLF__AVX512 | (features.z & avx512_vnni ? CLF__DOT_INT8 | CLF__DOT_INT8_256 : 0) |
                 (more & avx512_bf16 ? CLF__DOT_BF16 : 0);
        int has_tiles = (low & 0x60000) == 0x60000 && (features.w & amx) == amx;
        if (has_tiles && asks_for_tiles) {
            found |= may_use_tiles() ? CLF__TILES : CLF__TILES_REFUSED;
        }
    }
#endif
    return found;
}
#elif defined(__aarch64__) && !defined(__SPIR__) /* every such processor has Advanced SIMD */
static inline int find_instructions(int asks_for_tiles)
{
    ulong features = 0; /* ID_AA64ISAR0_EL1, which Linux emulates for programs; on other systems reading it
                         * may end the process */
#ifdef __linux__
    __asm__("mrs %0, s3_0_c0_c6_0" : "=r"(features));
#endif
    return CLF__NEON | ((features >> 44 & 15) != 0 ? CLF__DOT_INT8_128 : 0);
}
#else
static inline int find_instructions(int asks_for_tiles)
{
    return 0;
}
#endif

/* Launched with one group. */
CPU_KERNEL void probe_cpu(__global float *y, const __global float *x, float scale, int count, int asks_for_tiles)
{
    for (int first = 0; first < count; first += 16) {
        int part = min(count - first, 16);
        float16 v = load_part(x + first, part, 0.0f);
        float before[16];
        for (int i = 0; i < 16; i++) {
            float sum = 0.0f;
            for (int j = 0; j <= first + i && j < count; j++) {
                sum += x[j];
            }
            before[i] = sum + (float)((first + i) / 3);
        }
        store_part(fma16(v, (float16)scale, vload16(0, before)), y + first, part);
    }
    y[count] = (float)find_instructions(asks_for_tiles);
}

/* Launched with one group; work-item i computes y[i] from values that other work-items store in local memory. */
GPU_KERNEL void probe_gpu(__global float *y, const __global float *x, float scale, int count, int asks_for_tiles)
{
    __local float shared[GROUP];
    int i = get_local_id(0);
    shared[i] = i < count ? x[i] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0.0f;
    for (int j = 0; j <= i; j++) {
        sum += shared[j];
    }
    if (i < count) {
        y[i] = fma(shared[i], scale, sum + (float)(i / 3));
    }
    if (i == 0) {
        y[count] = (float)find_instructions(asks_for_tiles);
    }
}
