/* Compiled kernels have lower limits than their device: groups shrink if a kernel allows it; otherwise a
 * launch fails with the numbers. The functions below replace functions of the OpenCL loader; a launch beyond
 * the limits fails as in drivers. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "math/gemm/gemm.h"
#include "math/ops/top_k.h"
#include "runtime/opencl/opencl.h"
#include "support/attention_problem.h"

static size_t most_items; /* limit of launches; 0: the driver's own */
static size_t reported;   /* reported instead of most_items, unless it is 0 */
static cl_ulong own_local;
static size_t launched; /* work-items in a group of the last launch */

cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what,
                                size_t size, void *out, size_t *told)
{
    cl_int (*ask)(cl_kernel, cl_device_id, cl_kernel_work_group_info, size_t, void *, size_t *);
    *(void **)&ask = dlsym(RTLD_NEXT, "clGetKernelWorkGroupInfo");
    cl_int error = ask(kernel, device, what, size, out, told);
    if (what == CL_KERNEL_WORK_GROUP_SIZE && reported > 0) {
        memcpy(out, &reported, sizeof reported);
    } else if (what == CL_KERNEL_WORK_GROUP_SIZE && most_items > 0) {
        memcpy(out, &most_items, sizeof most_items);
    } else if (what == CL_KERNEL_LOCAL_MEM_SIZE && own_local > 0) {
        memcpy(out, &own_local, sizeof own_local);
    }
    return error;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t *offset, const size_t *size, const size_t *group, cl_uint count,
                              const cl_event *events, cl_event *event)
{
    cl_int (*launch)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,
                     cl_uint, const cl_event *, cl_event *);
    *(void **)&launch = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
    launched = group[0] * group[1] * group[2];
    return own_local > 0 || (most_items > 0 && launched > most_items)
               ? CL_OUT_OF_RESOURCES
               : launch(queue, kernel, dimensions, offset, size, group, count, events, event);
}

/* Limits are read when a kernel is first used, so each test opens a device. */
static struct clf_device *open_limited(size_t items, cl_ulong local)
{
    struct clf_device *device;
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.use_program_cache = 0;
    options.variant = CLF_VARIANT_GPU;
    options.gemm = CLF_GEMM_NATIVE;
    options.attention = CLF_ATTENTION_FUSED;
    assert_ok(clf_device_open(&device, NULL, &options));
    most_items = items;
    own_local = local;
    return device;
}

static void close_limited(struct clf_device *device)
{
    most_items = reported = own_local = 0;
    support_free_all();
    clf_device_close(device);
}

static void attend(float *y, size_t limit, size_t expected_items, size_t count)
{
    const struct attention_shape shape = {.heads = 2,
                                          .key_width = 32,
                                          .value_width = 32,
                                          .sequences = 1,
                                          .queries = {1},
                                          .keys = {200},
                                          .few_queries = 1};
    struct clf_device *device = open_limited(limit, 0);
    struct attention_problem problem = support_attention_problem(&shape, 1);
    struct clf__attention_call call = support_attention_call(device, &problem);
    memcpy(y, support_attention_run(device, &problem, &call), count * sizeof *y);
    assert_int_equal(launched, expected_items);
    close_limited(device);
}

/* The number of key tiles that a group processes in parallel is halved until the group fits, which changes no
   bit. */
static void test_attention_adapts(void **state)
{
    (void)state;
    enum { COUNT = 64 };
    float whole[COUNT], limited[COUNT];
    attend(whole, 0, 256, COUNT);
    attend(limited, 200, 128, COUNT);
    assert_memory_equal(limited, whole, sizeof whole);
    attend(limited, 64, 64, COUNT);
    assert_memory_equal(limited, whole, sizeof whole);
}

/* The two largest of a row, by groups of 256 work-items or of 64. */
static void test_long_rows_adapt(void **state)
{
    (void)state;
    enum { COLUMNS = 1000, K = 2 };
    for (int is_limited = 0; is_limited < 2; is_limited++) {
        struct clf_device *device = open_limited(is_limited ? 128 : 0, 0);
        float logits[COLUMNS] = {[17] = 2.0f, [900] = 3.0f};
        const int32_t none[2] = {0, 0};
        struct clf__tensor values = support_tensor(device, CLF__F32, 1, K, NULL);
        struct clf__tensor ids = support_tensor(device, CLF__I32, 1, K, NULL);
        struct clf__tensor statistics = support_tensor(device, CLF__F32, 1, 4, NULL);
        assert_ok(clf__top_k_forward(
            values, ids, statistics, support_tensor(device, CLF__F32, 1, COLUMNS, logits),
            support_tensor(device, CLF__I32, 1, 1, none), support_tensor(device, CLF__I32, 1, 2, none), 1));
        const int32_t *found = support_read_integers(ids);
        assert_true(found[0] == 900 && found[1] == 17);
        assert_int_equal(launched, is_limited ? 64 : 256);
        close_limited(device);
    }
}

/* Groups shrink after a failed launch if the driver reports too much; if it reports too little, as rusticl of
 * Mesa 22.3 does, the smallest groups are launched anyway. */
static void test_wrong_reports(void **state)
{
    (void)state;
    enum { COUNT = 64 };
    float whole[COUNT], limited[COUNT];
    attend(whole, 0, 256, COUNT);
    reported = 1024;
    attend(limited, 128, 128, COUNT);
    assert_memory_equal(limited, whole, sizeof whole);
    reported = 32;
    attend(limited, 0, 64, COUNT);
    assert_memory_equal(limited, whole, sizeof whole);
}

static clf_status multiply(struct clf_device *device)
{
    enum { SIZE = 64 };
    static const float values[SIZE * SIZE];
    const struct clf__weight_part part = {values, SIZE};
    const struct clf__weight_source source = {
        .parts = &part, .part_count = 1, .inputs = SIZE, .what = "a test's weight"};
    struct clf__weight *weight = NULL;
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    struct clf__tensor x = support_tensor(device, CLF__F32, SIZE, SIZE, values);
    struct clf__tensor y = support_tensor(device, CLF__F32, SIZE, SIZE, NULL);
    assert_ok(clf__weight_create(&weight, device, &source));
    clf_status status =
        clf__gemm_weight((struct clf__matrix){.buffer = y.buffer, .stride = SIZE},
                         (struct clf__matrix){.buffer = x.buffer, .stride = SIZE}, SIZE, weight, &epilogue);
    clf__weight_free(weight);
    return status;
}

static void test_refusals(void **state)
{
    (void)state;
    struct clf_device *device = open_limited(64, 0);
    assert_fails(multiply(device), CLF_UNSUPPORTED,
                 "CL_OUT_OF_RESOURCES (-5): a group needs 128 work-items and ");
    assert_non_null(strstr(clf_last_error(), "kernel gemm_weight_"));
    assert_non_null(strstr(clf_last_error(), "the driver allows 64 and "));
    close_limited(device);
    device = open_limited(0, (cl_ulong)123456789);
    assert_fails(multiply(device), CLF_UNSUPPORTED, "work-items and 123456789 bytes of local memory, ");
    close_limited(device);
    device = open_limited(128, 0);
    assert_ok(multiply(device));
    close_limited(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_adapts),
        cmocka_unit_test(test_long_rows_adapt),
        cmocka_unit_test(test_wrong_reports),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
