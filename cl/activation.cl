/* y = activation(x), and y = activation(x) * gate: all (N, F); y may be x or gate.
 *
 * CPU forms: a group takes whole rows. GPU forms: a group takes a row, work-item i its columns 4i .. 4i + 3,
 * then QUADS further on.
 *
 * Macro: ACTIVATION, the kind (see the prelude). */
#ifndef ACTIVATION
#error "ACTIVATION: a value of enum clf__activation"
#endif

CPU_KERNEL void activation_forward_cpu(__global float *y, int y_offset, int y_stride, const __global float *x,
                                       int x_offset, int x_stride, int rows, int columns)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        __global float *out = y + y_offset + (size_t)n * y_stride;
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        int c = 0;
        for (; c + 16 <= columns; c += 16) {
            vstore16(activate16(vload16(0, in + c)), 0, out + c);
        }
        if (c < columns) {
            store_part(activate16(load_part(in + c, columns - c, 0.0f)), out + c, columns - c);
        }
    }
}

CPU_KERNEL void gate_forward_cpu(__global float *y, int y_offset, int y_stride, const __global float *x, int x_offset,
                                 int x_stride, const __global float *gate, int gate_offset, int gate_stride, int rows,
                                 int columns)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        __global float *out = y + y_offset + (size_t)n * y_stride;
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        const __global float *factor = gate + gate_offset + (size_t)n * gate_stride;
        int c = 0;
        for (; c + 16 <= columns; c += 16) {
            vstore16(activate16(vload16(0, in + c)) * vload16(0, factor + c), 0, out + c);
        }
        if (c < columns) {
            int part = columns - c;
            store_part(activate16(load_part(in + c, part, 0.0f)) * load_part(factor + c, part, 0.0f), out + c, part);
        }
    }
}

GPU_KERNEL void activation_forward_gpu(__global float *y, int y_offset, int y_stride, const __global float *x,
                                       int x_offset, int x_stride, int rows, int columns)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        __global float *out = y + y_offset + (size_t)n * y_stride;
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        for (int c = (int)get_local_id(0) * 4; c < columns; c += QUADS) {
            store_quad(activate4(load_quad(in + c, columns - c, 0.0f)), out + c, columns - c);
        }
    }
}

GPU_KERNEL void gate_forward_gpu(__global float *y, int y_offset, int y_stride, const __global float *x, int x_offset,
                                 int x_stride, const __global float *gate, int gate_offset, int gate_stride, int rows,
                                 int columns)
{
    for (int n = (int)get_group_id(0); n < rows; n += (int)get_num_groups(0)) {
        __global float *out = y + y_offset + (size_t)n * y_stride;
        const __global float *in = x + x_offset + (size_t)n * x_stride;
        const __global float *factor = gate + gate_offset + (size_t)n * gate_stride;
        for (int c = (int)get_local_id(0) * 4; c < columns; c += QUADS) {
            float4 value = activate4(load_quad(in + c, columns - c, 0.0f));
            store_quad(value * load_quad(factor + c, columns - c, 0.0f), out + c, columns - c);
        }
    }
}
