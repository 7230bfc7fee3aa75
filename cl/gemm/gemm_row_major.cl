/* y (M, N) = activation(scale * x (M, K) Wᵀ + bias) + residual for few rows, where reading W dominates the
 * time. W (N, K) is row-major, as CLBlast reads it for many rows. residual may be y itself.
 *
 * A group computes 8 outputs of up to 8 rows. 16 work-items share a pair of outputs; item l reads inputs 4l .. 4l + 3
 * of every 64 inputs, so 16 items read 256 contiguous bytes of each row of W. Then each work-item adds the 16 parts
 * of one element in order. The bits of an element depend only on K, not on M or the position of its row.
 *
 * Only in the GPU variant: devices of the CPU variant do not use CLBlast. Needs ACTIVATION, a value of enum
 * clf__activation; IS_ALIGNED if every row of x and W is 16-byte aligned. */
#ifndef ACTIVATION
#error "gemm_row_major.cl needs ACTIVATION"
#endif

#define SHARERS 16 /* work-items that share an output */
#define STEP    (4 * SHARERS)
#define OUTPUTS 8
#define ROWS    8
#define PITCH   (2 * ROWS + 1) /* stride of a work-item's sums; odd, to avoid bank conflicts */

static inline float4 load_aligned(const __global float *p)
{
#ifdef IS_ALIGNED
    return *(const __global float4 *)p;
#else
    return vload4(0, p);
#endif
}

static inline float add_product(float sum, float4 a, float4 b)
{
    return fma(a.w, b.w, fma(a.z, b.z, fma(a.y, b.y, fma(a.x, b.x, sum))));
}

/* left and right += four inputs of COUNT rows of x, of which row r is `row`, times the same inputs of two rows of
 * W. */
#define ADD_QUAD(r, COUNT, left, right, row, a, b)                                                                     \
    _Pragma("unroll") for (int r = 0; r < COUNT; r++)                                                                  \
    {                                                                                                                  \
        float4 value = row;                                                                                            \
        left[r] = add_product(left[r], value, a);                                                                      \
        right[r] = add_product(right[r], value, b);                                                                    \
    }

/* Computes the sums (COUNT, 2) of a work-item, whose inputs start at k; row `last` of x repeats beyond the end.
 * AHEAD steps of W are loaded in advance: with fewer rows, more steps fit in the registers. */
#define DEFINE_MULTIPLY(COUNT, AHEAD)                                                                                  \
    static inline void multiply_##COUNT(__local float *sums, const __global float *x, int x_stride, int last,          \
                                        const __global float *first, const __global float *second, int inputs, int k)  \
    {                                                                                                                  \
        float left[COUNT], right[COUNT];                                                                               \
        _Pragma("unroll") for (int r = 0; r < COUNT; r++)                                                              \
        {                                                                                                              \
            left[r] = 0.0f;                                                                                            \
            right[r] = 0.0f;                                                                                           \
        }                                                                                                              \
        while (k + (AHEAD - 1) * STEP + 4 <= inputs) {                                                                 \
            float4 a[AHEAD], b[AHEAD];                                                                                 \
            _Pragma("unroll") for (int i = 0; i < AHEAD; i++)                                                          \
            {                                                                                                          \
                a[i] = load_aligned(first + k + i * STEP);                                                             \
                b[i] = load_aligned(second + k + i * STEP);                                                            \
            }                                                                                                          \
            _Pragma("unroll") for (int i = 0; i < AHEAD; i++, k += STEP)                                               \
            {                                                                                                          \
                ADD_QUAD(r, COUNT, left, right, load_aligned(x + (min(r, last) * x_stride + k)), a[i], b[i])           \
            }                                                                                                          \
        }                                                                                                              \
        for (; k < inputs; k += STEP) {                                                                                \
            float4 a = load_quad(first + k, inputs - k, 0.0f), b = load_quad(second + k, inputs - k, 0.0f);            \
            ADD_QUAD(r, COUNT, left, right, load_quad(x + (min(r, last) * x_stride + k), inputs - k, 0.0f), a, b)      \
        }                                                                                                              \
        _Pragma("unroll") for (int r = 0; r < COUNT; r++)                                                              \
        {                                                                                                              \
            sums[2 * r] = left[r];                                                                                     \
            sums[2 * r + 1] = right[r];                                                                                \
        }                                                                                                              \
    }
DEFINE_MULTIPLY(1, 4)
DEFINE_MULTIPLY(2, 2)
DEFINE_MULTIPLY(4, 2)
DEFINE_MULTIPLY(8, 1)

GPU_KERNEL void gemm_row_major_gpu(__global float *y, int y_offset, int y_stride, const __global float *x, int x_offset,
                                   int x_stride, int rows, const __global float *w, int inputs, int outputs,
                                   float scale, const __global float *bias, const __global float *residual,
                                   int residual_offset, int residual_stride)
{
    __local float sums[GROUP * PITCH];
    int item = (int)get_local_id(0), group = (int)get_group_id(0);
    /* Adjacent groups read the same part of W. */
    int blocks = (rows + ROWS - 1) / ROWS;
    int row = group % blocks * ROWS, output = group / blocks * OUTPUTS;
    int count = min(rows - row, ROWS);

    const __global float *x_rows = x + x_offset + (size_t)row * x_stride;
    int pair = output + item / SHARERS * 2;
    const __global float *first = w + (size_t)min(pair, outputs - 1) * inputs;
    const __global float *second = w + (size_t)min(pair + 1, outputs - 1) * inputs;
    int begin = item % SHARERS * 4;
    __local float *own = sums + item * PITCH;
    if (count == 1) {
        multiply_1(own, x_rows, x_stride, count - 1, first, second, inputs, begin);
    } else if (count == 2) {
        multiply_2(own, x_rows, x_stride, count - 1, first, second, inputs, begin);
    } else if (count <= 4) {
        multiply_4(own, x_rows, x_stride, count - 1, first, second, inputs, begin);
    } else {
        multiply_8(own, x_rows, x_stride, count - 1, first, second, inputs, begin);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    int r = item / OUTPUTS, o = item % OUTPUTS, column = output + o;
    if (r >= count || column >= outputs) {
        return;
    }
    const __local float *parts = sums + o / 2 * SHARERS * PITCH + r * 2 + o % 2;
    float product = 0.0f;
    for (int i = 0; i < SHARERS; i++) {
        product += parts[i * PITCH];
    }
    float value = activate(fma(scale, product, bias ? bias[column] : 0.0f));
    if (residual) {
        value += residual[residual_offset + (size_t)(row + r) * residual_stride + column];
    }
    y[y_offset + (size_t)(row + r) * y_stride + column] = value;
}
