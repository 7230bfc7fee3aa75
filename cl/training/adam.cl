/* One step of Adam or AdamW on n parameters w with the moments m and v and the gradients dw, and sums of
 * squares.
 *
 * A group processes adjacent blocks of BLOCK numbers, one block at a time. GPU variants: work-item i processes
 * numbers 4i .. 4i + 3 of every QUADS numbers of a block. No macros. */
#define BLOCK 4096

/* Finds this group's share of the blocks of n numbers. */
static void group_stretches(int *first, int *last, int n)
{
    int blocks = (n - 1) / BLOCK + 1, groups = (int)get_num_groups(0);
    int share = (blocks - 1) / groups + 1;
    *first = min((int)get_group_id(0) * share, blocks);
    *last = min(*first + share, blocks);
}

/* With g = gradient_scale dw + coupled_decay w:
 *
 *   m += take1 (g - m), v = beta2 v + take2 g², w = kept w - step m / (sqrt(v) root + epsilon), dw = 0
 *
 * take1 = 1 - beta1, take2 = 1 - beta2, kept = 1 - rate decay, step = rate / correction1, root = 1 / sqrt(correction2). */
#define ADAM_ARGUMENTS                                                                                                 \
    __global float *w, int w_offset, __global float *m, int m_offset, __global float *v, int v_offset,                 \
        __global float *dw, int dw_offset, int n, float gradient_scale, float coupled_decay, float take1, float beta2, \
        float take2, float root, float epsilon, float kept, float step

struct adam {
    float gradient_scale, coupled_decay, take1, beta2, take2, root, epsilon, kept, step;
};

#define ADAM_STEP(T, adam, w, m, v, dw)                                                                                \
    {                                                                                                                  \
        T g = fma_##T((T)(adam.coupled_decay), w, adam.gradient_scale * dw);                                           \
        m = fma_##T((T)(adam.take1), g - m, m);                                                                        \
        v = fma_##T(adam.take2 * g, g, adam.beta2 * v);                                                                \
        w = fma_##T((T)(-adam.step), m / fma_##T(sqrt_##T(v), (T)(adam.root), (T)(adam.epsilon)), adam.kept * w);      \
    }

CPU_KERNEL void adam_update_cpu(ADAM_ARGUMENTS)
{
    const struct adam adam = {gradient_scale, coupled_decay, take1, beta2, take2, root, epsilon, kept, step};
    w += w_offset, m += m_offset, v += v_offset, dw += dw_offset;
    int first_stretch, last_stretch;
    group_stretches(&first_stretch, &last_stretch, n);
    for (int k = first_stretch; k < last_stretch; k++) {
        int first = k * BLOCK, end = n - first < BLOCK ? n : first + BLOCK;
        int i = first;
        for (; i + 16 <= end; i += 16) {
            float16 a = vload16(0, w + i), b = vload16(0, m + i), c = vload16(0, v + i), d = vload16(0, dw + i);
            ADAM_STEP(float16, adam, a, b, c, d)
            vstore16(a, 0, w + i);
            vstore16(b, 0, m + i);
            vstore16(c, 0, v + i);
            vstore16((float16)(0.0f), 0, dw + i);
        }
        for (; i < end; i++) {
            float a = w[i], b = m[i], c = v[i], d = dw[i];
            ADAM_STEP(float, adam, a, b, c, d)
            w[i] = a;
            m[i] = b;
            v[i] = c;
            dw[i] = 0.0f;
        }
    }
}

GPU_KERNEL void adam_update_gpu(ADAM_ARGUMENTS)
{
    const struct adam adam = {gradient_scale, coupled_decay, take1, beta2, take2, root, epsilon, kept, step};
    w += w_offset, m += m_offset, v += v_offset, dw += dw_offset;
    int first_stretch, last_stretch;
    group_stretches(&first_stretch, &last_stretch, n);
    for (int k = first_stretch; k < last_stretch; k++) {
        int first = k * BLOCK, end = n - first < BLOCK ? n : first + BLOCK;
        for (int i = first + (int)get_local_id(0) * 4; i < end; i += QUADS) {
            int left = end - i;
            float4 a = load_quad(w + i, left, 0.0f), b = load_quad(m + i, left, 0.0f);
            float4 c = load_quad(v + i, left, 0.0f), d = load_quad(dw + i, left, 0.0f);
            ADAM_STEP(float4, adam, a, b, c, d)
            store_quad(a, w + i, left);
            store_quad(b, m + i, left);
            store_quad(c, v + i, left);
            store_quad(0.0f, dw + i, left);
        }
    }
}

/* parts[k] = the sum of x[i]² over block k of x (1, n) */
CPU_KERNEL void sum_squares_cpu(__global float *parts, int parts_offset, const __global float *x, int x_offset, int n)
{
    x += x_offset;
    int first_stretch, last_stretch;
    group_stretches(&first_stretch, &last_stretch, n);
    for (int k = first_stretch; k < last_stretch; k++) {
        int i = k * BLOCK, end = n - i < BLOCK ? n : i + BLOCK;
        float16 s0 = (float16)(0.0f), s1 = s0, s2 = s0, s3 = s0;
        for (; i + 64 <= end; i += 64) {
            float16 a = vload16(0, x + i), b = vload16(1, x + i), c = vload16(2, x + i), d = vload16(3, x + i);
            s0 = fma16(a, a, s0);
            s1 = fma16(b, b, s1);
            s2 = fma16(c, c, s2);
            s3 = fma16(d, d, s3);
        }
        for (; i < end; i += 16) {
            float16 a = end - i < 16 ? load_part(x + i, end - i, 0.0f) : vload16(0, x + i);
            s0 = fma16(a, a, s0);
        }
        parts[parts_offset + k] = sum16((s0 + s1) + (s2 + s3));
    }
}

GPU_KERNEL void sum_squares_gpu(__global float *parts, int parts_offset, const __global float *x, int x_offset, int n)
{
    __local float shared[GROUP];
    x += x_offset;
    int first_stretch, last_stretch;
    group_stretches(&first_stretch, &last_stretch, n);
    for (int k = first_stretch; k < last_stretch; k++) {
        int first = k * BLOCK, end = n - first < BLOCK ? n : first + BLOCK;
        float4 squares = 0.0f;
        for (int i = first + (int)get_local_id(0) * 4; i < end; i += QUADS) {
            float4 a = load_quad(x + i, end - i, 0.0f);
            squares = fma(a, a, squares);
        }
        float sum = group_sum(shared, sum4(squares));
        if (get_local_id(0) == 0) {
            parts[parts_offset + k] = sum;
        }
    }
}
