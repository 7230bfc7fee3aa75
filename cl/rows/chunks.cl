/* target += scale * (sums[0] + sums[1] + ...): target (1, C), sums (chunks, C).
 *
 * CPU variant: a group adds the chunks of 64 columns in order. GPU variant: a group has 8 columns; work-item i
 * adds column i % 8 of chunks i / 8, i / 8 + 8 ..., and these sums are then added in order. No macros. */

CPU_KERNEL void chunks_add_cpu(__global float *target, int target_offset, const __global float *sums, int sums_offset,
                               int sums_stride, int chunks, int columns, float scale)
{
    for (int c = (int)get_group_id(0) * 64; c < columns; c += (int)get_num_groups(0) * 64) {
        __global float *out = target + target_offset + c;
        const __global float *in = sums + sums_offset + c;
        if (c + 64 <= columns) {
            float16 s0 = (float16)(0.0f), s1 = s0, s2 = s0, s3 = s0;
            for (int k = 0; k < chunks; k++, in += sums_stride) {
                s0 += vload16(0, in);
                s1 += vload16(1, in);
                s2 += vload16(2, in);
                s3 += vload16(3, in);
            }
            vstore16(fma16(s0, (float16)(scale), vload16(0, out)), 0, out);
            vstore16(fma16(s1, (float16)(scale), vload16(1, out)), 1, out);
            vstore16(fma16(s2, (float16)(scale), vload16(2, out)), 2, out);
            vstore16(fma16(s3, (float16)(scale), vload16(3, out)), 3, out);
            continue;
        }
        for (int i = 0; i < columns - c; i++) {
            float sum = 0.0f;
            for (int k = 0; k < chunks; k++) {
                sum += in[(size_t)k * sums_stride + i];
            }
            out[i] = fma(sum, scale, out[i]);
        }
    }
}

GPU_KERNEL void chunks_add_gpu(__global float *target, int target_offset, const __global float *sums, int sums_offset,
                               int sums_stride, int chunks, int columns, float scale)
{
    __local float shared[GROUP];
    int item = (int)get_local_id(0);
    for (int first = (int)get_group_id(0) * 8; first < columns; first += (int)get_num_groups(0) * 8) {
        int c = first + item % 8;
        float sum = 0.0f;
        for (int k = item / 8; k < chunks && c < columns; k += 8) {
            sum += sums[sums_offset + (size_t)k * sums_stride + c];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        shared[item] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < 8 && c < columns) {
            for (int part = 1; part < 8; part++) {
                sum += shared[part * 8 + item];
            }
            target[target_offset + c] = fma(sum, scale, target[target_offset + c]);
        }
    }
}
