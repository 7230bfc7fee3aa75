#include <pthread.h>
#include <stddef.h>

#include "runtime/device/device.h"
#include "runtime/device/profile.h"

#include <clblast_c.h>

#include "base/memory.h"
#include "math/gemm/activations.h"
#include "math/gemm/backend.h"
#include "runtime/device/buffer.h"
#include "runtime/program/launch.h"

/* Serialises all calls: CLBlast 1.5.3 (Debian 12) is not thread-safe, even on different devices. */
static pthread_mutex_t one_call = PTHREAD_MUTEX_INITIALIZER;

static clf_status check(int code, const struct clf_device *device, int m, int n, int k)
{
    if (code == CLBlastSuccess) {
        return CLF_OK;
    }
    if (code > -1000) { /* an OpenCL error code */
        return clf__opencl_check(code, "multiplying (%d, %d) by (%d, %d) with CLBlast on device %s", m, k, k,
                                 n, device->label);
    }
    return clf__fail(CLF_DEVICE,
                     "CLBlast cannot multiply (%d, %d) by (%d, %d) on device %s: error %d; use the native "
                     "kernels (CLFORMER_GEMM=native)",
                     m, k, k, n, device->label, code);
}

/* Finishes a call: returns the error, or adds the time to the profile. */
static clf_status finish(int code, struct clf_device *device, const char *routine,
                         const struct clf__batched_shape *shape, struct clf__cost cost, cl_event before,
                         cl_event event)
{
    clf_status status = check(code, device, shape->m, shape->n, shape->k);
    clf_status counted = clf__profile_add(device, routine, cost, before, status == CLF_OK ? event : NULL);
    return status != CLF_OK ? status : counted;
}

static struct clf__cost epilogue_cost(int rows, int columns, const struct clf__epilogue *epilogue)
{
    double elements = (double)rows * columns;
    int has_bias = epilogue->bias != NULL, has_residual = epilogue->residual.buffer != NULL;
    double operations = has_bias + has_residual + (epilogue->activation != CLF__IDENTITY);
    return (struct clf__cost){.operations = elements * operations,
                              .bytes = (elements * (2 + has_residual) + has_bias * (double)columns) *
                                       sizeof(float)};
}

/* y = activation(product + bias) + residual */
static clf_status run_epilogue(struct clf_device *device, struct clf__matrix y, struct clf__matrix product,
                               int rows, int columns, const struct clf__epilogue *epilogue)
{
    enum { CPU_ROWS = 16, GPU_COLUMNS = 256 };
    const struct clf__argument arguments[] = {
        CLF__MATRIX(y),    CLF__MATRIX(product),        CLF__INT(rows),
        CLF__INT(columns), CLF__BUFFER(epilogue->bias), CLF__MATRIX(epilogue->residual),
    };
    const struct clf__launch launch = {
        .program = "epilogue",
        .defines = clf__activation_define(epilogue->activation),
        .cpu = CLF__GRID("epilogue_cpu", clf__ceil_divide((size_t)rows, CPU_ROWS)),
        .gpu = CLF__GRID("epilogue_gpu", (size_t)rows, clf__ceil_divide((size_t)columns, GPU_COLUMNS)),
        CLF__ARGUMENTS(arguments),
        .cost = epilogue_cost(rows, columns, epilogue),
    };
    return clf__launch(device, &launch);
}

/* c (m, n) = alpha * op(a) op(b) + beta * c, op(a) (m, k), op(b) (k, n) */
struct product {
    int m, n, k;
    int transpose_a, transpose_b;
    struct clf__matrix a, b, c;
    float alpha, beta;
    struct clf__cost cost;
};

static CLBlastTranspose transpose_of(int is_transposed)
{
    return is_transposed ? CLBlastTransposeYes : CLBlastTransposeNo;
}

/* Reserves scratch memory for CLBlast's copies of the operands, which it would otherwise allocate in every
 * call; NULL if it copies none. */
static clf_status reserve_copies(cl_mem *out, struct clf_device *device, const struct product *p)
{
    size_t bytes = 0;
    pthread_mutex_lock(&one_call);
    int code = CLF__CL((cl_int)CLBlastSGemmTempBufferSize(
        CLBlastLayoutRowMajor, transpose_of(p->transpose_a), transpose_of(p->transpose_b), (size_t)p->m,
        (size_t)p->n, (size_t)p->k, p->a.offset, (size_t)p->a.stride, p->b.offset, (size_t)p->b.stride,
        p->c.offset, (size_t)p->c.stride, &device->queue, &bytes));
    pthread_mutex_unlock(&one_call);
    CLF__TRY(check(code, device, p->m, p->n, p->k));
    if (bytes > 0) {
        CLF__TRY(clf__activations_reserve(device, bytes));
        *out = device->packed->memory;
    }
    return CLF_OK;
}

static clf_status multiply(struct clf_device *device, const struct product *p)
{
    const struct clf__batched_shape shape = {.batches = 1, .m = p->m, .n = p->n, .k = p->k};
    cl_event before = NULL, event = NULL;
    cl_mem copies = NULL;
    CLF__TRY(reserve_copies(&copies, device, p));
    if (device->is_dry_run) {
        return CLF_OK;
    }
    CLF__TRY(clf__profile_mark(device, &before));
    pthread_mutex_lock(&one_call);
    int code = CLF__CL((cl_int)CLBlastSgemmWithTempBuffer(
        CLBlastLayoutRowMajor, transpose_of(p->transpose_a), transpose_of(p->transpose_b), (size_t)p->m,
        (size_t)p->n, (size_t)p->k, p->alpha, p->a.buffer->memory, p->a.offset, (size_t)p->a.stride,
        p->b.buffer->memory, p->b.offset, (size_t)p->b.stride, p->beta, p->c.buffer->memory, p->c.offset,
        (size_t)p->c.stride, &device->queue, clf__profile_slot(device->profile, &event), copies));
    pthread_mutex_unlock(&one_call);
    return finish(code, device, "CLBlastSgemm", &shape, p->cost, before, event);
}

static struct clf__matrix matrix_of(const struct clf__weight *weight)
{
    return (struct clf__matrix){.buffer = weight->buffer, .stride = weight->inputs};
}

/* y = alpha * x Wᵀ + beta * y */
static clf_status multiply_weight(struct clf__matrix y, struct clf__matrix x, int rows,
                                  const struct clf__weight *weight, float alpha, float beta)
{
    const struct product product = {
        .m = rows,
        .n = weight->outputs,
        .k = weight->inputs,
        .transpose_b = 1,
        .a = x,
        .b = matrix_of(weight),
        .c = y,
        .alpha = alpha,
        .beta = beta,
        .cost = clf__weight_cost(rows, weight, NULL),
    };
    return multiply(weight->device, &product);
}

static clf_status input_gradient(struct clf__matrix dx, struct clf__matrix dy, int rows,
                                 const struct clf__weight *weight, float scale, struct clf__matrix residual)
{
    int in_place = residual.buffer == dx.buffer && residual.offset == dx.offset;
    const struct product product = {
        .m = rows,
        .n = weight->inputs,
        .k = weight->outputs,
        .a = dy,
        .b = matrix_of(weight),
        .c = dx,
        .alpha = scale,
        .beta = in_place ? 1.0f : 0.0f,
        .cost = clf__weight_cost(rows, weight, NULL),
    };
    CLF__TRY(multiply(weight->device, &product));
    if (in_place || residual.buffer == NULL) {
        return CLF_OK;
    }
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    epilogue.residual = residual;
    return run_epilogue(weight->device, dx, dx, rows, weight->inputs, &epilogue);
}

static clf_status weight_gradient(struct clf__weight *dweight, struct clf__matrix dy, struct clf__matrix x,
                                  int rows, float scale)
{
    const struct product product = {
        .m = dweight->outputs,
        .n = dweight->inputs,
        .k = rows,
        .transpose_a = 1,
        .a = dy,
        .b = x,
        .c = matrix_of(dweight),
        .alpha = scale,
        .beta = 1.0f,
        .cost = clf__gradient_cost(rows, dweight),
    };
    return multiply(dweight->device, &product);
}

/* Reserves scratch memory for the GEMM and its two gradients. With offsets of one element, CLBlast reports
 * the worst case. */
static clf_status reserve_gradients(struct clf_device *device, int rows, int outputs, int inputs,
                                    enum clf__precision precision)
{
    (void)precision; /* only fp32 is supported */
    const struct clf__matrix wide = {.offset = 1, .stride = inputs}, high = {.offset = 1, .stride = outputs};
    const struct product products[] = {
        {.m = rows, .n = outputs, .k = inputs, .transpose_b = 1, .a = wide, .b = wide, .c = high},
        {.m = rows, .n = inputs, .k = outputs, .a = high, .b = wide, .c = wide},
        {.m = outputs, .n = inputs, .k = rows, .transpose_a = 1, .a = high, .b = wide, .c = wide},
    };
    for (int i = 0; i < 3; i++) {
        cl_mem copies = NULL;
        CLF__TRY(reserve_copies(&copies, device, &products[i]));
    }
    return CLF_OK;
}

static const char *row_major_defines(enum clf__activation activation, int is_aligned)
{
#define OF_ACTIVATION(a)                                                                                     \
    {                                                                                                        \
        "-DACTIVATION=" #a, "-DACTIVATION=" #a " -DIS_ALIGNED"                                               \
    }
    static const char *const defines[][2] = {OF_ACTIVATION(0), OF_ACTIVATION(1), OF_ACTIVATION(2),
                                             OF_ACTIVATION(3), OF_ACTIVATION(4)};
    return defines[activation][is_aligned];
}

/* Uses a native kernel on the row-major weight for few rows, such as a decoding step, where CLBlast is
 * slow. */
static clf_status multiply_few(struct clf__matrix y, struct clf__matrix x, int rows,
                               const struct clf__weight *weight, const struct clf__epilogue *epilogue)
{
    enum { GROUP_ROWS = 8, GROUP_OUTPUTS = 8 };
    const struct clf__argument arguments[] = {
        CLF__MATRIX(y),           CLF__MATRIX(x),
        CLF__INT(rows),           CLF__BUFFER(weight->buffer),
        CLF__INT(weight->inputs), CLF__INT(weight->outputs),
        CLF__EPILOGUE(epilogue),
    };
    int is_aligned = x.offset % 4 == 0 && x.stride % 4 == 0 && weight->inputs % 4 == 0;
    size_t row_groups = ((size_t)rows + GROUP_ROWS - 1) / GROUP_ROWS;
    size_t output_groups = ((size_t)weight->outputs + GROUP_OUTPUTS - 1) / GROUP_OUTPUTS;
    const struct clf__launch launch = {
        .program = "gemm_row_major",
        .defines = row_major_defines(epilogue->activation, is_aligned),
        .gpu = CLF__GRID("gemm_row_major_gpu", row_groups * output_groups),
        CLF__ARGUMENTS(arguments),
        .cost = clf__weight_cost(rows, weight, epilogue),
    };
    return clf__launch(weight->device, &launch);
}

static clf_status multiply_with_epilogue(struct clf__matrix y, struct clf__matrix x, int rows,
                                         const struct clf__weight *weight,
                                         const struct clf__epilogue *epilogue)
{
    const struct clf__caps *caps = &weight->device->caps;
    if (caps->variant == CLF_VARIANT_GPU && rows <= caps->tuning.values[CLF__TUNABLE_ROW_MAJOR_ROWS]) {
        return multiply_few(y, x, rows, weight, epilogue);
    }
    struct clf__epilogue rest = *epilogue; /* the part of the epilogue that a kernel applies after the GEMM */
    int in_place = rest.residual.buffer == y.buffer && rest.residual.offset == y.offset;
    if (in_place && rest.activation == CLF__IDENTITY) {
        rest.residual.buffer = NULL;
        CLF__TRY(multiply_weight(y, x, rows, weight, rest.scale, 1.0f));
    } else if (in_place) {
        /* With beta = 1 CLBlast would add the residual before the activation, so the product needs a
         * separate buffer. */
        struct clf__buffer *product = NULL;
        CLF__TRY(clf__buffer_create(&product, weight->device,
                                    (size_t)rows * (size_t)weight->outputs * sizeof(float),
                                    "a matrix product before its activation"));
        struct clf__matrix packed = {.buffer = product, .stride = weight->outputs};
        clf_status status = multiply_weight(packed, x, rows, weight, rest.scale, 0.0f);
        if (status == CLF_OK) {
            status = run_epilogue(weight->device, y, packed, rows, weight->outputs, &rest);
        }
        clf__buffer_free(product);
        return status;
    } else {
        CLF__TRY(multiply_weight(y, x, rows, weight, rest.scale, 0.0f));
    }
    if (rest.bias == NULL && rest.activation == CLF__IDENTITY && rest.residual.buffer == NULL) {
        return CLF_OK;
    }
    return run_epilogue(weight->device, y, y, rows, weight->outputs, &rest);
}

static int is_packed(struct clf__batched_matrix matrix, int rows, int columns)
{
    return matrix.matrix.offset == 0 && matrix.matrix.stride == columns &&
           matrix.batch_stride == (size_t)rows * (size_t)columns;
}

/* Supports any strides and offsets, but CLBlast uploads the arrays of offsets in every call and waits for
 * the upload. */
static clf_status multiply_offsets(struct clf__batched_matrix c, struct clf__batched_matrix a,
                                   struct clf__batched_matrix b, const struct clf__batched_shape *shape)
{
    struct clf_device *device = clf__buffer_device(c.matrix.buffer);
    size_t batches = (size_t)shape->batches;
    size_t *offsets = NULL; /* (3, batches): a, b, c */
    float *factors = NULL;  /* (2, batches): alpha, beta */
    CLF__TRY(clf__allocate(&offsets, 3 * batches, sizeof *offsets));
    clf_status status = clf__allocate(&factors, 2 * batches, sizeof *factors);
    cl_event before = NULL, event = NULL;
    if (status == CLF_OK) {
        status = clf__profile_mark(device, &before);
    }
    if (status != CLF_OK) {
        clf__free(factors);
        clf__free(offsets);
        return status;
    }
    for (size_t i = 0; i < batches; i++) {
        offsets[i] = a.matrix.offset + i * a.batch_stride;
        offsets[batches + i] = b.matrix.offset + i * b.batch_stride;
        offsets[2 * batches + i] = c.matrix.offset + i * c.batch_stride;
        factors[i] = shape->alpha;
    }
    pthread_mutex_lock(&one_call);
    int code = CLF__CL((cl_int)CLBlastSgemmBatched(
        CLBlastLayoutRowMajor, CLBlastTransposeNo, transpose_of(shape->transpose_b), (size_t)shape->m,
        (size_t)shape->n, (size_t)shape->k, factors, a.matrix.buffer->memory, offsets,
        (size_t)a.matrix.stride, b.matrix.buffer->memory, offsets + batches, (size_t)b.matrix.stride,
        factors + batches, c.matrix.buffer->memory, offsets + 2 * batches, (size_t)c.matrix.stride, batches,
        &device->queue, clf__profile_slot(device->profile, &event)));
    pthread_mutex_unlock(&one_call);
    clf__free(offsets);
    clf__free(factors);
    return finish(code, device, "CLBlastSgemmBatched", shape, clf__batched_cost(shape), before, event);
}

static clf_status multiply_strided(struct clf__batched_matrix c, struct clf__batched_matrix a,
                                   struct clf__batched_matrix b, const struct clf__batched_shape *shape)
{
    struct clf_device *device = clf__buffer_device(c.matrix.buffer);
    cl_event before = NULL, event = NULL;
    CLF__TRY(clf__profile_mark(device, &before));
    pthread_mutex_lock(&one_call);
    int code = CLF__CL((cl_int)CLBlastSgemmStridedBatched(
        CLBlastLayoutRowMajor, CLBlastTransposeNo, transpose_of(shape->transpose_b), (size_t)shape->m,
        (size_t)shape->n, (size_t)shape->k, shape->alpha, a.matrix.buffer->memory, 0, (size_t)a.matrix.stride,
        a.batch_stride, b.matrix.buffer->memory, 0, (size_t)b.matrix.stride, b.batch_stride, 0.0f,
        c.matrix.buffer->memory, 0, (size_t)c.matrix.stride, c.batch_stride, (size_t)shape->batches,
        &device->queue, clf__profile_slot(device->profile, &event)));
    pthread_mutex_unlock(&one_call);
    return finish(code, device, "CLBlastSgemmStridedBatched", shape, clf__batched_cost(shape), before, event);
}

static clf_status multiply_batched(struct clf__batched_matrix c, struct clf__batched_matrix a,
                                   struct clf__batched_matrix b, const struct clf__batched_shape *shape)
{
    if (shape->k == 0) { /* CLBlast rejects k = 0; the result is zero */
        return clf__gemm_native.multiply_batched(c, a, b, shape);
    }
    if (clf__buffer_device(c.matrix.buffer)->is_dry_run) {
        return CLF_OK;
    }
    /* For large matrices CLBlast's strided-batched GEMM silently ignores offsets and strides
     * (xgemmstridedbatched.cpp), so it is used only for packed matrices. */
    int packed = is_packed(c, shape->m, shape->n) && is_packed(a, shape->m, shape->k) &&
                 (shape->transpose_b ? is_packed(b, shape->n, shape->k) : is_packed(b, shape->k, shape->n));
    return packed ? multiply_strided(c, a, b, shape) : multiply_offsets(c, a, b, shape);
}

/* Weights are row-major, as in PyTorch. */
static size_t bytes_of(const struct clf__weight *weight, int rows)
{
    return (size_t)rows * (size_t)weight->inputs * sizeof(float);
}

static size_t weight_bytes(enum clf__precision precision, int outputs, int inputs)
{
    (void)precision;
    return (size_t)outputs * (size_t)inputs * sizeof(float);
}

static clf_status read_rows(const struct clf__weight *weight, int first, int count, float *target)
{
    return clf__buffer_read(weight->buffer, bytes_of(weight, first), bytes_of(weight, count), target);
}

static clf_status write_rows(struct clf__weight *weight, int first, int count, const float *source)
{
    return clf__buffer_write(weight->buffer, bytes_of(weight, first), bytes_of(weight, count), source);
}

static clf_status write_stream(struct clf__weight *weight, const struct clf__weight_stream *stream)
{
    enum { VALUES = 1 << 18 }; /* values per write */
    int at_once = VALUES / weight->inputs + 1;
    at_once = at_once < weight->outputs ? at_once : weight->outputs;
    float *values = NULL;
    CLF__TRY(clf__resize(&values, (size_t)at_once * (size_t)weight->inputs, sizeof *values));
    clf_status status = CLF_OK;
    for (int first = 0; first < weight->outputs && status == CLF_OK; first += at_once) {
        int left = weight->outputs - first, count = left < at_once ? left : at_once;
        status = stream->read(stream->user, first, count, values);
        if (status == CLF_OK) {
            status = write_rows(weight, first, count, values);
        }
    }
    clf__free(values);
    return status;
}

const struct clf__gemm_backend clf__gemm_clblast = {
    .panel = 1,
    .rounds_weights = 0,
    .weight_bytes = weight_bytes,
    .write_stream = write_stream,
    .read_rows = read_rows,
    .write_rows = write_rows,
    .multiply = multiply_with_epilogue,
    .multiply_batched = multiply_batched,
    .input_gradient = input_gradient,
    .weight_gradient = weight_gradient,
    .reserve_gradients = reserve_gradients,
};
