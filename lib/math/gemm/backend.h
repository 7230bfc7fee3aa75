/* The interface of GEMM backends, private to this module. gemm.c has checked the arguments: every view is
 * inside its buffer, offsets fit an int, and no size is zero except k of a batched GEMM. */
#ifndef CLF_GEMM_BACKEND_H
#define CLF_GEMM_BACKEND_H

#include "math/gemm/gemm.h"
#include "math/gemm/layout.h"
#include "runtime/device/caps.h"
#include "runtime/program/launch.h"

/* The maximum number of inputs for which the sum of products (at most 254 * 127 each) fits in 32 bits. */
enum { CLF__INT8_INPUTS = 1 << 16 };

static inline size_t clf__ceil_divide(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

struct clf__weight {
    struct clf_device *device;
    struct clf__buffer *buffer;
    enum clf__precision precision;
    int inputs, outputs;
    const struct clf__gemm_backend *backend, *bf16_backend; /* backends of the weight and of its bf16 GEMMs */
    int has_copy;                                           /* GEMMs with this fp32 weight read a bf16 copy */
    int is_paused;                                          /* the copy is temporarily disabled */
    struct clf__weight *rounded; /* the bf16 copy; NULL until a GEMM reads it, and for gradients */
};
static inline int clf__weight_reads_copy(const struct clf__weight *weight)
{
    return weight->has_copy && !weight->is_paused;
}
static inline enum clf__precision clf__gemm_precision(const struct clf__weight *weight)
{
    return clf__weight_reads_copy(weight) ? CLF__PRECISION_BF16 : weight->precision;
}

clf_status clf__weight_check(long long outputs, int inputs, enum clf__precision precision, const char *what);
void clf__weight_free_copy(struct clf__weight *weight);
/* Allocates a weight with undefined contents; the caller has checked the sizes. */
clf_status clf__weight_allocate(struct clf__weight **out, struct clf_device *device,
                                enum clf__precision precision, int outputs, int inputs, const char *what);

/* The element layout of a panel (see clf__weight_layout); implemented in weight_pack.c. */
struct clf__packing {
    int group;    /* inputs that are stored together */
    int multiple; /* the inputs of a panel are padded with zeros to this multiple */
    size_t bytes; /* size of an element */
    size_t tail;  /* bytes after a panel's elements */
    /* Writes the inputs of output `lane` of a zeroed panel. */
    void (*pack_row)(const struct clf__packing *packing, void *panel, int lane, const float *row, int inputs);
};
/* Return the packings of the native kernels and of matrix instructions (cl/include/matrix.cl); NULL for an
 * unsupported precision. */
const struct clf__packing *clf__packing_of(enum clf__precision precision);
const struct clf__packing *clf__matrix_packing_of(enum clf__precision precision);
/* Returns the number of inputs of a panel, including padding. */
size_t clf__packed_inputs(const struct clf__packing *packing, int inputs);
/* Like pack_row(), for int8 values. */
void clf__pack_int8_row(const struct clf__packing *packing, void *panel, int lane, const int8_t *row,
                        float factor, int inputs);
/* Fails if a value exceeds the range of the precision. */
clf_status clf__weight_check_values(const struct clf__weight_stream *stream, const float *values,
                                    size_t count);

/* The kernel arguments of a matrix, and of an epilogue. */
#define CLF__MATRIX(m)   CLF__BUFFER((m).buffer), CLF__INT((int)(m).offset), CLF__INT((m).stride)
#define CLF__EPILOGUE(e) CLF__FLOAT((e)->scale), CLF__BUFFER((e)->bias), CLF__MATRIX((e)->residual)

struct clf__cost clf__batched_cost(const struct clf__batched_shape *shape);

/* Returns the number of rows per group of a CPU variant, for CLF__TUNABLE_CPU_GROUPS groups per core.
 * Groups are few, because each makes a pass over the panel, and of equal size, to finish at the same time. */
size_t clf__cpu_rows_per_group(size_t rows, size_t row_bytes, size_t column_groups,
                               const struct clf__caps *caps);

/* Checks that first + (rows - 1) * stride + columns elements fit in the buffer; rows and columns > 0. */
clf_status clf__gemm_check_matrix(const char *what, struct clf__matrix matrix, size_t first, int rows,
                                  int columns);

struct clf__cost clf__gradient_cost(int rows, const struct clf__weight *dweight);

/* A GEMM backend with its weight layout. */
struct clf__gemm_backend {
    int panel;          /* panel of its clf__weight_layout */
    int rounds_weights; /* GEMMs with fp32 weights can be computed in bf16 */
    const struct clf__packing *(*packing)(
        enum clf__precision precision); /* packing of its panels; NULL: none */
    size_t (*weight_bytes)(enum clf__precision precision, int outputs, int inputs);
    clf_status (*write_stream)(struct clf__weight *weight, const struct clf__weight_stream *stream);
    /* Copy rows of an fp32 weight; count > 0. */
    clf_status (*read_rows)(const struct clf__weight *weight, int first, int count, float *target);
    clf_status (*write_rows)(struct clf__weight *weight, int first, int count, const float *source);
    clf_status (*multiply)(struct clf__matrix y, struct clf__matrix x, int rows,
                           const struct clf__weight *weight, const struct clf__epilogue *epilogue);
    clf_status (*multiply_batched)(struct clf__batched_matrix c, struct clf__batched_matrix a,
                                   struct clf__batched_matrix b, const struct clf__batched_shape *shape);
    clf_status (*input_gradient)(struct clf__matrix dx, struct clf__matrix dy, int rows,
                                 const struct clf__weight *weight, float scale, struct clf__matrix residual);
    clf_status (*weight_gradient)(struct clf__weight *dweight, struct clf__matrix dy, struct clf__matrix x,
                                  int rows, float scale);
    clf_status (*reserve_gradients)(struct clf_device *device, int rows, int outputs, int inputs,
                                    enum clf__precision precision);
};
extern const struct clf__gemm_backend clf__gemm_native, clf__gemm_matrix, clf__gemm_clblast;
/* Returns the backend for a precision: CLBlast for fp32 if requested, matrix instructions for the other
 * precisions if the device has them, otherwise the native kernels. */
const struct clf__gemm_backend *clf__gemm_backend_of(struct clf_device *device,
                                                     enum clf__precision precision);

/* The panel layouts; implemented in weight_panels.c. */
size_t clf__panels_bytes(const struct clf__packing *packing, int outputs, int inputs);
clf_status clf__panels_write_stream(struct clf__weight *weight, const struct clf__weight_stream *stream);
clf_status clf__panels_read(const struct clf__weight *weight, int first, int count, float *target);
clf_status clf__panels_write(struct clf__weight *weight, int first, int count, const float *source);

/* Calls multiply() of the weight's backend, in as many launches as the pace of the device requires. */
clf_status clf__gemm_multiply(struct clf__matrix y, struct clf__matrix x, int rows,
                              const struct clf__weight *weight, const struct clf__epilogue *epilogue);

/* The gradients of the native backend; implemented in native_gradient.c. */
clf_status clf__native_reserve_gradients(struct clf_device *device, int rows, int outputs, int inputs,
                                         enum clf__precision precision);
clf_status clf__native_input_gradient(struct clf__matrix dx, struct clf__matrix dy, int rows,
                                      const struct clf__weight *weight, float scale,
                                      struct clf__matrix residual);
clf_status clf__native_weight_gradient(struct clf__weight *dweight, struct clf__matrix dy,
                                       struct clf__matrix x, int rows, float scale);

/* dweight += scale * dyᵀ x with matrix instructions, in bf16 with fp32 sums; implemented in matrix.c. */
clf_status clf__matrix_reserve_gradient(struct clf_device *device, int rows, int outputs, int inputs);
clf_status clf__matrix_weight_gradient(struct clf__weight *dweight, struct clf__matrix dy,
                                       struct clf__matrix x, int rows, float scale);

#endif
