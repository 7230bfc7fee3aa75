/* A product on a device against the reference: shared by the tests of the providers. */
#ifndef CLF_TESTS_GEMM_CHECK_H
#define CLF_TESTS_GEMM_CHECK_H

#include <math.h>
#include <string.h>

#include "cases/gemm.h"
#include "gemm/gemm.h"
#include "reference/gemm.h"
#include "support/support.h"

/* A (rows, columns) view within poison: NaN before, between and after its rows. */
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

/* The view's contents, after a check that all around it is still NaN. */
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
    clf_precision precision; /* of the weight */
};

static inline struct clf__weight *make_weight_in(struct clf_device *device, clf_precision precision,
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
    return make_weight_in(device, CLF_PRECISION_FP32, w, outputs, inputs);
}

static inline void round_all(clf_precision precision, float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = reference_round(precision, values[i]);
    }
}

static inline void check_gemm(struct clf_device *device, struct gemm_check check)
{
    int rows = check.shape.rows, outputs = check.shape.outputs, inputs = check.shape.inputs;
    struct support_random random = {.state = (uint64_t)(rows * 7919 + outputs * 31 + inputs)};
    float *x = support_uniform_array(&random, (size_t)rows * (size_t)inputs, 1.0f);
    float *w = support_uniform_array(&random, (size_t)outputs * (size_t)inputs, 1.0f);
    float *bias = support_uniform_array(&random, (size_t)outputs, 3.0f);
    float *residual = support_uniform_array(&random, (size_t)rows * (size_t)outputs, 1.0f);
    struct clf__weight *weight = make_weight_in(device, check.precision, w, outputs, inputs);
    struct framed x_frame = make_framed(device, rows, inputs, check.offset, check.gap, x);
    struct framed y_frame = make_framed(device, rows, outputs, 2 * check.offset, 2 * check.gap,
                                        check.residual == RESIDUAL_IN_PLACE ? residual : NULL);
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    epilogue.scale = check.scale;
    epilogue.activation = check.activation;
    if (check.has_bias) {
        epilogue.bias = support_tensor(device, CLF__F32, 1, outputs, bias).buffer;
    }
    if (check.residual == RESIDUAL) {
        epilogue.residual = make_framed(device, rows, outputs, check.gap, check.offset, residual).view;
    } else if (check.residual == RESIDUAL_IN_PLACE) {
        epilogue.residual = y_frame.view;
    }
    assert_ok(clf__gemm_weight(y_frame.view, x_frame.view, rows, weight, &epilogue));

    round_all(check.precision, w, (size_t)outputs * (size_t)inputs);
    if (check.precision == CLF_PRECISION_BF16) {
        round_all(check.precision, x, (size_t)rows * (size_t)inputs);
    }
    double *expected = support_array((size_t)rows * (size_t)outputs, sizeof *expected);
    for (int row = 0; row < rows; row++) {
        size_t at = (size_t)row * (size_t)outputs;
        reference_gemm_row(expected + at, x + (size_t)row * (size_t)inputs, w, outputs, inputs,
                           (double)check.scale, check.has_bias ? bias : NULL, check.activation,
                           check.residual == NO_RESIDUAL ? NULL : residual + at);
    }
    assert_close(read_framed(y_frame), expected, (size_t)rows * (size_t)outputs, 2e-6);
    clf__weight_free(weight);
}

struct gemm_batched_check {
    struct gemm_batched_case shape;
    int transpose_b;
    int offset, gap, step_gap; /* all zero: packed */
    float alpha;
};

/* batches matrices (rows, columns), as rows of one framed tensor: batch_stride is rows * stride + step_gap.
 */
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

/* Every element where small, else a sample. */
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
            all[place] = NAN; /* what is left must be the poison around */
        }
    }
    assert_close(actual, expected, count, 2e-6);
    for (int i = 0; every && i < frames[2].all.columns; i++) {
        assert_true(isnan(all[i]));
    }
}

#endif
