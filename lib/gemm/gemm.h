/* Matrix products: one door, two providers (native kernels over packed weights, CLBlast).
 *
 * Activations are row-major fp32; weights have a precision. The native provider sums each output element in
 * one order, whatever the number of rows, so that its bits do not depend on it: in fp32 and fp16 one fma
 * chain over k = 0 .. K-1, in bf16 as cl/include/product_bf16.cl says, in int8 exactly. */
#ifndef CLF_GEMM_GEMM_H
#define CLF_GEMM_GEMM_H

#include <stddef.h>

#include <clformer/device.h>

#include "base/status.h"

struct clf_device;
struct clf__buffer;
struct clf__pool;
struct clf__weight;

/* A matrix in a buffer: element (row, column) is at offset + row * stride + column, counted in elements:
 * floats, or numbers of two bytes where the precision is bf16 or fp16. */
struct clf__matrix {
    const struct clf__buffer *buffer;
    size_t offset;
    int stride;
    clf_precision precision; /* FP32; others where clf__gemm_row_operand() says so */
};

/* One block of rows of a weight, as PyTorch's nn.Linear stores it. */
struct clf__weight_part {
    const float *data; /* (rows, inputs) */
    int rows;
};

/* Where a weight comes from. Parts are stacked: outputs = the sum of their rows (query, key and value
 * projections become one product). */
struct clf__weight_source {
    const struct clf__weight_part *parts;
    int part_count;
    int inputs;
    clf_precision precision;
    const char *what; /* for messages */
};

/* How a row of weights becomes int8: the largest size in it, infinite where one is no finite number; one of
 * its values; and what the row is multiplied by again. */
float clf__int8_largest(const float *row, int inputs);
int8_t clf__int8_of(float value, float largest);
float clf__int8_factor(float largest);

/* A weight that is read as it goes to the device, some rows at a time in their order, so that the host never
 * holds all of it. */
struct clf__weight_stream {
    int outputs, inputs;
    clf_precision precision;
    const char *what;                                                    /* for messages */
    clf_status (*read)(void *user, int first, int count, float *target); /* (count, inputs) */
    /* The same as int8, and what each row is multiplied by. NULL: it is not stored so. */
    clf_status (*read_int8)(void *user, int first, int count, int8_t *target, float *factors);
    void *user;
};
clf_status clf__weight_create_streamed(struct clf__weight **out, struct clf_device *device,
                                       const struct clf__weight_stream *stream);

/* A weight W (outputs, inputs), kept once on the device in the layout of the provider that serves it. */
clf_status clf__weight_create(struct clf__weight **out, struct clf_device *device,
                              const struct clf__weight_source *source);
/* The same values once more, copied on the device. */
clf_status clf__weight_create_copy(struct clf__weight **out, const struct clf__weight *weight,
                                   const char *what);
void clf__weight_free(struct clf__weight *weight);
int clf__weight_inputs(const struct clf__weight *weight);
int clf__weight_outputs(const struct clf__weight *weight);

/* How a weight lies on the device, for kernels that read it directly (the embedding shares the projection's).
 * In a panel `group` neighbouring inputs of an output lie together: element (output n, input k) is at
 *     (((n / panel) * groups + k / group) * panel + n % panel) * group + k % group, groups = ceil(inputs /
 * group) counted in elements of the precision. Where the device has matrix instructions, panels of all
 * precisions but fp32 have groups of 16 bytes, their number rounded up to a multiple of CLF__SLICE_WORDS.
 * Row-major (n * inputs + k) is panel 1 and group 1. In int8 a panel is followed by its outputs' scales
 * (float) and what else cl/include/product_int8.cl says. */
struct clf__weight_layout {
    const struct clf__buffer *buffer;
    clf_precision precision;
    int panel, group;
};
struct clf__weight_layout clf__weight_layout(const struct clf__weight *weight);
/* Bytes of a weight on a device. */
size_t clf__weight_bytes(struct clf_device *device, clf_precision precision, int outputs, int inputs);

enum clf__activation { CLF__IDENTITY, CLF__RELU, CLF__GELU_ERF, CLF__GELU_TANH, CLF__SILU };
/* The macro that kernels are built with: "-DACTIVATION=<kind>"; NULL for an unknown kind. */
const char *clf__activation_define(enum clf__activation kind);

/* What is done to each product before it is stored: y = activation(scale * (x Wᵀ) + bias) + residual. Start
 * from CLF__EPILOGUE_NONE. Fused into the native kernels; after CLBlast's, a kernel of its own. */
struct clf__epilogue {
    float scale;
    const struct clf__buffer *bias; /* (outputs), or NULL */
    enum clf__activation activation;
    struct clf__matrix residual; /* (rows, outputs); buffer NULL for none; may be y itself */
};
/* clang-format off */
#define CLF__EPILOGUE_NONE { .scale = 1.0f, .bias = NULL, .activation = CLF__IDENTITY, .residual = { .buffer = NULL } }
/* clang-format on */

/* y (rows, outputs) = epilogue(x (rows, inputs) Wᵀ). rows = 0 does nothing. */
clf_status clf__gemm_weight(struct clf__matrix y, struct clf__matrix x, int rows,
                            const struct clf__weight *weight, const struct clf__epilogue *epilogue);

/* ---- weights that are trained: fp32, whose gradients and moments lie as they do ---- */

/* A weight of zeros, laid out as every fp32 weight of these sizes on this device. */
clf_status clf__weight_create_zero(struct clf__weight **out, struct clf_device *device, int outputs,
                                   int inputs, const char *what);
/* The same of another one's sizes, whose memory comes from a pool, with what else that holds. */
clf_status clf__weight_reserve_zero(struct clf__weight **out, struct clf__pool *pool,
                                    const struct clf__weight *like, const char *what);

/* Blocking copies of rows first .. first + count - 1 of an fp32 weight, from and to (count, inputs) host
 * values. Writing one row allocates nothing. */
clf_status clf__weight_read(const struct clf__weight *weight, int first, int count, float *target);
clf_status clf__weight_write(struct clf__weight *weight, int first, int count, const float *source);

/* How many floats an fp32 weight's layout has, for work that takes every element alike, whatever its place.
 * What a layout adds beside the weight is zero, and has to stay so. */
size_t clf__weight_elements(const struct clf__weight *weight);

/* Products with this fp32 weight, or towards this gradient, are computed in `precision` (FP32 or BF16) from
 * now on: in bf16 their operands are rounded, sums and results are fp32; a device that has no products in
 * bf16, and would be slower, goes on in fp32. The copies that they read are made
 * anew by clf__weight_changed(), which whoever writes the values on the device calls afterwards.
 * CLF_UNSUPPORTED: CLBlast has none in bf16. */
clf_status clf__weight_multiply_in(struct clf__weight *weight, clf_precision precision);
clf_status clf__weight_changed(struct clf__weight *weight);
/* Makes those copies now: else the first product does. */
clf_status clf__weight_prepare(struct clf__weight *weight);
/* Lays the copies aside, so that products are in fp32, until they are taken up again. The values do not
 * change meanwhile. */
void clf__weight_pause_copies(struct clf__weight *weight, int is_paused);

/* The gradients of y = scale * x Wᵀ. Each element is one chain over the outputs, or over the rows (in bf16
 * over pairs of them), in their order, on the native provider; matrix instructions sum in an order of their
 * own. */

/* dx (rows, inputs) = scale * dy (rows, outputs) W + residual. residual.buffer may be NULL; it may be dx. */
clf_status clf__gemm_input_gradient(struct clf__matrix dx, struct clf__matrix dy, int rows,
                                    const struct clf__weight *weight, float scale,
                                    struct clf__matrix residual);
/* dW (outputs, inputs) += scale * dyᵀ x. */
clf_status clf__gemm_weight_gradient(struct clf__weight *dweight, struct clf__matrix dy, struct clf__matrix x,
                                     int rows, float scale);

/* Takes as much of the device's scratch memory as both, and with CLBlast the product itself, need for so many
 * rows, so that they allocate nothing. */
clf_status clf__gemm_reserve_gradients(struct clf_device *device, int rows, int outputs, int inputs,
                                       clf_precision precision);

/* The precision in which products with this weight read x; they also take fp32, and convert it first. Where
 * it is bf16 or fp16, a product with such a weight can write y so, too, for the next one. */
clf_precision clf__gemm_operand(const struct clf__weight *weight);
/* The precision of rows that are converted once for all products with such weights that read them: that of
 * clf__gemm_operand(), or CLF_PRECISION_INT8 for rows of cl/gemm/quantize.cl, CLF__QUANTIZED_STRIDE() apart.
 */
clf_precision clf__gemm_row_operand(const struct clf__weight *weight);
/* The multiple that the inputs of a weight must be for products to read x in 16 bits. */
int clf__operand_multiple(const struct clf_device *device);

/* y (rows, columns) = x in the precision of y, bf16, fp16 or int8, converted as a product would that reads
 * it. In 16 bits columns are a multiple of clf__operand_multiple(); y begins its buffer. */
clf_status clf__gemm_round(struct clf__matrix y, struct clf__matrix x, int rows, int columns);

/* Products in bf16, int8 and, with matrix instructions, fp16 first convert x into memory that the device
 * keeps. This takes as much of it as products of so many rows and inputs need, so that they allocate nothing.
 */
clf_status clf__gemm_reserve(struct clf_device *device, int rows, int inputs, clf_precision precision);
/* That memory, for kernels that hold products among other things; NULL where there is none. */
const struct clf__buffer *clf__gemm_scratch(const struct clf_device *device);

/* What a product takes at least, with all of its epilogue but the activation; no epilogue: NULL. */
struct clf__cost clf__weight_cost(int rows, const struct clf__weight *weight,
                                  const struct clf__epilogue *epilogue);

/* A batch of products of activations: for b < batches,
 * c[b] (m, n) = alpha * a[b] (m, k) op(b[b]), op(b) = b (k, n), or bᵀ of b (n, k) where transpose_b. The b-th
 * matrix starts at offset + b * batch_stride. */
struct clf__batched_matrix {
    struct clf__matrix matrix;
    size_t batch_stride;
};
struct clf__batched_shape {
    int batches, m, n, k;
    int transpose_b;
    float alpha;
};
clf_status clf__gemm_batched(struct clf__batched_matrix c, struct clf__batched_matrix a,
                             struct clf__batched_matrix b, const struct clf__batched_shape *shape);

#endif
