/* Native GEMM with fp16 and bf16 weights: in both variants, with the device's dot products and without. */
#include "base/half.h"
#include "base/memory.h"
#include "gemm/check.h"
#include "runtime/device/buffer.h"
#include "runtime/device/caps.h"
#include "runtime/opencl/testing.h"

static const enum clf__precision precisions[] = {CLF__PRECISION_FP16, CLF__PRECISION_BF16};

#define FOR_EACH_CASE(device, precision)                                                                     \
    FOR_EACH_DEVICE(device, CLF__PRECISION_BF16)                                                             \
    for (enum clf__precision precision = precisions[instructions == PORTABLE && variant == CLF_VARIANT_CPU]; \
         precision <= CLF__PRECISION_BF16; precision = (enum clf__precision)(precision + 1))

static void shapes(void **state)
{
    (void)state;
    FOR_EACH_CASE(device, precision)
    {
        for (int i = 0; i < gemm_edge_case_count; i += support_small() ? 5 : 1) {
            struct gemm_check bare = {.shape = gemm_edge_cases[i], .scale = 1.0f, .precision = precision};
            check_gemm(device, bare); /* packed */
            check_gemm(device, edge_check(i, precision, CLF__RELU));
            support_free_all();
        }
    }
}

static void bits_do_not_depend_on_the_batch(void **state)
{
    (void)state;
    FOR_EACH_CASE(device, precision)
    {
        check_batch_invariance(device, precision, CLF__IDENTITY);
    }
}

static void not_finite_values_stay_where_they_are(void **state)
{
    (void)state;
    FOR_EACH_CASE(device, precision)
    {
        check_not_finite(device, precision, CLF__IDENTITY);
    }
}

/* fp16, and bf16 without instructions for it, only store weights: results equal fp32 with rounded weights bit
 * for bit. These row counts share a widened panel, or widened slices of one. */
static void stored_bits_are_those_of_rounded_weights(void **state)
{
    (void)state;
    enum { ROWS = 61, OUTPUTS = 70, INPUTS = 2049 };
    static const int inputs[] = {301, INPUTS};
    if (support_first_variant() != CLF_VARIANT_CPU) {
        skip();
    }
    struct clf_device *device = support_device_at(CLF_VARIANT_CPU, CLF_INSTRUCTIONS_PORTABLE);
    struct support_random random = {.state = 3};
    float *x = support_uniform_array(&random, ROWS * INPUTS, 1.0f);
    float *w = support_uniform_array(&random, OUTPUTS * INPUTS, 1.0f);
    float *rounded = support_array(OUTPUTS * INPUTS, sizeof *rounded);
    for (int i = 0; i < 4; i++) {
        enum clf__precision precision = precisions[i / 2];
        int width = inputs[i % 2];
        for (int k = 0; k < OUTPUTS * width; k++) {
            rounded[k] = reference_round(precision, w[k]);
        }
        struct clf__weight *weights[] = {
            make_weight_in(device, precision, w, OUTPUTS, width),
            make_weight_in(device, CLF__PRECISION_FP32, rounded, OUTPUTS, width)};
        assert_memory_equal(multiply(device, weights[0], x, ROWS), multiply(device, weights[1], x, ROWS),
                            ROWS * OUTPUTS * sizeof *x);
        clf__weight_free(weights[0]);
        clf__weight_free(weights[1]);
    }
}

/* Many rows process inputs in slices, a few rows do not; one group keeps the sums of fewer than 300. */
static void bits_do_not_depend_on_slices(void **state)
{
    (void)state;
    const int rows = support_small() ? 26 : 300, outputs = support_small() ? 1 : 33;
    const int inputs = support_small() ? 1029 : 2603;
    struct clf_device *device = native_device(support_first_variant(), 0, CLF__PRECISION_FP32);
    struct support_random random = {.state = 4};
    float *x = support_uniform_array(&random, rows * inputs, 1.0f);
    float *w = support_uniform_array(&random, outputs * inputs, 1.0f);
    for (enum clf__precision precision = CLF__PRECISION_FP32; precision <= CLF__PRECISION_BF16;
         precision = (enum clf__precision)(precision + 1)) {
        struct clf__weight *weight = make_weight_in(device, precision, w, outputs, inputs);
        const float *together = multiply(device, weight, x, rows);
        for (int row = 0; row < rows; row++) {
            const float *alone = multiply(device, weight, x + (size_t)row * (size_t)inputs, 1);
            assert_memory_equal(together + row * outputs, alone, (size_t)outputs * sizeof *x);
        }
        clf__weight_free(weight);
    }
}

/* Every 16-bit number that a float can round to, from itself and from both sides of the midpoint to the next
 * one. Sets values[i], i < 4 * 65536. */
static float *make_roundings(enum clf__precision precision)
{
    float *values = support_array(4 * 65536, sizeof *values);
    for (uint32_t pattern = 0; pattern < 65536; pattern++) {
        float number, middle;
        if (precision == CLF__PRECISION_BF16) {
            uint32_t bits[2] = {pattern << 16, pattern << 16 | 0x8000u};
            memcpy(&number, &bits[0], sizeof number);
            memcpy(&middle, &bits[1], sizeof middle);
        } else {
            int exponent = (int)(pattern >> 10 & 31u), fraction = (int)(pattern & 1023u);
            int steps = exponent == 0 ? fraction : fraction + 1024;
            double step = ldexp(pattern & 0x8000u ? -1.0 : 1.0, (exponent == 0 ? 1 : exponent) - 25);
            number = exponent < 31 ? (float)(steps * step) : fraction ? NAN : (float)(step * INFINITY);
            middle = exponent < 31 ? (float)((steps + 0.5) * step) : number;
        }
        float *four = values + (size_t)4 * pattern;
        four[0] = number;
        four[1] = middle;
        four[2] = nextafterf(middle, 0.0f);
        four[3] = nextafterf(middle, middle < 0 ? -INFINITY : INFINITY);
    }
    return values;
}

static float unpack(enum clf__precision precision, uint16_t bits)
{
    float value;
    uint32_t wide = (uint32_t)bits << 16;
    memcpy(&value, &wide, sizeof value);
    if (precision == CLF__PRECISION_FP16) {
        int exponent = bits >> 10 & 31, fraction = bits & 1023;
        double size = ldexp(exponent == 0 ? fraction : fraction + 1024, (exponent == 0 ? 1 : exponent) - 25);
        size = exponent < 31 ? size : fraction ? (double)NAN : (double)INFINITY;
        value = (float)(bits & 0x8000 ? -size : size);
    }
    return value;
}

static int is_same(float a, float b)
{
    return (isnan(a) && isnan(b)) || (a == b && !signbit(a) == !signbit(b));
}

/* weight_pack.c against the reference. */
static void weights_are_rounded_to_the_nearest(void **state)
{
    (void)state;
    struct clf_device *device = support_device_at(support_first_variant(), CLF_INSTRUCTIONS_PORTABLE);
    for (int p = 0; p < 2; p++) {
        int count = 4 * 65536, group = precisions[p] == CLF__PRECISION_BF16 ? 2 : 1;
        float *values = make_roundings(precisions[p]);
        for (int i = 0; precisions[p] == CLF__PRECISION_FP16 && i < count; i++) {
            values[i] =
                fabsf(values[i]) >= 65520.0f ? copysignf(INFINITY, values[i]) : values[i]; /* refused */
        }
        struct clf__weight *weight = make_weight_in(device, precisions[p], values, count, 1);
        struct clf__weight_layout layout = clf__weight_layout(weight);
        assert_int_equal(layout.group, group);
        assert_int_equal(clf__buffer_bytes(layout.buffer),
                         clf__weight_bytes(device, precisions[p], count, 1));
        uint16_t *packed = support_array((size_t)count * (size_t)group, sizeof *packed);
        assert_ok(clf__buffer_read(layout.buffer, 0, (size_t)count * (size_t)group * sizeof *packed, packed));
        for (int i = 0; i < count; i++) {
            float held = unpack(precisions[p], packed[i * group]);
            assert_true(is_same(held, reference_round(precisions[p], values[i])));
            assert_true(group == 1 || packed[i * group + 1] == 0);
        }
        clf__weight_free(weight);
        support_free_all();
    }
}

/* round_bf16.cl and the GPU variants' rounding: results of 1 times x. */
static void activations_are_rounded_to_the_nearest(void **state)
{
    (void)state;
    const float one = 1.0f;
    int step = support_small() ? 97 : 1;
    float *values = make_roundings(CLF__PRECISION_BF16);
    int count = 0;
    for (int i = 0; i < 4 * 65536; i += step) {
        values[count++] = values[i];
    }
    FOR_EACH_CASE(device, precision)
    {
        struct clf__weight *weight = make_weight_in(device, precision, &one, 1, 1);
        float *y = multiply(device, weight, values, count);
        for (int i = 0; i < count; i++) {
            float expected =
                rounds_operands(device, precision) ? reference_round(precision, values[i]) : values[i];
            if (isinf(expected) && isfinite(values[i]) && precision == CLF__PRECISION_FP16) {
                expected = copysignf(65504.0f, expected); /* cl/include/operand16.cl */
            }
            int may_vanish = fabsf(expected) < 0x1p-126f; /* devices may flush such values to zero */
            assert_true(y[i] == expected || (isnan(y[i]) && isnan(expected)) || (may_vanish && y[i] == 0));
        }
        clf__weight_free(weight);
    }
}

/* A copy gives the results of the original weight, and outlives it. */
static void copies_are_alike(void **state)
{
    (void)state;
    enum { ROWS = 3, INPUTS = 37, OUTPUTS = 45 };
    struct support_random random = {.state = 8};
    float *w = support_uniform_array(&random, OUTPUTS * INPUTS, 1.0f);
    float *x = support_uniform_array(&random, ROWS * INPUTS, 1.0f);
    FOR_EACH_CASE(device, precision)
    {
        struct clf__weight *copy = NULL, *weight = make_weight_in(device, precision, w, OUTPUTS, INPUTS);
        float *y = multiply(device, weight, x, ROWS);
        assert_ok(clf__weight_create_copy(&copy, weight, "a copy"));
        clf__weight_free(weight);
        assert_memory_equal(multiply(device, copy, x, ROWS), y, ROWS * OUTPUTS * sizeof *y);
        clf__weight_free(copy);
    }
}

/* Groups of pairs, zero beyond the last input. */
static void layout_is_as_said(void **state)
{
    (void)state;
    enum { INPUTS = 7, OUTPUTS = 45, PAIRS = 4 };
    struct support_random random = {.state = 6};
    float *w = support_uniform_array(&random, OUTPUTS * INPUTS, 1.0f);
    struct clf__weight *weight =
        make_weight_in(native_device(support_first_variant(), 0, CLF__PRECISION_BF16), CLF__PRECISION_BF16, w,
                       OUTPUTS, INPUTS);
    struct clf__weight_layout layout = clf__weight_layout(weight);
    assert_int_equal(layout.precision, CLF__PRECISION_BF16);
    assert_int_equal(clf__buffer_bytes(layout.buffer), 64 * PAIRS * 2 * sizeof(uint16_t));
    uint16_t *packed = support_array(64 * PAIRS * 2, sizeof *packed);
    assert_ok(clf__buffer_read(layout.buffer, 0, 64 * PAIRS * 2 * sizeof *packed, packed));
    for (int n = 0; n < 64; n++) {
        for (int k = 0; k < 2 * PAIRS; k++) {
            int at = (((n / layout.panel) * PAIRS + k / 2) * layout.panel + n % layout.panel) * 2 + k % 2;
            float expected =
                n < OUTPUTS && k < INPUTS ? reference_round(CLF__PRECISION_BF16, w[n * INPUTS + k]) : 0.0f;
            assert_true(unpack(CLF__PRECISION_BF16, packed[at]) == expected);
        }
    }
    clf__weight_free(weight);
}

static struct clf__matrix matrix_in(enum clf__precision precision, struct clf__tensor tensor)
{
    return clf__tensor_matrix(
        clf__tensor_as(tensor, precision == CLF__PRECISION_FP16 ? CLF__F16 : CLF__BF16));
}

/* The first `columns` of each row are `exact` rounded; everything else is unchanged. wide: fp32, whose memory
 * holds 16-bit numbers. */
static void check_rounded(enum clf__precision precision, struct clf__tensor wide, const float *exact,
                          int columns)
{
    const uint16_t *rounded = (const uint16_t *)support_read(wide);
    for (int i = 0; i < 2 * wide.rows * wide.columns; i++) {
        int row = i / wide.columns, column = i % wide.columns;
        if (row < wide.rows && column < columns) {
            assert_true(unpack(precision, rounded[i]) ==
                        reference_round(precision, exact[row * columns + column]));
        } else {
            assert_true(rounded[i] == (i % 2 ? 0x7fc0 : 0)); /* the poison's halves */
        }
    }
}

/* A 16-bit result is the fp32 result rounded, and gives equal bits as input of the next GEMM. */
static void rows_in_16_bits_pass_between_products(void **state)
{
    (void)state;
    enum { ROWS = 19, HIDDEN = 96, INPUTS = 31, OUTPUTS = 33, GAP = 8, WIDE = HIDDEN + GAP };
    struct support_random random = {.state = 21};
    float *x_values = support_uniform_array(&random, ROWS * INPUTS, 1.0f);
    float *up_values = support_uniform_array(&random, HIDDEN * INPUTS, 1.0f);
    float *down_values = support_uniform_array(&random, OUTPUTS * HIDDEN, 1.0f);
    FOR_EACH_CASE(device, precision)
    {
        struct clf__weight *up = make_weight_in(device, precision, up_values, HIDDEN, INPUTS);
        struct clf__weight *down = make_weight_in(device, precision, down_values, OUTPUTS, HIDDEN);
        struct clf__tensor x = support_tensor(device, CLF__F32, ROWS, INPUTS, x_values);
        struct clf__tensor hidden = support_tensor(device, CLF__F32, ROWS, HIDDEN, NULL);
        struct clf__tensor wide = support_tensor(device, CLF__F32, ROWS, WIDE, NULL);
        struct clf__tensor y = support_tensor(device, CLF__F32, ROWS, OUTPUTS, NULL);
        struct clf__matrix narrow = matrix_in(precision, wide);
        struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
        epilogue.activation = CLF__RELU;
        if (clf__gemm_operand(down) == CLF__PRECISION_FP32) {
            assert_fails(clf__gemm_weight(narrow, clf__tensor_matrix(x), ROWS, up, &epilogue),
                         CLF_BAD_ARGUMENT, "precisions");
            assert_fails(clf__gemm_weight(clf__tensor_matrix(y), narrow, ROWS, down, &epilogue),
                         CLF_BAD_ARGUMENT, "precisions");
        } else {
            assert_int_equal(clf__gemm_operand(down), precision);
            assert_ok(
                clf__gemm_weight(clf__tensor_matrix(hidden), clf__tensor_matrix(x), ROWS, up, &epilogue));
            assert_ok(clf__gemm_weight(narrow, clf__tensor_matrix(x), ROWS, up, &epilogue));
            float *exact = support_read(hidden);
            check_rounded(precision, wide, exact, HIDDEN);
            struct clf__tensor again = support_tensor(device, CLF__F32, ROWS, WIDE, NULL);
            assert_ok(clf__gemm_round(matrix_in(precision, again), clf__tensor_matrix(hidden), ROWS, HIDDEN));
            assert_ok(clf__gemm_round(matrix_in(precision, again), clf__tensor_matrix(hidden), 0, HIDDEN));
            check_rounded(precision, again, exact, HIDDEN);
            struct clf__tensor small = support_tensor(device, CLF__F32, ROWS / 2, WIDE, NULL);
            assert_fails(
                clf__gemm_round(matrix_in(precision, small), clf__tensor_matrix(hidden), ROWS, HIDDEN),
                CLF_BAD_ARGUMENT, "rounded operand");
            assert_fails(
                clf__gemm_round(matrix_in(precision, again), clf__tensor_matrix(small), ROWS, HIDDEN),
                CLF_BAD_ARGUMENT, "operand");
            assert_ok(clf__gemm_weight(clf__tensor_matrix(y), narrow, ROWS, down, &epilogue));
            float *from_bf16 = support_read(y);
            assert_ok(
                clf__gemm_weight(clf__tensor_matrix(y), clf__tensor_matrix(hidden), ROWS, down, &epilogue));
            assert_memory_equal(from_bf16, support_read(y), ROWS * OUTPUTS * sizeof *from_bf16);
            narrow.offset = 1; /* pairs would be torn */
            assert_fails(clf__gemm_weight(clf__tensor_matrix(y), narrow, ROWS, down, &epilogue),
                         CLF_BAD_ARGUMENT, "precisions");
        }
        clf__weight_free(up);
        clf__weight_free(down);
    }
}

static void failures_are_told(void **state)
{
    (void)state;
    check_failures(CLF__PRECISION_BF16, 3, 200);
}

/* A finite weight is not silently rounded to infinity. */
static void too_large_weights_are_refused(void **state)
{
    (void)state;
    const float w[] = {1.0f, -65536.0f, INFINITY};
    struct clf__weight_part part = {w, 1};
    struct clf__weight_source source = {&part, 1, 3, CLF__PRECISION_FP16, "a large weight"};
    struct clf__weight *weight = NULL;
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    assert_fails(clf__weight_create(&weight, device, &source), CLF_UNSUPPORTED,
                 "a large weight: a weight is -65536");
    source.precision = CLF__PRECISION_BF16;
    assert_ok(clf__weight_create(&weight, device, &source));
    clf__weight_free(weight);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(shapes, support_teardown),
        cmocka_unit_test_teardown(bits_do_not_depend_on_the_batch, support_teardown),
        cmocka_unit_test_teardown(not_finite_values_stay_where_they_are, support_teardown),
        cmocka_unit_test_teardown(stored_bits_are_those_of_rounded_weights, support_teardown),
        cmocka_unit_test_teardown(bits_do_not_depend_on_slices, support_teardown),
        cmocka_unit_test_teardown(weights_are_rounded_to_the_nearest, support_teardown),
        cmocka_unit_test_teardown(activations_are_rounded_to_the_nearest, support_teardown),
        cmocka_unit_test_teardown(copies_are_alike, support_teardown),
        cmocka_unit_test_teardown(layout_is_as_said, support_teardown),
        cmocka_unit_test_teardown(rows_in_16_bits_pass_between_products, support_teardown),
        cmocka_unit_test_teardown(too_large_weights_are_refused, support_teardown),
        cmocka_unit_test_teardown(failures_are_told, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
