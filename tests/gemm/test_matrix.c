/* GEMM with matrix instructions (emulated if the device has none): equal bits for any number of rows and tile
 * size. Other properties are tested with the other variants in test_precision.c and test_int8.c. */
#include "base/memory.h"
#include "gemm/check.h"
#include "runtime/device/buffer.h"
#include "runtime/device/caps.h"
#include "runtime/device/device.h"

static float *multiply_rows(const struct clf__weight *weight, const float *x, int rows, unsigned units)
{
    struct clf_device *device = support_matrix_device();
    unsigned before = set_units(device, units);
    float *y = multiply(device, weight, x, rows);
    set_units(device, before);
    return y;
}

/* One row, a tile of the instructions, and more than one group's tile of each size. is_few: only of the
 * largest size, and the kernel for few rows. */
static void check_rows(enum clf__precision precision, int inputs, int is_few)
{
    enum { ROWS = 512, OUTPUTS = 72 };
    static const int counts[] = {16, 64, ROWS};
    /* For 512 rows: from the largest tile to the smallest and the kernel for few rows. */
    static const unsigned units[] = {1, 9, 30, 100, 100000};
    int outputs = support_small() ? 40 : OUTPUTS;
    size_t sizes = sizeof units / sizeof *units;
    struct support_random random = {.state = 12};
    float *x = support_uniform_array(&random, ROWS * (size_t)inputs, 1.0f);
    float *w = support_uniform_array(&random, OUTPUTS * (size_t)inputs, 1.0f);
    struct clf__weight *weight = make_weight_in(support_matrix_device(), precision, w, outputs, inputs);
    size_t row_bytes = (size_t)outputs * sizeof(float);
    float *all = multiply_rows(weight, x, ROWS, 1);
    for (int i = 0; i < 3; i += is_few ? 2 : 1) {
        for (size_t u = 0; u < sizes; u += is_few ? sizes - 1 : 1) {
            float *y = multiply_rows(weight, x, counts[i], units[u]);
            assert_memory_equal(y, all, (size_t)counts[i] * row_bytes);
        }
    }
    for (int row = 0; row < ROWS; row += 37) {
        float *y = multiply_rows(weight, x + row * inputs, 1, 1);
        assert_memory_equal(y, all + row * outputs, row_bytes);
    }
    clf__weight_free(weight);
}

static void bits_do_not_depend_on_rows_or_tiles(void **state)
{
    (void)state;
    int is_few = support_small();
    check_rows(CLF__PRECISION_FP16, 70, 0); /* one chunk of K */
    /* Several chunks, the last one partial. */
    check_rows(CLF__PRECISION_FP16, 600, is_few);
    check_rows(CLF__PRECISION_BF16, 600, is_few);
    check_rows(CLF__PRECISION_INT8, 1100, is_few);
}

/* A level that the driver's compiler does not know is not tried: the compiler might crash. */
static void unknown_levels_are_refused(void **state)
{
    (void)state;
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.variant = CLF_VARIANT_GPU;
    int has_level =
        clf_device_describe(support_device(CLF_VARIANT_GPU))->instructions >= CLF_INSTRUCTIONS_NV80;
    for (int level = CLF_INSTRUCTIONS_NV80; level < CLF_INSTRUCTIONS_EMULATED && !has_level; level++) {
        struct clf_device *device = NULL;
        options.instructions = (clf_instructions)level;
        assert_fails(clf_device_open(&device, NULL, &options), CLF_UNSUPPORTED, clf__level_words[level]);
    }
    options.variant = CLF_VARIANT_CPU; /* which has none */
    options.instructions = CLF_INSTRUCTIONS_EMULATED;
    struct clf_device *device = NULL;
    assert_fails(clf_device_open(&device, NULL, &options), CLF_UNSUPPORTED,
                 "does not support the requested instructions emulated");
}

/* The device reports its level, and a GEMM with rows of whole slices reads 16-bit operands. */
static void level_is_reported(void **state)
{
    (void)state;
    struct clf_device *device = support_matrix_device();
    assert_true(clf_device_describe(device)->instructions >= CLF_INSTRUCTIONS_NV80);
    assert_true(clf__caps_have_matrix(clf__device_caps(device)));
    const float one = 1.0f;
    struct clf__weight *weight = make_weight_in(device, CLF__PRECISION_FP16, &one, 1, 1);
    assert_int_equal(clf__gemm_operand(weight), CLF__PRECISION_FP32); /* its rows are not whole slices */
    clf__weight_free(weight);
}

int main(void)
{
    if (support_last_variant() == CLF_VARIANT_CPU) {
        return 0; /* only GPUs have such instructions, and $CLFORMER_VARIANT excludes them */
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_do_not_depend_on_rows_or_tiles),
        cmocka_unit_test(unknown_levels_are_refused),
        cmocka_unit_test(level_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
