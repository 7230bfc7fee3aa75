/* The gradients of a GEMM with a weight against the reference: shared by the tests of the backends. */
#ifndef CLF_TESTS_GEMM_CHECK_GRADIENT_H
#define CLF_TESTS_GEMM_CHECK_GRADIENT_H

#include "gemm/check.h"
#include "math/gemm/backend.h"
#include "runtime/device/buffer.h"
#include "runtime/device/caps.h"

struct gradient_check {
    struct gemm_case shape;
    enum residual_choice residual;
    int offset, gap; /* of the views */
    float scale;
    enum clf__precision precision; /* of the products */
};

static inline struct clf__weight *make_zero(struct clf_device *device, int outputs, int inputs)
{
    struct clf__weight *weight = NULL;
    assert_ok(clf__weight_create_zero(&weight, device, outputs, inputs, "a test's gradient"));
    return weight;
}

static inline float *read_weight(const struct clf__weight *weight)
{
    int outputs = clf__weight_outputs(weight);
    float *values = support_array((size_t)outputs * (size_t)clf__weight_inputs(weight), sizeof *values);
    assert_ok(clf__weight_read(weight, 0, outputs, values));
    return values;
}

/* Padding of the layout is zero. */
static inline void check_padding(const struct clf__weight *weight)
{
    struct clf__weight_layout layout = clf__weight_layout(weight);
    int outputs = clf__weight_outputs(weight), inputs = clf__weight_inputs(weight);
    size_t elements = clf__weight_elements(weight);
    float *values = support_array(elements, sizeof *values);
    assert_ok(clf__buffer_read(layout.buffer, 0, elements * sizeof *values, values));
    for (size_t i = 0; i < elements; i++) {
        size_t panel = i / ((size_t)inputs * (size_t)layout.panel);
        size_t output = panel * (size_t)layout.panel + i % (size_t)layout.panel;
        assert_true(output < (size_t)outputs || values[i] == 0.0f);
    }
}

static inline void check_input_gradient(struct clf_device *device, struct gradient_check check)
{
    int rows = check.shape.rows, outputs = check.shape.outputs, inputs = check.shape.inputs;
    size_t count = (size_t)rows * (size_t)inputs;
    struct support_random random = {.state = (uint64_t)(rows * 7919 + outputs * 31 + inputs)};
    float *dy = support_uniform_array(&random, (size_t)rows * (size_t)outputs, 1.0f);
    float *w = support_uniform_array(&random, (size_t)outputs * (size_t)inputs, 1.0f);
    float *residual = support_uniform_array(&random, count, 1.0f);
    struct clf__weight *weight = make_weight(device, w, outputs, inputs);
    assert_ok(clf__weight_multiply_in(weight, check.precision));
    enum clf__precision products = clf__gemm_precision(weight);
    struct framed dy_frame = make_framed(device, rows, outputs, check.offset, check.gap, dy);
    struct framed dx_frame = make_framed(device, rows, inputs, 2 * check.offset, 2 * check.gap,
                                         check.residual == RESIDUAL_IN_PLACE ? residual : NULL);
    struct clf__matrix added = {.buffer = NULL};
    if (check.residual == RESIDUAL) {
        added = make_framed(device, rows, inputs, check.gap, check.offset, residual).view;
    } else if (check.residual == RESIDUAL_IN_PLACE) {
        added = dx_frame.view;
    }
    assert_ok(clf__gemm_input_gradient(dx_frame.view, dy_frame.view, rows, weight, check.scale, added));

    double scale = (double)check.scale;
    if (clf__device_caps(device)->variant == CLF_VARIANT_CPU) { /* it rounds scale * W */
        for (size_t i = 0; i < (size_t)outputs * (size_t)inputs; i++) {
            w[i] *= check.scale;
        }
        scale = 1.0;
    }
    round_all(products, w, (size_t)outputs * (size_t)inputs);
    round_all(products, dy, (size_t)rows * (size_t)outputs);
    double *expected = support_array(count, sizeof *expected);
    reference_input_gradient(expected, dy, w, rows, outputs, inputs, scale,
                             check.residual == NO_RESIDUAL ? NULL : residual);
    assert_close(read_framed(dx_frame), expected, count, 2e-6);
    clf__weight_free(weight);
}

/* Twice into the same gradient: the second call accumulates. */
static inline void check_weight_gradient(struct clf_device *device, struct gradient_check check)
{
    int rows = check.shape.rows, outputs = check.shape.outputs, inputs = check.shape.inputs;
    size_t count = (size_t)outputs * (size_t)inputs;
    struct support_random random = {.state = (uint64_t)(rows * 7919 + outputs * 31 + inputs)};
    double *expected = support_array(count, sizeof *expected);
    struct clf__weight *gradient = make_zero(device, outputs, inputs);
    assert_ok(clf__weight_multiply_in(gradient, check.precision));
    enum clf__precision products = clf__gemm_precision(gradient);
    for (int time = 0; time < 2; time++) {
        float *dy = support_uniform_array(&random, (size_t)rows * (size_t)outputs, 1.0f);
        float *x = support_uniform_array(&random, (size_t)rows * (size_t)inputs, 1.0f);
        struct framed dy_frame = make_framed(device, rows, outputs, check.offset, check.gap, dy);
        struct framed x_frame = make_framed(device, rows, inputs, 2 * check.offset, 2 * check.gap, x);
        assert_ok(clf__gemm_weight_gradient(gradient, dy_frame.view, x_frame.view, rows, check.scale));
        for (size_t i = 0; i < (size_t)rows * (size_t)outputs; i++) {
            dy[i] *= check.scale;
        }
        round_all(products, dy, (size_t)rows * (size_t)outputs);
        round_all(products, x, (size_t)rows * (size_t)inputs);
        reference_weight_gradient(expected, dy, x, rows, outputs, inputs);
        assert_close(read_weight(gradient), expected, count, 2e-6);
    }
    check_padding(gradient);
    clf__weight_free(gradient);
}

#endif
