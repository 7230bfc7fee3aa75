/* A GEMM on a device against the reference: shared by the tests of the backends. */
#ifndef CLF_TESTS_GEMM_CHECK_H
#define CLF_TESTS_GEMM_CHECK_H

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "cases/gemm.h"
#include "math/gemm/activations.h"
#include "math/gemm/gemm.h"
#include "reference/gemm.h"
#include "runtime/device/buffer.h"
#include "runtime/device/caps.h"
#include "runtime/device/device.h"
#include "runtime/opencl/testing.h"
#include "support/support.h"

/* Native GEMM in each kernel variant. */
#define FOR_EACH_NATIVE(device)                                                                              \
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++)                \
        for (struct clf_device *device = native_device(variant, 0, CLF__PRECISION_FP32); device;             \
             device = NULL)

enum instructions { OWN, PORTABLE, EMULATED };

/* GEMM in a precision with the device's own instructions, with none, and with emulated matrix
 * instructions. */
#define FOR_EACH_DEVICE(device, precision)                                                                   \
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++)                \
        for (int instructions = OWN; instructions <= EMULATED; instructions++)                               \
            for (struct clf_device *device = native_device(variant, instructions, precision); device;        \
                 device = NULL)

/* Returns the device in a kernel variant with some instructions; NULL if they make no difference in this
 * precision. */
static inline struct clf_device *native_device(int variant, int instructions, enum clf__precision precision)
{
    struct clf_device *device =
        support_device_with((clf_variant)variant, CLF_GEMM_NATIVE, CLF_ATTENTION_AUTO);
    const struct clf__caps *caps = clf__device_caps(device);
    if (instructions == OWN) {
        return device;
    }
    if (instructions == EMULATED) {
        return variant == CLF_VARIANT_GPU && !clf__caps_have_matrix(caps) ? support_matrix_device() : NULL;
    }
    int differs = (caps->level->instructions & (CLF__DOT_BF16 | CLF__MATRIX_ANY)) != 0;
    if (precision == CLF__PRECISION_INT8) {
        differs = variant == CLF_VARIANT_CPU ? caps->level->int8_bytes == CLF__INT8_DOT
                                             : caps->has_integer_dot_product || clf__caps_have_matrix(caps);
    }
    return differs ? support_device_at((clf_variant)variant, CLF_INSTRUCTIONS_PORTABLE) : NULL;
}

/* Returns whether the GEMM rounds x like the weight. */
static inline int rounds_operands(const struct clf_device *device, enum clf__precision precision)
{
    return (precision == CLF__PRECISION_BF16 && clf__has_bf16_gemm(device)) ||
           (precision == CLF__PRECISION_FP16 && clf__caps_have_matrix(clf__device_caps(device)));
}

/* The same, newly opened: nothing is reserved or compiled yet. */
static inline struct clf_device *open_native(int use_program_cache)
{
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.variant = (clf_variant)support_first_variant();
    options.gemm = CLF_GEMM_NATIVE;
    options.use_program_cache = use_program_cache;
    struct clf_device *device;
    assert_ok(clf_device_open(&device, NULL, &options));
    return device;
}

/* A (rows, columns) view surrounded by poison: NaN before, between and after its rows. */
struct framed {
    struct clf__tensor all; /* (1, everything) */
    struct clf__matrix view;
    int rows, columns;
};

static inline struct framed make_framed(struct clf_device *device, int rows, int columns, int offset, int gap,
                                        const float *values)
{
    int stride = columns + gap, total = offset + rows * stride;
    float *all = support_array((size_t)total, sizeof *all);
    for (int i = 0; i < total; i++) {
        int row = (i - offset) / stride, column = (i - offset) % stride;
        int inside = i >= offset && column < columns;
        all[i] = inside && values ? values[(size_t)row * (size_t)columns + (size_t)column] : NAN;
    }
    struct framed framed = {.rows = rows, .columns = columns};
    framed.all = support_tensor(device, CLF__F32, 1, total, all);
    framed.view =
        (struct clf__matrix){.buffer = framed.all.buffer, .offset = (size_t)offset, .stride = stride};
    return framed;
}

/* Returns the view's contents after checking that the poison is intact. */
static inline float *read_framed(struct framed framed)
{
    float *all = support_read(framed.all);
    float *values = support_array((size_t)framed.rows * (size_t)framed.columns, sizeof *values);
    int offset = (int)framed.view.offset, stride = framed.view.stride;
    for (int i = 0; i < framed.all.columns; i++) {
        int row = (i - offset) / stride, column = (i - offset) % stride;
        if (i < offset || column >= framed.columns) {
            assert_true(isnan(all[i]));
        } else {
            values[(size_t)row * (size_t)framed.columns + (size_t)column] = all[i];
        }
    }
    return values;
}

enum residual_choice { NO_RESIDUAL, RESIDUAL, RESIDUAL_IN_PLACE };

struct gemm_check {
    struct gemm_case shape;
    enum clf__activation activation;
    enum residual_choice residual;
    int has_bias;
    int offset, gap; /* of the views */
    float scale;
    enum clf__precision precision; /* of the weight */
};

static inline struct clf__weight *make_weight_in(struct clf_device *device, enum clf__precision precision,
                                                 const float *w, int outputs, int inputs)
{
    struct clf__weight_part part = {.data = w, .rows = outputs};
    struct clf__weight *weight = NULL;
    assert_ok(clf__weight_create(&weight, device,
                                 &(struct clf__weight_source){.parts = &part,
                                                              .part_count = 1,
                                                              .inputs = inputs,
                                                              .precision = precision,
                                                              .what = "a test's weight"}));
    return weight;
}

static inline struct clf__weight *make_weight(struct clf_device *device, const float *w, int outputs,
                                              int inputs)
{
    return make_weight_in(device, CLF__PRECISION_FP32, w, outputs, inputs);
}

static inline void round_all(enum clf__precision precision, float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = reference_round(precision, values[i]);
    }
}

/* Returns edge case i with every option of a GEMM. */
static inline struct gemm_check edge_check(int i, enum clf__precision precision,
                                           enum clf__activation activation)
{
    return (struct gemm_check){
        .shape = gemm_edge_cases[i],
        .activation = activation,
        .residual = i % 2 ? RESIDUAL : RESIDUAL_IN_PLACE,
        .has_bias = i % 3 != 0,
        .offset = 3,
        .gap = 1 + i % 5,
        .scale = 0.5f,
        .precision = precision,
    };
}

/* The operands of a check, and the device's result. */
struct gemm_run {
    float *x, *w, *bias, *residual, *y;
};

static inline struct gemm_run make_operands(struct support_random *random, struct gemm_check check, float *x)
{
    size_t rows = (size_t)check.shape.rows, outputs = (size_t)check.shape.outputs;
    struct gemm_run run = {.x = x};
    run.w = support_uniform_array(random, outputs * (size_t)check.shape.inputs, 1.0f);
    run.bias = support_uniform_array(random, outputs, 3.0f);
    run.residual = support_uniform_array(random, rows * outputs, 1.0f);
    return run;
}

static inline void run_gemm(struct gemm_run *run, struct clf_device *device, struct gemm_check check)
{
    int rows = check.shape.rows, outputs = check.shape.outputs, inputs = check.shape.inputs;
    struct clf__weight *weight = make_weight_in(device, check.precision, run->w, outputs, inputs);
    struct framed x_frame = make_framed(device, rows, inputs, check.offset, check.gap, run->x);
    struct framed y_frame = make_framed(device, rows, outputs, 2 * check.offset, 2 * check.gap,
                                        check.residual == RESIDUAL_IN_PLACE ? run->residual : NULL);
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    epilogue.scale = check.scale;
    epilogue.activation = check.activation;
    if (check.has_bias) {
        epilogue.bias = support_tensor(device, CLF__F32, 1, outputs, run->bias).buffer;
    }
    if (check.residual == RESIDUAL) {
        epilogue.residual = make_framed(device, rows, outputs, check.gap, check.offset, run->residual).view;
    } else if (check.residual == RESIDUAL_IN_PLACE) {
        epilogue.residual = y_frame.view;
    }
    assert_ok(clf__gemm_weight(y_frame.view, x_frame.view, rows, weight, &epilogue));
    run->y = read_framed(y_frame);
    clf__weight_free(weight);
}

/* In the GPU variant, the number of compute units decides between tiles of several sizes and the kernel for
 * few rows: sets it and returns the old number. */
static inline unsigned set_units(struct clf_device *device, unsigned units)
{
    unsigned before = device->caps.compute_units;
    if (device->caps.variant == CLF_VARIANT_GPU) {
        device->caps.compute_units = units;
    }
    return before;
}

static inline void check_gemm(struct clf_device *device, struct gemm_check check)
{
    int rows = check.shape.rows, outputs = check.shape.outputs, inputs = check.shape.inputs;
    struct support_random random = {.state = (uint64_t)(rows * 7919 + outputs * 31 + inputs)};
    float *x = support_uniform_array(&random, (size_t)rows * (size_t)inputs, 1.0f);
    struct gemm_run run = make_operands(&random, check, x);
    unsigned units = set_units(device, 1);
    run_gemm(&run, device, check);
    set_units(device, units);

    round_all(check.precision, run.w, (size_t)outputs * (size_t)inputs);
    if (rounds_operands(device, check.precision)) {
        round_all(check.precision, run.x, (size_t)rows * (size_t)inputs);
    }
    double *expected = support_array((size_t)rows * (size_t)outputs, sizeof *expected);
    for (int row = 0; row < rows; row++) {
        size_t at = (size_t)row * (size_t)outputs;
        reference_gemm_row(expected + at, run.x + (size_t)row * (size_t)inputs, run.w, outputs, inputs,
                           (double)check.scale, check.has_bias ? run.bias : NULL, check.activation,
                           check.residual == NO_RESIDUAL ? NULL : run.residual + at);
    }
    assert_close(run.y, expected, (size_t)rows * (size_t)outputs, 2e-6);
}

/* Multiplies rows of x by the weight and returns the results. */
static inline float *multiply_activated(struct clf_device *device, const struct clf__weight *weight,
                                        const float *x, int rows, enum clf__activation activation)
{
    struct clf__tensor x_tensor = support_tensor(device, CLF__F32, rows, clf__weight_inputs(weight), x);
    struct clf__tensor y = support_tensor(device, CLF__F32, rows, clf__weight_outputs(weight), NULL);
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    epilogue.activation = activation;
    assert_ok(clf__gemm_weight(clf__tensor_matrix(y), clf__tensor_matrix(x_tensor), rows, weight, &epilogue));
    return support_read(y);
}

static inline float *multiply(struct clf_device *device, const struct clf__weight *weight, const float *x,
                              int rows)
{
    return multiply_activated(device, weight, x, rows, CLF__IDENTITY);
}

/* Batch invariance: the bits of a row depend neither on the number of rows nor on its position. */
static inline void check_batch_invariance(struct clf_device *device, enum clf__precision precision,
                                          enum clf__activation activation)
{
    enum { ROWS = 70, OUTPUTS = 75, INPUTS = 83 };
    int row_step = support_small() ? 33 : 1;
    struct support_random random = {.state = 11};
    float *x = support_uniform_array(&random, ROWS * INPUTS, 1.0f);
    float *w = support_uniform_array(&random, OUTPUTS * INPUTS, 1.0f);
    float *alone = support_array(ROWS * OUTPUTS, sizeof *alone);
    struct clf__weight *weight = make_weight_in(device, precision, w, OUTPUTS, INPUTS);
    for (int row = 0; row < ROWS; row++) {
        float *y = multiply_activated(device, weight, x + row * INPUTS, 1, activation);
        memcpy(alone + row * OUTPUTS, y, OUTPUTS * sizeof *y);
    }
    for (int rows = 2; rows <= ROWS; rows += row_step) {
        int first = ROWS - rows; /* puts each row at every position of a block */
        static const unsigned all_units[] = {1000, 1, 2, 3, 6};
        unsigned units = set_units(device, all_units[rows == ROWS ? 1 : rows % 5]);
        float *y = multiply_activated(device, weight, x + first * INPUTS, rows, activation);
        set_units(device, units);
        assert_memory_equal(y, alone + first * OUTPUTS, (size_t)(rows * OUTPUTS) * sizeof *y);
    }
    clf__weight_free(weight);
}

/* NaN or infinity affects only its own row or column. */
static inline void check_not_finite(struct clf_device *device, enum clf__precision precision,
                                    enum clf__activation activation)
{
    enum { ROWS = 66, OUTPUTS = 40, INPUTS = 21 };
    struct support_random random = {.state = 8};
    float *w = support_uniform_array(&random, OUTPUTS * INPUTS, 1.0f);
    float *x = support_uniform_array(&random, ROWS * INPUTS, 1.0f);
    w[34 * INPUTS + 3] = NAN;
    x[5 * INPUTS + 20] = NAN;
    x[65 * INPUTS] = INFINITY;
    struct clf__weight *weight = make_weight_in(device, precision, w, OUTPUTS, INPUTS);
    float *y = multiply_activated(device, weight, x, ROWS, activation);
    for (int i = 0; i < ROWS * OUTPUTS; i++) {
        int row = i / OUTPUTS, column = i % OUTPUTS;
        if (row == 5 || column == 34) {
            assert_true(isnan(y[i]));
        } else if (row != 65) {
            assert_true(isfinite(y[i]));
        } else if (w[column * INPUTS] > 0) {
            assert_true(y[i] == INFINITY);
        } else if (activation == CLF__IDENTITY) {
            assert_true(y[i] == -INFINITY);
        }
    }
    clf__weight_free(weight);
}

/* Memory and OpenCL failures during a GEMM, including the memory for its packed operand. */
static inline void check_failures(enum clf__precision precision, int rows, int inputs)
{
    enum { OUTPUTS = 3 };
    for (int calls = 0; calls <= 1; calls++) {
        float *numbers = support_array((size_t)rows * (size_t)inputs, sizeof *numbers);
        struct clf_device *device = open_native(0); /* failures of the cache are tolerated */
        struct clf__matrix x = clf__tensor_matrix(support_tensor(device, CLF__F32, rows, inputs, numbers));
        struct clf__matrix y = clf__tensor_matrix(support_tensor(device, CLF__F32, rows, OUTPUTS, NULL));
        struct clf__weight *weight = make_weight_in(device, precision, numbers, OUTPUTS, inputs);
        struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
        clf_status status = CLF_DEVICE;
        int failures = -1;
        for (uint64_t n = 1; status != CLF_OK; n++, failures++) {
            assert_true(n < 200);
            clf__buffer_free(device->packed); /* so that it is allocated again */
            device->packed = NULL;
            calls ? clf__device_fail_at(n) : clf__memory_fail_at(n);
            status = clf__gemm_weight(y, x, rows, weight, &epilogue);
            calls ? clf__device_fail_at(0) : clf__memory_fail_at(0);
            assert_true(status == CLF_OK || strlen(clf_last_error()) > 10);
        }
        assert_true(failures >= 3);
        clf__weight_free(weight);
        support_free_all();
        clf_device_close(device);
    }
}

struct gemm_batched_check {
    struct gemm_batched_case shape;
    int transpose_b;
    int offset, gap, step_gap; /* all zero: packed */
    float alpha;
};

/* batches matrices (rows, columns), as rows of one framed tensor: batch_stride is rows * stride +
 * step_gap. */
static inline struct clf__batched_matrix make_batch(struct clf_device *device, struct framed *frame,
                                                    const struct gemm_batched_check *check, int rows,
                                                    int columns, const float *values)
{
    int stride = columns + check->gap > 0 ? columns + check->gap : 1;
    int step = rows > 0 ? rows * stride + check->step_gap : 1;
    int total = check->offset + check->shape.batches * step;
    float *all = support_array((size_t)total, sizeof *all);
    for (int i = 0; i < total; i++) {
        int at = i - check->offset, batch = at / step, row = at % step / stride;
        int column = at % step % stride;
        int inside = at >= 0 && row < rows && column < columns;
        all[i] = inside && values
                     ? values[((size_t)batch * (size_t)rows + (size_t)row) * (size_t)columns + (size_t)column]
                     : NAN;
    }
    frame->all = support_tensor(device, CLF__F32, 1, total, all);
    struct clf__batched_matrix batch = {.batch_stride = (size_t)step};
    batch.matrix =
        (struct clf__matrix){.buffer = frame->all.buffer, .offset = (size_t)check->offset, .stride = stride};
    return batch;
}

/* Checks every element if small, otherwise a sample. */
static inline void check_gemm_batched(struct clf_device *device, struct gemm_batched_check check)
{
    int batches = check.shape.batches, m = check.shape.m, n = check.shape.n, k = check.shape.k;
    struct support_random random = {.state = (uint64_t)(m * 7919 + n * 31 + k)};
    size_t a_size = (size_t)m * (size_t)k, b_size = (size_t)n * (size_t)k, c_size = (size_t)m * (size_t)n;
    float *a = support_uniform_array(&random, (size_t)batches * a_size, 1.0f);
    float *b = support_uniform_array(&random, (size_t)batches * b_size, 1.0f);
    struct framed frames[3];
    struct clf__batched_matrix a_batch = make_batch(device, &frames[0], &check, m, k, a);
    struct clf__batched_matrix b_batch =
        make_batch(device, &frames[1], &check, check.transpose_b ? n : k, check.transpose_b ? k : n, b);
    struct clf__batched_matrix c_batch = make_batch(device, &frames[2], &check, m, n, NULL);
    struct clf__batched_shape shape = {batches, m, n, k, check.transpose_b, check.alpha};
    assert_ok(clf__gemm_batched(c_batch, a_batch, b_batch, &shape));

    float *all = support_read(frames[2].all);
    int every = (size_t)batches * c_size * (size_t)k < 4000000;
    size_t count = every ? (size_t)batches * c_size : 2000;
    double *expected = support_array(count, sizeof *expected);
    float *actual = support_array(count, sizeof *actual);
    for (size_t i = 0; i < count; i++) {
        size_t at = every ? i : (size_t)support_integer(&random, batches * m * n);
        size_t batch = at / c_size, row = at % c_size / (size_t)n, column = at % (size_t)n;
        size_t place = (size_t)check.offset + batch * c_batch.batch_stride +
                       row * (size_t)c_batch.matrix.stride + column;
        actual[i] = all[place];
        expected[i] = reference_dot(a + batch * a_size + row * (size_t)k, 1,
                                    b + batch * b_size + (check.transpose_b ? column * (size_t)k : column),
                                    check.transpose_b ? 1 : (size_t)n, k, (double)check.alpha);
        if (every) {
            all[place] = NAN; /* the rest must be the poison around it */
        }
    }
    assert_close(actual, expected, count, 2e-6);
    for (int i = 0; every && i < frames[2].all.columns; i++) {
        assert_true(isnan(all[i]));
    }
}

#endif
