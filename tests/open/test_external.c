/* A program's own context and queue: the library works in them, retains and releases them, and refuses what
 * does not fit. */
#include <string.h>

#include <clformer/clformer.h>

#include "runtime/opencl/listed_device.h"
#include "support/support.h"

static const struct clf_line line = {"w2 w3 w4", 8};

static cl_device_id device_id;
static cl_context context;

static cl_command_queue create_queue(cl_context of, cl_command_queue_properties properties)
{
    cl_int error;
    cl_command_queue queue = clCreateCommandQueue(of, device_id, properties, &error);
    assert_int_equal(error, CL_SUCCESS);
    return queue;
}

static int set_up_context(void **state)
{
    (void)state;
    struct clf_device_list *list;
    cl_int error;
    assert_ok(clf_device_list_create(&list));
    assert_true(list->count > 0);
    device_id = list->devices[0].id;
    clf_device_list_free(list);
    context = clCreateContext(NULL, 1, &device_id, NULL, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    return 0;
}

static int release_context(void **state)
{
    assert_int_equal(clReleaseContext(context), CL_SUCCESS);
    return support_teardown(state);
}

static void translate(char *text, size_t size, struct clf_device *device)
{
    struct clf_model *model;
    struct clf_translator *translator;
    struct clf_translation *translation;
    struct clf_translate_options options;
    assert_ok(clf_model_load(&model, device, support_fixture("models/marian"), NULL));
    clf_translate_options_init(&options, model);
    options.subwords = 1;
    options.max_length = 6;
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_ok(clf_translate(&translation, translator, &line, 1));
    assert_true(strlen(translation->hypotheses[0].text) < size);
    strcpy(text, translation->hypotheses[0].text);
    clf_translations_free(translation, 1);
    clf_translator_free(translator);
    clf_model_free(model);
}

static cl_uint references(void)
{
    cl_uint count;
    assert_int_equal(clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, NULL),
                     CL_SUCCESS);
    return count;
}

/* Commands of the program before and after those of the library, in one queue. */
static void test_one_queue(void **state)
{
    (void)state;
    enum { COUNT = 64 };
    char alone[128], shared[128];
    int32_t values[COUNT];
    const int32_t first = 7, second = 9;
    cl_int error;
    struct clf_device *device;
    translate(alone, sizeof alone, support_device(CLF_VARIANT_AUTO));
    cl_uint before = references();
    cl_command_queue queue = create_queue(context, 0);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof values, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_int_equal(
        clEnqueueFillBuffer(queue, buffer, &first, sizeof first, 0, sizeof values, 0, NULL, NULL),
        CL_SUCCESS);
    assert_ok(clf_device_open_context(&device, context, queue, NULL));
    translate(shared, sizeof shared, device);
    assert_string_equal(shared, alone);
    assert_int_equal(
        clEnqueueFillBuffer(queue, buffer, &second, sizeof second, 0, sizeof values / 2, 0, NULL, NULL),
        CL_SUCCESS);
    clf_device_close(device);
    assert_int_equal(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL),
                     CL_SUCCESS);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(values[i], i < COUNT / 2 ? second : first);
    }
    assert_int_equal(clReleaseMemObject(buffer), CL_SUCCESS);
    assert_int_equal(clReleaseCommandQueue(queue), CL_SUCCESS);
    assert_int_equal(references(), before);
}

static void test_own_queue(void **state)
{
    (void)state;
    char alone[128], shared[128];
    struct clf_device *device;
    cl_uint before = references();
    translate(alone, sizeof alone, support_device(CLF_VARIANT_AUTO));
    assert_ok(clf_device_open_context(&device, context, NULL, NULL));
    translate(shared, sizeof shared, device);
    assert_string_equal(shared, alone);
    clf_device_close(device);
    assert_int_equal(references(), before);
}

static void refuse(void *given, cl_command_queue queue, const struct clf_device_options *options,
                   const char *part)
{
    struct clf_device *device = (struct clf_device *)&device_id;
    assert_fails(clf_device_open_context(&device, given, queue, options), CLF_BAD_ARGUMENT, part);
    assert_null(device);
    if (queue != NULL) {
        assert_int_equal(clReleaseCommandQueue(queue), CL_SUCCESS);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    struct clf_device_options profiled;
    clf_device_options_init(&profiled);
    cl_int error;
    profiled.profile = 1;
    refuse(NULL, NULL, NULL, "context: is NULL");
    refuse(context, create_queue(context, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE), NULL, "out of order");
    refuse(context, create_queue(context, 0), &profiled, "CL_QUEUE_PROFILING_ENABLE");
    cl_context other = clCreateContext(NULL, 1, &device_id, NULL, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    refuse(context, create_queue(other, 0), NULL, "another context");
    assert_int_equal(clReleaseContext(other), CL_SUCCESS);
}

/* A context of two parts of the device, if the driver divides it; PoCL reports such a context as one of the
 * whole device. */
static void test_several_devices(void **state)
{
    (void)state;
    const cl_device_partition_property halves[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_device_id parts[2];
    cl_uint count = 0;
    if (clCreateSubDevices(device_id, halves, 2, parts, &count) != CL_SUCCESS || count != 2) {
        skip();
    }
    cl_int error;
    cl_context both = clCreateContext(NULL, 2, parts, NULL, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    assert_int_equal(clGetContextInfo(both, CL_CONTEXT_NUM_DEVICES, sizeof count, &count, NULL), CL_SUCCESS);
    if (count == 2) {
        struct clf_device *device;
        cl_context part = clCreateContext(NULL, 1, parts, NULL, NULL, &error);
        assert_int_equal(error, CL_SUCCESS);
        refuse(both, NULL, NULL, "2 devices");
        assert_fails(clf_device_open_context(&device, part, NULL, NULL), CLF_NO_DEVICE, "not among the");
        assert_int_equal(clReleaseContext(part), CL_SUCCESS);
    }
    assert_int_equal(clReleaseContext(both), CL_SUCCESS);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(clReleaseDevice(parts[i]), CL_SUCCESS);
    }
    if (count != 2) {
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_queue, set_up_context, release_context),
        cmocka_unit_test_setup_teardown(test_own_queue, set_up_context, release_context),
        cmocka_unit_test_setup_teardown(test_refusals, set_up_context, release_context),
        cmocka_unit_test_setup_teardown(test_several_devices, set_up_context, release_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
