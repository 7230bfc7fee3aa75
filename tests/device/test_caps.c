/* Device features that programs are built with, and those disabled by $CLFORMER_WITHOUT. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/device/buffer.h"
#include "runtime/device/caps.h"
#include "runtime/device/device.h"
#include "runtime/opencl/listed_device.h"
#include "runtime/program/program.h"
#include "support/support.h"

/* A GPU with every feature. */
static struct clf__listed_device make_card(void)
{
    return (struct clf__listed_device){
        .info = {.name = "a card",
                 .kind = CLF_DEVICE_GPU,
                 .variant = CLF_VARIANT_GPU,
                 .local_memory_bytes = 65536,
                 .has_subgroups = 1,
                 .has_integer_dot_product = 1},
        .max_work_group = 1024,
        .has_device_atomics = 1,
        .has_exact_division = 1,
        .has_fast_dot = 1,
    };
}

/* The build options of a GPU, freed by support_free_all(), and its capabilities. */
static const char *choose(struct clf__caps *caps, const struct clf__listed_device *card, const char *without)
{
    struct clf_device_options options;
    clf_device_options_init(&options);
    char *text = NULL;
    setenv("CLFORMER_WITHOUT", without, 1);
    assert_ok(clf__caps_choose(caps, card, &options));
    unsetenv("CLFORMER_WITHOUT");
    assert_ok(clf__caps_build_options(&text, card, caps));
    char *copy = support_array(strlen(text) + 1, 1);
    strcpy(copy, text);
    clf__free(text);
    return copy;
}

static void test_features_are_turned_off(void **state)
{
    (void)state;
    static const struct {
        const char *without, *option;
    } cases[] = {{"subgroups", " -DHAS_SUBGROUPS"},
                 {"dot", " -DHAS_INTEGER_DOT_PRODUCT"},
                 {"exact-division", " -cl-fp32-correctly-rounded-divide-sqrt"},
                 {"atomics", " -DHAS_DEVICE_ATOMICS"}};
    enum { CASES = sizeof cases / sizeof *cases };
    const struct clf__listed_device card = make_card();
    struct clf__caps caps;
    for (int off = -1; off < CASES; off++) {
        const char *options = choose(&caps, &card, off < 0 ? "" : cases[off].without);
        for (int i = 0; i < CASES; i++) {
            assert_int_equal(strstr(options, cases[i].option) == NULL, i == off);
        }
        assert_non_null(strstr(options, "-cl-std=CL3.0"));
        assert_int_equal(caps.max_work_group, 1024);
    }
    /* Nothing is left that needs the newer language. */
    assert_non_null(strstr(choose(&caps, &card, "subgroups,dot,atomics"), "-cl-std=CL1.2"));
    assert_null(strstr(choose(&caps, &card, "atomics"), "HAS_FENCED_ATOMICS")); /* not without a trial */
    choose(&caps, &card, "long-groups");
    assert_int_equal(caps.max_work_group, CLF__TILE_GROUP);
}

/* Dot products that the driver emulates are not used; NVIDIA's instruction needs no extension. */
static void test_emulated_dot_products(void **state)
{
    (void)state;
    struct clf__listed_device card = make_card();
    struct clf__caps caps;
    card.has_fast_dot = 0;
    assert_null(strstr(choose(&caps, &card, ""), "DOT_PRODUCT"));
    assert_int_equal(caps.has_integer_dot_product, 0);
    card.info.has_integer_dot_product = 0;
    card.has_dp4a = 1;
    assert_non_null(strstr(choose(&caps, &card, ""), "-DHAS_DP4A"));
    assert_int_equal(caps.has_integer_dot_product, 1);
}

/* Free memory of a discrete GPU, and of an integrated one. */
static void test_usable_memory(void **state)
{
    (void)state;
    struct clf__listed_device card = make_card();
    struct clf__caps caps;
    const uint64_t huge = (uint64_t)1 << 50;
    card.info.memory_bytes = huge;
    choose(&caps, &card, "");
    assert_true(caps.usable_bytes == huge && caps.memory_bytes == huge);
    card.free_bytes = 12345678;
    choose(&caps, &card, "");
    assert_true(caps.usable_bytes == 12345678 && caps.memory_bytes == huge);
    card.free_bytes = 0;
    card.info.shares_memory = 1;
    choose(&caps, &card, "");
    assert_true(caps.usable_bytes < huge && caps.usable_bytes > 0);
    card.info.memory_bytes = 4096;
    choose(&caps, &card, "");
    assert_int_equal(caps.usable_bytes, 4096);
    card.info.memory_bytes = huge;
    card.info.kind = CLF_DEVICE_CPU; /* its memory can be swapped */
    choose(&caps, &card, "");
    assert_true(caps.usable_bytes == huge);
}

static clf_status open_without(struct clf_device **out, const char *without)
{
    struct clf_device_options options;
    clf_device_options_init(&options);
    setenv("CLFORMER_WITHOUT", without, 1);
    clf_status status = clf_device_open(out, NULL, &options);
    unsetenv("CLFORMER_WITHOUT");
    return status;
}

/* Buffers beyond the initial free memory are rejected. */
static void test_free_bytes(void **state)
{
    (void)state;
    struct clf_device *device;
    struct clf__buffer *buffer, *other;
    assert_ok(open_without(&device, ""));
    device->caps.usable_bytes = 100000;
    assert_int_equal(clf__device_free_bytes(device), 100000);
    assert_ok(clf__buffer_create(&buffer, device, 60000, "half"));
    assert_fails(clf__buffer_create(&other, device, 60000, "the other half"), CLF_DEVICE_MEMORY,
                 "free at the start 100000, in use 60000); ");
    clf__buffer_free(buffer);
    clf_device_close(device);
}

static void test_open_device(void **state)
{
    (void)state;
    struct clf_device *device;
    assert_fails(open_without(&device, "dots"), CLF_BAD_ARGUMENT, "\"dots\"");
    assert_ok(open_without(&device, "dot,cache"));
    assert_int_equal(clf_device_describe(device)->has_dot_int8, 0);
    assert_int_equal(clf_device_describe(device)->has_dot_bf16, 0);
    assert_null(device->programs->cache.folder);
    clf_device_close(device);
}

/* Steps are pipelined with GPU kernels, unless the tuning or the environment says otherwise. */
static void test_pipelined_steps(void **state)
{
    (void)state;
    struct clf__listed_device card = make_card();
    struct clf__caps caps;
    choose(&caps, &card, "");
    for (int tuned = 0; tuned <= 2; tuned++) {
        caps.tuning.values[CLF__TUNABLE_PIPELINED_STEPS] = tuned;
        caps.variant = CLF_VARIANT_GPU;
        assert_int_equal(clf__caps_pipelined_steps(&caps), tuned == 1 ? 1 : 2);
        caps.variant = CLF_VARIANT_CPU;
        assert_int_equal(clf__caps_pipelined_steps(&caps), tuned == 2 ? 2 : 1);
    }
    choose(&caps, &card, "pipeline");
    caps.tuning.values[CLF__TUNABLE_PIPELINED_STEPS] = 2;
    assert_int_equal(clf__caps_pipelined_steps(&caps), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_features_are_turned_off, support_teardown),
        cmocka_unit_test_teardown(test_usable_memory, support_teardown),
        cmocka_unit_test_teardown(test_free_bytes, support_teardown),
        cmocka_unit_test_teardown(test_emulated_dot_products, support_teardown),
        cmocka_unit_test_teardown(test_open_device, support_teardown),
        cmocka_unit_test_teardown(test_pipelined_steps, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
