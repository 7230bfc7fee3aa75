/* Kernels with each kind of argument, buffers, and error messages. */
#include <math.h>
#include <string.h>

#include <clformer/log.h>

#include "runtime/device/buffer.h"
#include "runtime/device/caps.h"
#include "runtime/program/launch.h"
#include "runtime/program/testing.h"
#include "support/support.h"

static const char arguments_source[] =
    "__kernel void arguments(__global float *y, const __global float *x, int n, float scale, local float "
    "*s)\n"
    "{\n"
    "    int i = get_global_id(0) + get_global_size(0) * (get_global_id(1) + get_global_size(1) * "
    "get_global_id(2));\n"
    "    s[get_local_id(0)] = x ? x[i] : (float)i;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    y[i] = scale * s[get_local_size(0) - 1 - get_local_id(0)] + n;\n"
    "}\n"
    "#ifdef WIDTH\n"
    "__kernel void defined(__global float *y) { y[0] = WIDTH; }\n"
    "#endif\n";

static struct clf_device *open_with(const char *name, const char *source)
{
    struct clf_device *device;
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.use_program_cache = 0;
    options.variant = CLF_VARIANT_CPU; /* on a CPU a group is one work-item by default */
    assert_ok(clf_device_open(&device, NULL, &options));
    assert_ok(clf__program_add_source(device, name, source));
    return device;
}

static void run_arguments(struct clf_device *device, const struct clf__buffer *y, const struct clf__buffer *x,
                          size_t local)
{
    struct clf__argument arguments[] = {CLF__BUFFER(y),
                                        CLF__BUFFER(x),
                                        CLF__INT(-7),
                                        CLF__FLOAT(0.5f),
                                        {.kind = CLF__ARGUMENT_LOCAL, .bytes = 4 * sizeof(float)}};
    struct clf__launch launch = {.program = "arguments_of_test",
                                 CLF__ON_BOTH("arguments", {3, 2, 2}, {local}),
                                 .arguments = arguments,
                                 .argument_count = 5};
    assert_ok(clf__launch(device, &launch));
}

static void test_arguments(void **state)
{
    (void)state;
    enum { N = 4 * 3 * 2 * 2 };
    struct clf_device *device = open_with("arguments_of_test", arguments_source);
    struct clf__buffer *y, *x;
    float input[N], output[N];
    for (int i = 0; i < N; i++) {
        input[i] = (float)(i * i);
    }
    assert_ok(clf__buffer_create(&y, device, sizeof output, "the output"));
    assert_ok(clf__buffer_create(&x, device, sizeof input, "the input"));
    assert_int_equal(clf__buffer_bytes(y), sizeof output);
    assert_ptr_equal(clf__buffer_device(y), device);
    assert_ok(clf__buffer_write(x, 0, sizeof input, input));
    for (int has_input = 0; has_input < 2; has_input++) {
        assert_ok(clf__buffer_fill(y, 0, sizeof output, NAN));
        run_arguments(device, y, has_input ? x : NULL, 4);
        assert_ok(clf__buffer_read(y, 0, sizeof output, output));
        for (int i = 0; i < N; i++) {
            int j = i / 4 * 4 + 3 - i % 4; /* the group's work-items reversed */
            assert_true(output[i] == 0.5f * (has_input ? input[j] : (float)j) - 7.0f);
        }
    }
    assert_ok(clf__buffer_fill(y, 0, sizeof output, NAN));
    run_arguments(device, y, x, 0); /* no local size means one work-item per group */
    assert_ok(clf__buffer_read(y, 0, sizeof output, output));
    for (int i = 0; i < N; i++) {
        assert_true(i < 12 ? output[i] == 0.5f * input[i] - 7.0f : isnan(output[i]));
    }
    clf__buffer_free(x);
    clf__buffer_free(y);
    clf__buffer_free(NULL);
    clf_device_close(device);
}

/* Each set of defines is a separate program. */
static void test_defines(void **state)
{
    (void)state;
    struct clf_device *device = open_with("arguments_of_test", arguments_source);
    struct clf__buffer *y;
    assert_ok(clf__buffer_create(&y, device, sizeof(float), "the output"));
    struct clf__argument arguments[] = {CLF__BUFFER(y)};
    struct clf__launch launch = {.program = "arguments_of_test",
                                 CLF__ON_BOTH("defined", {1}, {1}),
                                 .arguments = arguments,
                                 .argument_count = 1};
    static const char *const defines[] = {"-DWIDTH=3", "-DWIDTH=5", "-DWIDTH=3"};
    static const float widths[] = {3, 5, 3};
    int built, loaded, built_before;
    clf__program_counts(device, &built_before, &loaded);
    for (int i = 0; i < 3; i++) {
        float width = 0;
        launch.defines = defines[i];
        assert_ok(clf__launch(device, &launch));
        assert_ok(clf__buffer_read(y, 0, sizeof width, &width));
        assert_true(width == widths[i]);
    }
    clf__program_counts(device, &built, &loaded);
    assert_int_equal(built - built_before, 2);
    assert_int_equal(loaded, 0);
    clf__buffer_free(y);
    clf_device_close(device);
}

static void test_copies(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        struct clf__buffer *a, *b;
        float values[8] = {0, 1, 2, 3, 4, 5, 6, 7}, back[8] = {0};
        assert_ok(clf__buffer_create(&a, device, sizeof values, "a"));
        assert_ok(clf__buffer_create(&b, device, sizeof values, "b"));
        assert_ok(clf__buffer_write(a, 0, sizeof values, values));
        assert_ok(clf__buffer_fill(b, 0, sizeof values, -1.0f));
        assert_ok(clf__buffer_copy(b, 2 * sizeof(float), a, 5 * sizeof(float), 3 * sizeof(float)));
        assert_ok(clf__buffer_fill(b, 6 * sizeof(float), sizeof(float), 9.5f));
        assert_ok(clf__buffer_write(b, 7 * sizeof(float), sizeof(float), &values[1]));
        assert_ok(clf__buffer_read(b, 0, sizeof back, back));
        static const float expected[8] = {-1, -1, 5, 6, 7, -1, 9.5f, 1};
        assert_memory_equal(back, expected, sizeof back);
        /* An empty transfer completes at once, at any position. */
        assert_ok(clf__buffer_write(a, sizeof values, 0, NULL));
        assert_ok(clf__buffer_read(a, sizeof values, 0, NULL));
        assert_ok(clf__buffer_copy(b, 0, a, 0, 0));
        assert_ok(clf__buffer_fill(a, 0, 0, 1.0f));
        assert_fails(clf__buffer_write(a, sizeof values, 4, values), CLF_DEVICE,
                     "write 4 bytes at 32 of a (32 bytes)");
        assert_fails(clf__buffer_read(a, 4, sizeof values, back), CLF_DEVICE, "CL_INVALID_VALUE (-30)");
        clf__buffer_free(a);
        clf__buffer_free(b);
    }
}

static void test_too_large(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        struct clf__buffer *buffer = NULL;
        const struct clf__caps *caps = clf__device_caps(device);
        size_t bytes = (size_t)caps->max_buffer_bytes + 1;
        assert_fails(clf__buffer_create(&buffer, device, bytes, "the memory of all tokens"),
                     CLF_DEVICE_MEMORY, "the memory of all tokens: needs ");
        assert_non_null(strstr(clf_last_error(), "; use smaller batches, or use a device with more memory"));
        assert_fails(clf__buffer_create_streamed(&buffer, device, bytes, "the embedding's weight"),
                     CLF_DEVICE_MEMORY, "(--precision fp16 or int8), or use a device with more memory");
        assert_fails(clf__buffer_create(&buffer, device, SIZE_MAX, "everything"), CLF_DEVICE_MEMORY,
                     clf_device_describe(device)->name);
        clf__device_fail_at(1); /* the driver rejects a size that passed the check */
        assert_fails(clf__buffer_create(&buffer, device, 64, "a few bytes"), CLF_DEVICE_MEMORY,
                     "CL_OUT_OF_HOST_MEMORY");
        clf__device_fail_at(0);
        assert_null(buffer);
    }
}

static char *logged;
static void keep_log(clf_log_level level, const char *message, void *user)
{
    (void)user;
    if (level == CLF_LOG_DEBUG) {
        logged = support_array(strlen(message) + 1, 1);
        strcpy(logged, message);
    }
}

static void test_build_failure(void **state)
{
    (void)state;
    struct clf_device *device = open_with("broken", "__kernel void fine(void) {}\n"
                                                    "__kernel void broken(__global float *y)\n"
                                                    "{\n"
                                                    "    y[0] = nothing_of_this_name;\n"
                                                    "}\n");
    struct clf__launch launch = {
        .program = "broken", CLF__ON_BOTH("fine", {1}, {1}), .defines = "-DUNUSED=1"};
    clf_log_set(keep_log, NULL);
    assert_fails(clf__launch(device, &launch), CLF_BUILD, "cannot compile program broken");
    clf_log_set(NULL, NULL);
    assert_non_null(strstr(clf_last_error(), clf_device_describe(device)->name));
    assert_non_null(logged);
    assert_non_null(strstr(logged, "-DUNUSED=1"));
    assert_non_null(strstr(logged, "nothing_of_this_name"));
    /* Oclgrind and NVIDIA's compiler do not support #line. */
    if (strstr(clf_device_describe(device)->name, "Oclgrind") == NULL &&
        strstr(clf_last_error(), "<kernel>:") == NULL) {
        assert_non_null(strstr(clf_last_error(), "cl/broken:4:"));
    }
    assert_fails(clf__launch(device, &launch), CLF_BUILD,
                 "program broken"); /* again, with nothing left over */
    clf_device_close(device);
}

static void test_wrong_launches(void **state)
{
    (void)state;
    struct clf_device *device = open_with("arguments_of_test", arguments_source);
    struct clf__launch launch = {
        .program = "missing_program", CLF__ON_BOTH("defined", {1}, {1}), .defines = "-DWIDTH=1"};
    assert_fails(clf__launch(device, &launch), CLF_BUILD, "lacks missing_program from cl/");
    launch.program = "arguments_of_test";
    launch.cpu.kernel = launch.gpu.kernel = "missing_kernel";
    assert_fails(clf__launch(device, &launch), CLF_DEVICE,
                 "creating kernel missing_kernel of program arguments_of_test");
    launch.cpu.kernel = launch.gpu.kernel = "defined";
    assert_fails(clf__launch(device, &launch), CLF_BAD_ARGUMENT,
                 "kernel defined of program arguments_of_test: takes 1 arguments, not 0");
    /* A kernel of the other variant is not available. */
    int is_cpu = clf__device_caps(device)->variant == CLF_VARIANT_CPU;
    *(is_cpu ? &launch.cpu : &launch.gpu) = (struct clf__grid){.kernel = NULL};
    assert_fails(clf__launch(device, &launch), CLF_BAD_ARGUMENT,
                 is_cpu ? "no such kernel in its CPU variant" : "no such kernel in its GPU variant");
    clf_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_arguments, support_teardown),
        cmocka_unit_test_teardown(test_defines, support_teardown),
        cmocka_unit_test_teardown(test_copies, support_teardown),
        cmocka_unit_test_teardown(test_too_large, support_teardown),
        cmocka_unit_test_teardown(test_build_failure, support_teardown),
        cmocka_unit_test_teardown(test_wrong_launches, support_teardown),
    };
    return cmocka_run_group_tests_name("device/launch", tests, NULL, NULL);
}
