/* Group reductions of the prelude: the documented tree, bit for bit, with and without sub-groups. */
#include <math.h>
#include <string.h>

#include "runtime/device/buffer.h"
#include "runtime/device/queue.h"
#include "runtime/program/launch.h"
#include "runtime/program/testing.h"
#include "support/support.h"

/* y (3, GROUP) of each group = the sum, the maximum, and the sum of squares, as every work-item got them. */
/* Local memory is a parameter: PoCL 3.1 crashes with an array of 256 here. */
static const char source[] =
    "GPU_KERNEL void reduce(__global float *y, const __global float *x, __local float *shared)\n"
    "{\n"
    "    int item = get_local_id(0), group = get_group_id(0);\n"
    "    float value = x[group * GROUP + item];\n"
    "    y += group * 3 * GROUP + item;\n"
    "    y[0] = group_sum(shared, value);\n"
    "    y[GROUP] = group_max(shared, value);\n"
    "    y[2 * GROUP] = group_sum(shared, value * value);\n"
    "}\n"
    "#ifdef PASS_VALUE\n"
    "GPU_KERNEL void with_sub_groups(void) {}\n"
    "#endif\n";

enum { GROUPS = 5 };

static float tree_sum(const float *values, int items, int squared)
{
    float sums[CLF__LONG_GROUP];
    for (int i = 0; i < items; i++) {
        sums[i] = squared ? values[i] * values[i] : values[i];
    }
    for (int distance = items / 2; distance > 0; distance /= 2) {
        for (int i = 0; i < distance; i++) {
            sums[i] += sums[i + distance];
        }
    }
    return sums[0];
}

static float largest_of(const float *values, int items)
{
    float largest = -INFINITY;
    for (int i = 0; i < items; i++) {
        largest = fmaxf(largest, values[i]);
    }
    return largest;
}

static void assert_all(const float *actual, int items, float expected)
{
    for (int i = 0; i < items; i++) {
        assert_memory_equal(&actual[i], &expected, sizeof expected);
    }
}

static void check(struct clf_device *device, int items, const char *defines)
{
    struct support_random random = {.state = 3};
    float *values = support_uniform_array(&random, GROUPS * (size_t)items, 100.0f);
    values[1] = NAN; /* in the first group, whose maximum ignores it */
    values[items] = INFINITY;
    struct clf__tensor x = support_tensor(device, CLF__F32, GROUPS, items, values);
    struct clf__tensor y = support_tensor(device, CLF__F32, GROUPS, 3 * items, NULL);
    const struct clf__argument arguments[] = {CLF__BUFFER(y.buffer), CLF__BUFFER(x.buffer),
                                              CLF__LOCAL((size_t)items * sizeof(float))};
    struct clf__launch launch = {.program = "reduce",
                                 .defines = defines,
                                 CLF__ON_BOTH("reduce", {GROUPS}, {(size_t)items}),
                                 .arguments = arguments,
                                 .argument_count = 3};
    assert_ok(clf__launch(device, &launch));
    const float *answer = support_read(y);
    for (int g = 0; g < GROUPS; g++, answer += 3 * items, values += items) {
        assert_all(answer + items, items, largest_of(values, items));
        for (int i = 0; g == 0 && i < items; i++) {
            assert_true(isnan(answer[i]) && isnan(answer[2 * items + i]));
        }
        if (g > 0) {
            assert_all(answer, items, tree_sum(values, items, 0));
            assert_all(answer + 2 * items, items, tree_sum(values, items, 1));
        }
    }
}

static void the_same_tree_everywhere(void **state)
{
    (void)state;
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.variant = CLF_VARIANT_GPU;
    options.use_program_cache = 0;
    struct clf_device *device;
    assert_ok(clf_device_open(&device, NULL, &options));
    assert_ok(clf__program_add_source(device, "reduce", source));
    check(device, CLF__GROUP, NULL);
    /* Only through local memory, as on a device without sub-groups. */
    check(device, CLF__GROUP, "-DWITHOUT_SUBGROUPS");
    if (clf__device_caps(device)->max_work_group >= CLF__LONG_GROUP) {
        check(device, CLF__LONG_GROUP, CLF__LONG_GROUP_DEFINE);
        check(device, CLF__LONG_GROUP, CLF__LONG_GROUP_DEFINE " -DWITHOUT_SUBGROUPS");
    }
    support_free_all();
    clf_device_close(device);
}

/* If a device reports sub-groups, they are used. */
static void sub_groups_are_used(void **state)
{
    (void)state;
    struct clf_device *device;
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.variant = CLF_VARIANT_GPU;
    options.use_program_cache = 0;
    assert_ok(clf_device_open(&device, NULL, &options));
    if (!clf_device_describe(device)->has_subgroups) {
        clf_device_close(device);
        skip();
    }
    assert_ok(clf__program_add_source(device, "reduce", source));
    struct clf__launch launch = {.program = "reduce", CLF__ON_BOTH("with_sub_groups", {1}, {CLF__GROUP})};
    assert_ok(clf__launch(device, &launch));
    assert_ok(clf__device_finish(device));
    clf_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_same_tree_everywhere, support_teardown),
        cmocka_unit_test(sub_groups_are_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
