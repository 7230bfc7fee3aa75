/* Matrix multiplications (GEMM) with three backends: native kernels over packed weights, matrix instructions
 * of GPUs, and CLBlast.
 *
 * Activations are row-major fp32; weights have their own precision. The native backend sums in a fixed
 * order, so the bits of an output do not depend on the number of rows: in fp32 and fp16 one fma chain over
 * k = 0 .. K-1, in bf16 as in cl/include/product_bf16.cl; in int8 sums are exact. */
#ifndef CLF_GEMM_GEMM_H
#define CLF_GEMM_GEMM_H

#include <stddef.h>

#include <clformer/device.h>

#include "base/precision.h"
#include "base/status.h"

struct clf_device;
struct clf__buffer;
struct clf__pool;
struct clf__weight;

/* A matrix in a buffer: element (row, column) is at offset + row * stride + column, in elements: floats,
 * or two-byte numbers if the precision is bf16 or fp16. */
struct clf__matrix {
    const struct clf__buffer *buffer;
    size_t offset;
    int stride;
    enum clf__precision precision; /* FP32, or the precision that clf__gemm_row_operand() returns */
};

/* One block of rows of a weight, as PyTorch's nn.Linear stores it. */
struct clf__weight_part {
    const float *data; /* (rows, inputs) */
    int rows;
};

/* The source of a weight, stacked from parts (query, key and value projections become one GEMM). */
struct clf__weight_source {
    const struct clf__weight_part *parts;
    int part_count;
    int inputs;
    enum clf__precision precision;
    const char *what; /* for messages */
};

/* Quantize a row of weights to int8. They return the largest magnitude (infinite if a value is not
 * finite), one quantized value, and the scale of the row. */
float clf__int8_largest(const float *row, int inputs);
int8_t clf__int8_of(float value, float largest);
float clf__int8_factor(float largest);

/* The source of a weight that is read in blocks of rows during the upload; the host never holds the whole
 * weight. */
struct clf__weight_stream {
    int outputs, inputs;
    enum clf__precision precision;
    const char *what;                                                    /* for messages */
    clf_status (*read)(void *user, int first, int count, float *target); /* (count, inputs) */
    /* Reads int8 values with the scale of each row. NULL: the weight is not stored as int8. */
    clf_status (*read_int8)(void *user, int first, int count, int8_t *target, float *factors);
    void *user;
};
clf_status clf__weight_create_streamed(struct clf__weight **out, struct clf_device *device,
                                       const struct clf__weight_stream *stream);

/* Creates a weight W (outputs, inputs) on the device, in the layout of its backend. */
clf_status clf__weight_create(struct clf__weight **out, struct clf_device *device,
                              const struct clf__weight_source *source);
/* Copies a weight on the device. */
clf_status clf__weight_create_copy(struct clf__weight **out, const struct clf__weight *weight,
                                   const char *what);
void clf__weight_free(struct clf__weight *weight);
int clf__weight_inputs(const struct clf__weight *weight);
int clf__weight_outputs(const struct clf__weight *weight);

/* The layout of a weight on the device, for kernels that read it directly (the embedding shares the weight
 * of the projection). A panel stores `group` consecutive inputs of an output together: element (output n,
 * input k) is at
 *     (((n / panel) * groups + k / group) * panel + n % panel) * group + k % group, groups = ceil(inputs /
 *     group)
 * counted in elements of the precision. If the device has matrix instructions, panels of all precisions
 * except fp32 have groups of 16 bytes, their number rounded up to a multiple of CLF__SLICE_WORDS.
 * Row-major (n * inputs + k) is panel 1 and group 1. In int8 the scales of its outputs (float) and the
 * sums described in cl/include/product_int8.cl follow each panel. */
struct clf__weight_layout {
    const struct clf__buffer *buffer;
    enum clf__precision precision;
    int panel, group;
    int is_copied; /* GEMMs read a bf16 copy instead */
};
struct clf__weight_layout clf__weight_layout(const struct clf__weight *weight);
/* Returns whether GEMMs read this layout with matrix instructions. */
int clf__layout_has_matrix(struct clf__weight_layout layout);
/* Returns the number of warps per group for GEMMs with few rows and matrix instructions, and this many
 * inputs. */
int clf__matrix_warps(const struct clf_device *device, enum clf__precision precision, int inputs);
/* Returns the size in bytes of a weight on a device. */
size_t clf__weight_bytes(struct clf_device *device, enum clf__precision precision, int outputs, int inputs);

enum clf__activation { CLF__IDENTITY, CLF__RELU, CLF__GELU_ERF, CLF__GELU_TANH, CLF__SILU };
/* Returns the build option "-DACTIVATION=<kind>"; NULL for an unknown kind. */
const char *clf__activation_define(enum clf__activation kind);

/* The GEMM epilogue: y = activation(scale * (x Wᵀ) + bias) + residual. Start from CLF__EPILOGUE_NONE.
 * Native kernels fuse the epilogue; after CLBlast a separate kernel applies it. */
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

/* ---- trained weights: fp32; gradients and moments have the same layout ---- */

/* Creates a zeroed fp32 weight, in the layout of all fp32 weights of these sizes on this device. */
clf_status clf__weight_create_zero(struct clf__weight **out, struct clf_device *device, int outputs,
                                   int inputs, const char *what);
/* Reserves a zeroed weight in a pool, with the sizes of the weight `like`. */
clf_status clf__weight_reserve_zero(struct clf__weight **out, struct clf__pool *pool,
                                    const struct clf__weight *like, const char *what);

/* Blocking copies of rows first .. first + count - 1 of an fp32 weight, to and from host values (count,
 * inputs). Writing a single row allocates no memory. */
clf_status clf__weight_read(const struct clf__weight *weight, int first, int count, float *target);
clf_status clf__weight_write(struct clf__weight *weight, int first, int count, const float *source);

/* Returns the number of floats in the layout of an fp32 weight, for elementwise operations on the whole
 * array. Padding of the layout is zero and must stay zero. */
size_t clf__weight_elements(const struct clf__weight *weight);

/* Sets the precision (FP32 or BF16) of GEMMs that read this fp32 weight or add to this gradient. In bf16,
 * operands are rounded, but sums and results are fp32. Devices without bf16 instructions, where bf16 would
 * be slower, keep fp32. clf__weight_changed() updates the bf16 copies and must be called after every write
 * to the values on the device. Returns CLF_UNSUPPORTED for bf16 with CLBlast. */
clf_status clf__weight_multiply_in(struct clf__weight *weight, enum clf__precision precision);
clf_status clf__weight_changed(struct clf__weight *weight);
/* Creates the bf16 copies now; otherwise the first GEMM creates them. */
clf_status clf__weight_prepare(struct clf__weight *weight);
/* Disables or enables the bf16 copies; GEMMs are in fp32 while they are disabled. The values must not
 * change meanwhile. */
void clf__weight_pause_copies(struct clf__weight *weight, int is_paused);

/* The gradients of y = scale * x Wᵀ. In the native backend each element is one fma chain over the outputs,
 * or over the rows (in bf16 over pairs of rows), in order. Matrix instructions use a different order. */

/* dx (rows, inputs) = scale * dy (rows, outputs) W + residual. residual.buffer may be NULL; it may be dx. */
clf_status clf__gemm_input_gradient(struct clf__matrix dx, struct clf__matrix dy, int rows,
                                    const struct clf__weight *weight, float scale,
                                    struct clf__matrix residual);
/* dW (outputs, inputs) += scale * dyᵀ x. */
clf_status clf__gemm_weight_gradient(struct clf__weight *dweight, struct clf__matrix dy, struct clf__matrix x,
                                     int rows, float scale);

/* Reserves the device's scratch memory for both gradients (with CLBlast also for the GEMM) of up to `rows`
 * rows, to avoid allocations in later calls. */
clf_status clf__gemm_reserve_gradients(struct clf_device *device, int rows, int outputs, int inputs,
                                       enum clf__precision precision);

/* Returns the precision in which GEMMs with this weight read x; x in fp32 is also accepted and is
 * converted first. If the result is bf16 or fp16, a GEMM can also write y in that precision for the next
 * GEMM. */
enum clf__precision clf__gemm_operand(const struct clf__weight *weight);
/* Returns the precision of rows that are converted once for several GEMMs: clf__gemm_operand(), or
 * CLF__PRECISION_INT8 for rows of cl/gemm/quantize.cl with stride CLF__QUANTIZED_STRIDE(). */
enum clf__precision clf__gemm_row_operand(const struct clf__weight *weight);
/* GEMMs read 16-bit x only if the inputs of the weight are a multiple of this number. */
int clf__operand_multiple(const struct clf_device *device);

/* Converts x to the precision of y (bf16, fp16 or int8), exactly as a GEMM would convert it. For 16-bit y,
 * `columns` is a multiple of clf__operand_multiple(). y has offset 0. */
clf_status clf__gemm_round(struct clf__matrix y, struct clf__matrix x, int rows, int columns);

/* Reserves the scratch memory into which GEMMs in bf16, int8 and, with matrix instructions, fp16 convert
 * x, for this many rows and inputs, to avoid allocations in later calls. */
clf_status clf__gemm_reserve(struct clf_device *device, int rows, int inputs, enum clf__precision precision);
/* Returns the scratch memory of clf__gemm_reserve(), for kernels that contain GEMMs; NULL if none is
 * reserved. */
const struct clf__buffer *clf__gemm_scratch(const struct clf_device *device);

/* Returns the minimum cost of a GEMM with its epilogue (NULL: none), without the activation. */
struct clf__cost clf__weight_cost(int rows, const struct clf__weight *weight,
                                  const struct clf__epilogue *epilogue);

/* A batch of GEMMs of activations: for b < batches, c[b] (m, n) = alpha * a[b] (m, k) op(b[b]), op(b) = b
 * (k, n), or bᵀ of b (n, k) if transpose_b. Matrix b starts at offset + b * batch_stride. */
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
