/* GEMM with Intel's matrix instructions, whose functions cl/include/matrix_dpas_emulated.cl emulates: the
 * assignment of elements to lanes. Sums of small integers are exact. */
#define _GNU_SOURCE
#include "gemm/check.h"
#include "open/matrix_gpu.h"
#include "runtime/device/device.h"

enum { OUTPUTS = 72, MOST_ROWS = 130 };

static float number_of(int row, int k)
{
    return (float)((5 * row + 3 * k + row * k) % 7 - 3);
}

static float *numbers_of(int rows, int inputs)
{
    float *numbers = support_array((size_t)rows * (size_t)inputs, sizeof *numbers);
    for (int i = 0; i < rows * inputs; i++) {
        numbers[i] = number_of(i / inputs, i % inputs);
    }
    return numbers;
}

static struct clf_device *open_level(clf_instructions level)
{
    struct clf_device *device = NULL;
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.variant = CLF_VARIANT_GPU;
    options.gemm = CLF_GEMM_NATIVE;
    options.instructions = level;
    setenv("TEST_LANES", level == CLF_INSTRUCTIONS_DPAS8 ? "8" : "16", 1);
    assert_ok(clf_device_open(&device, "0", &options)); /* the probe multiplies a tile in each precision */
    assert_int_equal(device->caps.level->name, level);
    return device;
}

static void check_rows(struct clf_device *device, enum clf__precision precision, int inputs, int first,
                       int rows)
{
    float *x = numbers_of(MOST_ROWS, inputs), *w = numbers_of(OUTPUTS, inputs);
    struct clf__weight *weight = make_weight_in(device, precision, w, OUTPUTS, inputs);
    float *y = multiply(device, weight, x + first * inputs, rows);
    for (int i = 0; i < rows * OUTPUTS; i++) {
        float sum = 0.0f;
        for (int k = 0; k < inputs; k++) {
            sum += number_of(first + i / OUTPUTS, k) * number_of(i % OUTPUTS, k);
        }
        if (precision != CLF__PRECISION_INT8) {
            assert_true(y[i] == sum);
        } else { /* the scales are rounded */
            assert_true(fabsf(y[i] - sum) <= 0.05f * (float)inputs);
        }
    }
    clf__weight_free(weight);
    support_free_all();
}

/* One chunk of K in tiles of both sizes and in few rows, several chunks in tiles. The emulation cannot do
 * several chunks in few rows, which warps compute independently. */
static void check_level(clf_instructions level)
{
    struct clf_device *device = open_level(level);
    for (int precision = CLF__PRECISION_FP16; precision <= CLF__PRECISION_INT8; precision++) {
        check_rows(device, (enum clf__precision)precision, 40, 3, 1);
        check_rows(device, (enum clf__precision)precision, 200, 1, 11);
        check_rows(device, (enum clf__precision)precision, 100, 0, MOST_ROWS);
        if (!support_small() || precision == CLF__PRECISION_FP16) {
            check_rows(device, (enum clf__precision)precision, 1100, 0, 37);
        }
    }
    clf_device_close(device);
}

static void test_sub_groups_of_8(void **state)
{
    (void)state;
    check_level(CLF_INSTRUCTIONS_DPAS8);
}

static void test_sub_groups_of_16(void **state)
{
    (void)state;
    check_level(CLF_INSTRUCTIONS_DPAS16);
}

/* A level needs the extension and its sub-group size. */
static void test_other_devices(void **state)
{
    (void)state;
    static const struct {
        const char *vendor, *lanes;
        clf_instructions level;
    } cases[] = {{"intel", "16", CLF_INSTRUCTIONS_DPAS8},
                 {"intel", "8", CLF_INSTRUCTIONS_DPAS16},
                 {"intel", "32", CLF_INSTRUCTIONS_DPAS16},
                 {"amd", "8", CLF_INSTRUCTIONS_DPAS8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clf_device *device = NULL;
        struct clf_device_options options;
        clf_device_options_init(&options);
        options.instructions = cases[i].level;
        setenv("TEST_VENDOR", cases[i].vendor, 1);
        setenv("TEST_LANES", cases[i].lanes, 1);
        assert_fails(clf_device_open(&device, "0", &options), CLF_UNSUPPORTED,
                     clf__level_words[cases[i].level]);
    }
    setenv("TEST_VENDOR", "intel", 1);
}

int main(void)
{
    struct clf_device_list *list;
    assert_ok(clf_device_list_create(&list));
    int is_pocl = clf_device_list_count(list) > 0 && strstr(clf_device_list_at(list, 0)->version, "PoCL");
    clf_device_list_free(list);
    if (!is_pocl) {
        return 0; /* the replacements fit PoCL */
    }
    unsetenv("CLFORMER_VARIANT");
    unsetenv("CLFORMER_INSTRUCTIONS");
    setenv("TEST_VENDOR", "intel", 1);
    setenv("CLFORMER_WITHOUT", "check", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sub_groups_of_8),
        cmocka_unit_test(test_sub_groups_of_16),
        cmocka_unit_test(test_other_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
