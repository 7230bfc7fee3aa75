/* target += scale * (sums[0] + sums[1] + ...): target (1, C), sums (chunks, C), added in their order.
 *
 * CPU form: a group takes 64 columns. GPU form: a group takes QUADS columns, work-item i four of them. No macros are
 * needed. */

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
            vstore16(fma(s0, (float16)(scale), vload16(0, out)), 0, out);
            vstore16(fma(s1, (float16)(scale), vload16(1, out)), 1, out);
            vstore16(fma(s2, (float16)(scale), vload16(2, out)), 2, out);
            vstore16(fma(s3, (float16)(scale), vload16(3, out)), 3, out);
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
    int first = ((int)get_group_id(0) * GROUP + (int)get_local_id(0)) * 4;
    for (int c = first; c < columns; c += (int)get_num_groups(0) * QUADS) {
        const __global float *in = sums + sums_offset + c;
        __global float *out = target + target_offset + c;
        float4 sum = 0.0f;
        for (int k = 0; k < chunks; k++, in += sums_stride) {
            sum += load_quad(in, columns - c, 0.0f);
        }
        store_quad(fma(sum, (float4)(scale), load_quad(out, columns - c, 0.0f)), out, columns - c);
    }
}
