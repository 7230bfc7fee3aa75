/* Native GEMM with int8 weights: in both variants, with the device's dot products and without. Sums are
 * exact, so results are compared bit for bit. */
#include "base/memory.h"
#include "gemm/check.h"
#include "math/gemm/backend.h"
#include "math/ops/embedding.h"
#include "reference/int8.h"
#include "runtime/device/buffer.h"
#include "runtime/device/caps.h"
#include "runtime/device/device.h"
#include "runtime/opencl/testing.h"

/* Rows from -127/64 to 127/64, from 0 to 254/64, down to -254/64, or fractions of them by powers of two:
 * their scale is a power of two, so the division is exact and every device computes the same q. */
static float *make_rows(struct support_random *random, int rows, int inputs)
{
    float *x = support_uniform_array(random, (size_t)rows * (size_t)inputs, 127.0f / 64.0f);
    for (int row = 0; row < rows; row++) {
        float *values = x + (size_t)row * (size_t)inputs, unit = 1.0f / (float)(64 << row % 5);
        float shift = row % 3 == 0 || inputs == 1 ? 127.0f * unit : row % 3 == 1 ? -127.0f * unit : 0.0f;
        for (int k = 0; k < inputs; k++) {
            values[k] = values[k] * 64.0f * unit + shift;
        }
        values[support_integer(random, inputs)] = (shift < 0 ? -127.0f : 127.0f) * unit + shift;
        if (shift == 0) { /* two elements that differ */
            int first = support_integer(random, inputs);
            values[first] = -127.0f * unit;
            values[(first + 1) % inputs] = 127.0f * unit;
        }
    }
    return x;
}

/* expected results (rows, outputs) */
static float *make_expected(const float *x, const float *w, int rows, int outputs, int inputs)
{
    size_t k = (size_t)inputs;
    int16_t *qx = support_array((size_t)rows * k, sizeof *qx);
    int8_t *qw = support_array((size_t)outputs * k, sizeof *qw);
    float *s = support_array((size_t)rows, sizeof *s), *t = support_array((size_t)outputs, sizeof *t);
    float *products = support_array((size_t)rows * (size_t)outputs, sizeof *products);
    for (int row = 0; row < rows; row++) {
        s[row] = reference_quantize_row(qx + (size_t)row * k, x + (size_t)row * k, inputs);
    }
    for (int n = 0; n < outputs; n++) {
        t[n] = reference_quantize_output(qw + (size_t)n * k, w + (size_t)n * k, inputs);
    }
    for (int row = 0; row < rows; row++) {
        for (int n = 0; n < outputs; n++) {
            products[(size_t)row * (size_t)outputs + (size_t)n] =
                reference_int8_dot(qx + (size_t)row * k, s[row], qw + (size_t)n * k, t[n], inputs);
        }
    }
    return products;
}

static void check_int8(struct clf_device *device, struct gemm_check check)
{
    int rows = check.shape.rows, outputs = check.shape.outputs, inputs = check.shape.inputs;
    size_t count = (size_t)rows * (size_t)outputs;
    struct support_random random = {.state = (uint64_t)(rows * 7919 + outputs * 31 + inputs)};
    float *x = make_rows(&random, rows, inputs);
    struct gemm_run run = make_operands(&random, check, x);
    run_gemm(&run, device, check);
    float *products = make_expected(run.x, run.w, rows, outputs, inputs);
    if (!check.has_bias && check.activation == CLF__IDENTITY && check.residual == NO_RESIDUAL) {
        for (size_t i = 0; i < count; i++) {
            assert_true(run.y[i] == check.scale * products[i]);
        }
    } else {
        double *expected = support_array(count, sizeof *expected);
        for (size_t i = 0; i < count; i++) {
            double v = (double)check.scale * (double)products[i];
            v = reference_activation(check.activation,
                                     v + (check.has_bias ? (double)run.bias[i % (size_t)outputs] : 0));
            expected[i] = v + (check.residual != NO_RESIDUAL ? (double)run.residual[i] : 0);
        }
        assert_close(run.y, expected, count, 2e-6);
    }
}

static void shapes(void **state)
{
    (void)state;
    FOR_EACH_DEVICE(device, CLF__PRECISION_INT8)
    {
        for (int i = 0; i < gemm_edge_case_count; i += support_small() ? 5 : 1) {
            struct gemm_check bare = {
                .shape = gemm_edge_cases[i], .scale = 1.0f, .precision = CLF__PRECISION_INT8};
            check_int8(device, bare); /* packed */
            check_int8(device, edge_check(i, CLF__PRECISION_INT8, (enum clf__activation)(i % 5)));
            support_free_all();
        }
    }
}

/* More inputs than fp32 sums exactly; and the most, for many rows, that a panel is widened with. */
static void many_inputs(void **state)
{
    (void)state;
    static const struct gemm_case cases[] = {{1, 33, 1023},  {2, 40, 1025}, {50, 33, 2048},
                                             {8, 33, 2048},  {3, 20, 2049}, {9, 40, 3001},
                                             {33, 65, 2500}, {1, 7, 60001}, {17, 5, 65536}};
    FOR_EACH_DEVICE(device, CLF__PRECISION_INT8)
    {
        for (size_t i = 0; i < sizeof cases / sizeof *cases - (support_small() ? 2 : 0); i++) {
            check_int8(device, (struct gemm_check){
                                   .shape = cases[i], .scale = 1.0f, .precision = CLF__PRECISION_INT8});
            support_free_all();
        }
    }
}

/* The largest possible sums of either sign. */
static void largest_sums(void **state)
{
    (void)state;
    enum { INPUTS = 1 << 16, OUTPUTS = 2, ROWS = 9 };
    int inputs = support_small() ? 2000 : INPUTS;
    float *x = support_array((size_t)ROWS * INPUTS, sizeof *x),
          *w = support_array((size_t)OUTPUTS * INPUTS, sizeof *w);
    for (int i = 0; i < ROWS * inputs; i++) {
        x[i] = i / inputs % 2 ? 127.0f : -127.0f;
    }
    for (int i = 0; i < OUTPUTS * inputs; i++) {
        w[i] = i / inputs % 2 ? 127.0f : -127.0f;
    }
    FOR_EACH_DEVICE(device, CLF__PRECISION_INT8)
    {
        struct clf__weight *weight = make_weight_in(device, CLF__PRECISION_INT8, w, OUTPUTS, inputs);
        for (int rows = 1; rows <= ROWS; rows += ROWS - 1) {
            float *values = multiply(device, weight, x, rows);
            for (int i = 0; i < rows * OUTPUTS; i++) {
                float sum = (float)(127.0 * 127.0 * inputs);
                assert_true(values[i] == (i / OUTPUTS % 2 == i % OUTPUTS ? sum : -sum));
            }
        }
        clf__weight_free(weight);
    }
}

static void bits_do_not_depend_on_the_batch(void **state)
{
    (void)state;
    FOR_EACH_DEVICE(device, CLF__PRECISION_INT8)
    {
        check_batch_invariance(device, CLF__PRECISION_INT8, CLF__IDENTITY);
    }
}

/* Values without an 8-bit representation: NaN or infinity makes only its own row or column NaN; rows and
 * outputs of zeros, or nearly zero, give zeros; rows of the largest numbers are as accurate as others. */
static void strange_numbers(void **state)
{
    (void)state;
    enum { ROWS = 66, OUTPUTS = 40, INPUTS = 21, NONE = -1 };
    FOR_EACH_DEVICE(device, CLF__PRECISION_INT8)
    {
        struct support_random random = {.state = 8};
        float *w = support_uniform_array(&random, OUTPUTS * INPUTS, 1.0f);
        float *x = support_uniform_array(&random, ROWS * INPUTS, 1.0f);
        w[34 * INPUTS + 3] = NAN;
        w[35 * INPUTS + 3] = -INFINITY;
        x[5 * INPUTS + 20] = NAN;
        x[65 * INPUTS] = INFINITY;
        for (int k = 0; k < INPUTS; k++) {
            x[7 * INPUTS + k] = 0.0f;
            x[8 * INPUTS + k] = 1e-38f;
            w[9 * INPUTS + k] = 0.0f;
            x[9 * INPUTS + k] *= 1e37f;
        }
        struct clf__weight *weight = make_weight_in(device, CLF__PRECISION_INT8, w, OUTPUTS, INPUTS);
        for (int first = 0; first < ROWS; first += ROWS - 4) { /* all, and few */
            int rows = first == 0 ? ROWS : 4;
            float *y = multiply(device, weight, x + first * INPUTS, rows);
            for (int i = 0; i < rows * OUTPUTS; i++) {
                int row = first + i / OUTPUTS, column = i % OUTPUTS;
                int is_nan = row == 5 || row == 65 || column == 34 || column == 35;
                assert_int_equal(isnan(y[i]), is_nan);
                assert_true(is_nan || isfinite(y[i]));
                assert_true(is_nan || (y[i] == 0.0f) == (row == 7 || row == 8 || column == 9));
            }
        }
        clf__weight_free(weight);
    }
}

/* With arbitrary numbers the result has the accuracy of eight bits. */
static void near_the_product(void **state)
{
    (void)state;
    enum { ROWS = 12, OUTPUTS = 48, INPUTS = 512 };
    struct support_random random = {.state = 4};
    float *w = support_uniform_array(&random, OUTPUTS * INPUTS, 0.1f);
    float *x = support_uniform_array(&random, ROWS * INPUTS, 5.0f);
    double *expected = support_array(ROWS * OUTPUTS, sizeof *expected);
    for (int row = 0; row < ROWS; row++) {
        reference_gemm_row(expected + row * OUTPUTS, x + row * INPUTS, w, OUTPUTS, INPUTS, 1, NULL,
                           CLF__IDENTITY, NULL);
    }
    FOR_EACH_DEVICE(device, CLF__PRECISION_INT8)
    {
        struct clf__weight *weight = make_weight_in(device, CLF__PRECISION_INT8, w, OUTPUTS, INPUTS);
        assert_close(multiply(device, weight, x, ROWS), expected, ROWS * OUTPUTS, 0.01);
        clf__weight_free(weight);
    }
}

/* The panels of cl/include/product_int8.cl, and the embedding that reads them. */
static void layout_is_as_said(void **state)
{
    (void)state;
    enum { INPUTS = 7, OUTPUTS = 45, PANELS = 2 };
    struct support_random random = {.state = 6};
    float *w = support_uniform_array(&random, OUTPUTS * INPUTS, 1.0f);
    int8_t q[INPUTS];
    FOR_EACH_DEVICE(device, CLF__PRECISION_INT8)
    {
        struct clf__weight *weight = make_weight_in(device, CLF__PRECISION_INT8, w, OUTPUTS, INPUTS);
        struct clf__weight_layout layout = clf__weight_layout(weight);
        assert_int_equal(layout.precision, CLF__PRECISION_INT8);
        int is_matrix = clf__caps_have_matrix(clf__device_caps(device));
        int group = is_matrix ? 16 : 4, inputs = is_matrix ? 64 : 8; /* the latter with their padding */
        size_t panel_bytes = (size_t)inputs * 32 + 8 * 32;
        assert_int_equal(layout.group, group);
        assert_int_equal(clf__buffer_bytes(layout.buffer), PANELS * panel_bytes);
        assert_int_equal(clf__weight_bytes(device, CLF__PRECISION_INT8, OUTPUTS, INPUTS),
                         PANELS * panel_bytes);
        int8_t *packed = support_array(PANELS, panel_bytes);
        assert_ok(clf__buffer_read(layout.buffer, 0, PANELS * panel_bytes, packed));
        for (int n = 0; n < PANELS * 32; n++) {
            const int8_t *panel = packed + (size_t)(n / 32) * panel_bytes, *tail = panel + inputs * 32;
            float scale = n < OUTPUTS ? reference_quantize_output(q, w + n * INPUTS, INPUTS) : 0.0f, stored;
            int32_t stored_sum, sum = 0;
            memcpy(&stored, tail + 4 * (n % 32), 4);
            memcpy(&stored_sum, tail + 4 * (32 + n % 32), 4);
            for (int k = 0; k < inputs; k++) {
                int expected = n < OUTPUTS && k < INPUTS ? q[k] : 0;
                assert_int_equal(panel[(k / group * 32 + n % 32) * group + k % group], expected);
                sum += expected;
            }
            assert_true(stored == scale);
            assert_int_equal(stored_sum, sum);
        }
        clf__weight_free(weight);
    }
}

static void embedding(void **state)
{
    (void)state;
    enum { V = 75, N = 8, D = 37 };
    static const int32_t ids[N] = {0, 74, 31, 32, 63, 64, -1, V};
    struct support_random random = {.state = 9};
    float *e = support_uniform_array(&random, V * D, 1.0f), expected[N * D] = {0};
    for (int n = 0; n < N; n++) {
        int8_t q[D];
        if (ids[n] >= 0 && ids[n] < V) {
            float scale = 22.5f * reference_quantize_output(q, e + ids[n] * D, D);
            for (int k = 0; k < D; k++) {
                expected[n * D + k] = scale * (float)q[k];
            }
        }
    }
    FOR_EACH_DEVICE(device, CLF__PRECISION_INT8)
    {
        struct clf__weight *weight = make_weight_in(device, CLF__PRECISION_INT8, e, V, D);
        struct clf__tensor y = support_tensor(device, CLF__F32, N, D, NULL);
        assert_ok(clf__embedding_forward(y, support_tensor(device, CLF__I32, 1, N, ids), weight, 22.5f,
                                         CLF__NO_TENSOR, CLF__NO_TENSOR));
        assert_memory_equal(support_read(y), expected, sizeof expected);
        clf__weight_free(weight);
    }
}

/* Reserved memory suffices: a GEMM allocates no more. */
static void reserved_memory_is_enough(void **state)
{
    (void)state;
    enum { ROWS = 40, OUTPUTS = 5, INPUTS = 30 };
    struct support_random random = {.state = 2};
    float *w = support_uniform_array(&random, OUTPUTS * INPUTS, 1.0f);
    float *x = support_uniform_array(&random, ROWS * INPUTS, 1.0f);
    struct clf_device *device = open_native(1);
    uint64_t before = clf__device_free_bytes(device);
    assert_ok(clf__gemm_reserve(device, ROWS, INPUTS, CLF__PRECISION_FP32));
    assert_int_equal(clf__device_free_bytes(device), before);
    assert_ok(clf__gemm_reserve(device, ROWS, INPUTS, CLF__PRECISION_INT8));
    uint64_t reserved = clf__device_free_bytes(device);
    assert_true(reserved < before);
    struct clf__weight *weight = make_weight_in(device, CLF__PRECISION_INT8, w, OUTPUTS, INPUTS);
    for (int rows = 1; rows <= ROWS; rows += 13) {
        multiply(device, weight, x, rows);
    }
    assert_ok(clf__gemm_reserve(device, ROWS / 2, INPUTS, CLF__PRECISION_INT8));
    clf__weight_free(weight);
    support_free_all();
    assert_int_equal(clf__device_free_bytes(device), reserved);
    clf_device_close(device);
}

static void too_many_inputs_are_refused(void **state)
{
    (void)state;
    float *row = support_array((1 << 16) + 1, sizeof *row);
    struct clf__weight_part part = {.data = row, .rows = 1};
    struct clf__weight *weight = NULL;
    assert_fails(clf__weight_create(&weight, native_device(support_first_variant(), 0, CLF__PRECISION_INT8),
                                    &(struct clf__weight_source){.parts = &part,
                                                                 .part_count = 1,
                                                                 .inputs = (1 << 16) + 1,
                                                                 .precision = CLF__PRECISION_INT8,
                                                                 .what = "a long weight"}),
                 CLF_UNSUPPORTED, "a long weight: 65537 inputs");
}

static void failures_are_told(void **state)
{
    (void)state;
    check_failures(CLF__PRECISION_INT8, 9, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(shapes, support_teardown),
        cmocka_unit_test_teardown(many_inputs, support_teardown),
        cmocka_unit_test_teardown(largest_sums, support_teardown),
        cmocka_unit_test_teardown(bits_do_not_depend_on_the_batch, support_teardown),
        cmocka_unit_test_teardown(strange_numbers, support_teardown),
        cmocka_unit_test_teardown(near_the_product, support_teardown),
        cmocka_unit_test_teardown(layout_is_as_said, support_teardown),
        cmocka_unit_test_teardown(embedding, support_teardown),
        cmocka_unit_test_teardown(reserved_memory_is_enough, support_teardown),
        cmocka_unit_test_teardown(too_many_inputs_are_refused, support_teardown),
        cmocka_unit_test_teardown(failures_are_told, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
