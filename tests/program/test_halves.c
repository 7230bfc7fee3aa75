/* Loading and storing halves in the CPU variant's prelude: all values, with the processor's instruction and
 * without. */
#include <math.h>

#include "base/half.h"
#include "runtime/program/launch.h"
#include "runtime/program/testing.h"
#include "support/support.h"

enum { HALVES = 1 << 16 };

/* y (2, 65536) = x by eights and by sixteens, and back = y[0]. */
static const char source[] =
    "CPU_KERNEL void halves(__global float *y, __global half *back, const __global half *x, int count)\n"
    "{\n"
    "    for (int i = 0; i < count; i += 16) {\n"
    "        float16 value = vload_half16(i / 16, x);\n"
    "        vstore8(load_half8(x + i), i / 8, y);\n"
    "        vstore8(load_half8(x + i + 8), i / 8 + 1, y);\n"
    "        vstore16(value, i / 16, y + count);\n"
    "        store_half16(value, back + i);\n"
    "    }\n"
    "}\n";

static void check(struct clf_device *device, const char *defines)
{
    float *all = support_array(HALVES, sizeof *all);
    for (int i = 0; i < HALVES; i++) {
        all[i] = clf__float_of_fp16((uint16_t)i);
    }
    struct clf__tensor x = support_tensor(device, CLF__F16, 1, HALVES, all);
    struct clf__tensor back = support_tensor(device, CLF__F16, 1, HALVES, NULL);
    struct clf__tensor y = support_tensor(device, CLF__F32, 2, HALVES, NULL);
    const struct clf__argument arguments[] = {CLF__BUFFER(y.buffer), CLF__BUFFER(back.buffer),
                                              CLF__BUFFER(x.buffer), CLF__INT(HALVES)};
    const struct clf__launch launch = {
        .program = "halves", .defines = defines, .cpu = CLF__GRID("halves", 1), CLF__ARGUMENTS(arguments)};
    assert_ok(clf__launch(device, &launch));
    const float *loaded = support_read(y), *stored = support_read(back);
    for (int i = 0; i < HALVES; i++) {
        const float found[] = {loaded[i], loaded[HALVES + i], stored[i]};
        for (int n = 0; n < 3; n++) {
            assert_true(isnan(all[i]) ? isnan(found[n])
                                      : found[n] == all[i] && !signbit(found[n]) == !signbit(all[i]));
        }
    }
}

static void every_half_is_its_float(void **state)
{
    (void)state;
    if (support_first_variant() != CLF_VARIANT_CPU) {
        skip();
    }
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.variant = CLF_VARIANT_CPU;
    options.use_program_cache = 0;
    struct clf_device *device;
    assert_ok(clf_device_open(&device, NULL, &options));
    assert_ok(clf__program_add_source(device, "halves", source));
    check(device, NULL);
    check(device, "-DWITHOUT_F16C"); /* as on a processor without the instruction */
    support_free_all();
    clf_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_half_is_its_float, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
