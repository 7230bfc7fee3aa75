/* The first kernel that a device runs: the host knows the answer and refuses a device that gives another.
 *
 * y[i] = fma(x[i], scale, sum of x[0 .. i]) + (float)(i / 3), i < count <= 64: one work-group. The numbers are small
 * integers, so that the answer is exact. No macros are needed. */

/* Groups: one. */
CPU_KERNEL void probe_cpu(__global float *y, const __global float *x, float scale, int count)
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
        store_part(fma(v, (float16)scale, vload16(0, before)), y + first, part);
    }
}

/* Groups: one; work-item i makes y[i] from what the others put into local memory. */
GPU_KERNEL void probe_gpu(__global float *y, const __global float *x, float scale, int count)
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
}
