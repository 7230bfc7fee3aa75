/* Errors of Oclgrind 21.10 with --uninitialized, one reduced case each; the preloaded library fixes them.
 * Each case runs in a child process without and with the library. If a case fails without it, Oclgrind has
 * been fixed, and the workaround can be removed. */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "support/process.h"

enum { N = 16, HALF = N / 2 };
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static float ones[N];

static void check(cl_int error, const char *what)
{
    if (error != CL_SUCCESS) {
        fprintf(stderr, "%s: error %d\n", what, error);
        exit(2);
    }
}

static cl_context make_context(void)
{
    cl_int error = CL_SUCCESS;
    cl_platform_id platform = NULL;
    check(clGetPlatformIDs(1, &platform, NULL), "platform");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
    cl_context made = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    check(error, "context");
    return made;
}

static cl_mem make_buffer(int count)
{
    cl_int error = CL_SUCCESS;
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, (size_t)count * sizeof(float), NULL, &error);
    check(error, "buffer");
    return memory;
}

static void write_floats(cl_mem memory, int first, int count)
{
    check(clEnqueueWriteBuffer(queue, memory, CL_TRUE, (size_t)first * sizeof(float),
                               (size_t)count * sizeof(float), ones, 0, NULL, NULL),
          "write");
}

/* kernel(out, in), by `count` work-items. */
static void run(const char *source, cl_mem out, cl_mem in, size_t count)
{
    cl_int error = CL_SUCCESS;
    size_t group = 1;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    check(error, "source");
    check(clBuildProgram(program, 0, NULL, NULL, NULL, NULL), "build");
    cl_kernel kernel = clCreateKernel(program, "run", &error);
    check(error, "kernel");
    check(clSetKernelArg(kernel, 0, sizeof out, &out), "argument");
    check(clSetKernelArg(kernel, 1, sizeof in, &in), "argument");
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, &group, 0, NULL, NULL), "launch");
    check(clFinish(queue), "launch");
    clReleaseKernel(kernel);
    clReleaseProgram(program);
}

#define KERNEL(BODY) "__kernel void run(__global float *out, const __global float *in) {" BODY "}"
static const char pass_on[] = KERNEL("out[get_global_id(0)] = in[get_global_id(0)];");
static const char set[] = KERNEL("out[get_global_id(0)] = 1.0f;");
static const char take_high_lanes[] = KERNEL("vstore8(vload16(0, in).hi, 0, out);");
static const char join_vectors[] = KERNEL("float8 a = vload8(0, in), b = vload8(1, in);"
                                          "vstore16((float16)(a, b), 0, out);");
static const char divide[] = KERNEL("int a = (int)in[0], b = (int)in[1];"
                                    "out[0] = a / b; out[1] = a % b;");

/* What happens to a buffer of N floats before the kernel reads it; some return another buffer. */
static cl_mem write_nothing(cl_mem in)
{
    return in;
}

static cl_mem write_whole(cl_mem in)
{
    write_floats(in, 0, N);
    return in;
}

static cl_mem write_first_half(cl_mem in)
{
    write_floats(in, 0, HALF);
    return in;
}

static cl_mem write_halves(cl_mem in)
{
    write_floats(in, HALF, HALF);
    write_floats(in, 0, HALF);
    return in;
}

static cl_mem write_rows(cl_mem in)
{
    const size_t to[] = {0, 0, 0}, pitch = HALF * sizeof(float), region[] = {pitch, 2, 1};
    check(
        clEnqueueWriteBufferRect(queue, in, CL_TRUE, to, to, region, pitch, 0, pitch, 0, ones, 0, NULL, NULL),
        "write");
    return in;
}

static cl_mem write_region(cl_mem in)
{
    cl_int error = CL_SUCCESS;
    cl_buffer_region region = {0, HALF * sizeof(float)};
    cl_mem part = clCreateSubBuffer(in, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
    check(error, "part of a buffer");
    write_floats(in, HALF, HALF);
    write_floats(part, 0, HALF);
    return in;
}

static cl_mem fill(cl_mem in)
{
    check(clEnqueueFillBuffer(queue, in, ones, sizeof(float), 0, N * sizeof(float), 0, NULL, NULL), "fill");
    check(clFinish(queue), "fill");
    return in;
}

static cl_mem copy_halves(cl_mem in)
{
    cl_mem from = write_whole(make_buffer(N));
    size_t half = HALF * sizeof(float);
    check(clEnqueueCopyBuffer(queue, from, in, half, half, half, 0, NULL, NULL), "copy");
    check(clEnqueueCopyBuffer(queue, from, in, 0, 0, half, 0, NULL, NULL), "copy");
    check(clFinish(queue), "copy");
    return in;
}

static cl_mem copy_nothing(cl_mem in)
{
    check(clEnqueueCopyBuffer(queue, make_buffer(N), in, 0, 0, N * sizeof(float), 0, NULL, NULL), "copy");
    check(clFinish(queue), "copy");
    return in;
}

static cl_mem replace_smaller(cl_mem in)
{
    cl_mem smaller = make_buffer(HALF);
    write_floats(smaller, 0, HALF);
    clReleaseMemObject(smaller);
    cl_mem larger = make_buffer(N);
    run(set, larger, in, N);
    return larger;
}

static cl_mem replace_written(cl_mem in)
{
    clReleaseMemObject(write_whole(in));
    return make_buffer(N);
}

/* Number of reports without the library and with it. */
enum { CRASH = -1, SOME = -2 };
static const struct {
    const char *name, *source;
    cl_mem (*prepare)(cl_mem in);
    int items, without, with;
} cases[] = {
    {"whole", pass_on, write_whole, N, 0, 0},
    /* Memory that the host or a kernel wrote, but Oclgrind reports. */
    {"halves", pass_on, write_halves, N, HALF, 0},
    {"rows", pass_on, write_rows, N, SOME, 0},
    {"region", pass_on, write_region, N, HALF, 0},
    {"fill", pass_on, fill, N, SOME, 0},
    {"copy_halves", pass_on, copy_halves, N, HALF, 0},
    {"replace_smaller", pass_on, replace_smaller, N, HALF, 0},
    {"lane_11", take_high_lanes, write_whole, 1, 1, 0},
    {"join", join_vectors, write_whole, 1, CRASH, 0},
    {"optimise", divide, write_whole, 1, CRASH, 0},
    /* Memory that was never written. */
    {"nothing", pass_on, write_nothing, N, N, N},
    {"first_half", pass_on, write_first_half, N, HALF, HALF},
    {"copy_nothing", pass_on, copy_nothing, N, 0, N},
    {"replace_written", pass_on, replace_written, N, 0, N},
    {"join_nothing", join_vectors, write_first_half, 1, CRASH, 1},
};
enum { CASES = sizeof cases / sizeof *cases };

static int run_case(const char *name)
{
    int i = 0;
    while (i < CASES && strcmp(cases[i].name, name) != 0) {
        i++;
    }
    if (i == CASES) {
        return 2;
    }
    if (strcmp(name, "optimise") == 0) {
        unsetenv("OCLGRIND_BUILD_OPTIONS");
    }
    cl_int error = CL_SUCCESS;
    for (int k = 0; k < N; k++) {
        ones[k] = 1.0f;
    }
    context = make_context();
    queue = clCreateCommandQueue(context, device, 0, &error);
    check(error, "queue");
    cl_mem out = make_buffer(N), in = make_buffer(N);
    run(cases[i].source, out, cases[i].prepare(in), (size_t)cases[i].items);
    if (getenv("OCLGRIND_LOG")) {
        make_context();
    }
    return 0;
}

static const char *executable;

/* Number of reports of a case, or CRASH. library: "" or "PATH:". log: "" or the file for reports. */
static int reports(const char *name, const char *library, const char *log)
{
    const char *folder = support_temporary_folder();
    char *command =
        process_format("LD_PRELOAD='%s%s' %s%s exec '%s' %s 2>'%s/errors'", library, getenv("LD_PRELOAD"),
                       *log ? "OCLGRIND_LOG=" : "", log, executable, name, folder);
    int status = system(command);
    size_t size = 0;
    const char *errors = process_read(folder, "errors", &size);
    if (status != 0 || strstr(errors, "FATAL ERROR")) {
        assert_true(WIFSIGNALED(status) || strstr(errors, "FATAL ERROR")); /* not a failed call */
        return CRASH;
    }
    return process_count(errors, "Kernel: run\n");
}

static void skip_without_oclgrind(void)
{
    if (getenv("OCLGRIND_UNINITIALIZED") == NULL) {
        skip();
    }
}

static void assert_reports(int index, const char *library, int expected)
{
    int found = reports(cases[index].name, library, "");
    if (expected == SOME ? found <= 0 : found != expected) {
        fail_msg("case %s %s the library: %d reports, not %d (-1: it crashes, -2: more than 0)",
                 cases[index].name, *library ? "with" : "without", found, expected);
    }
}

static void test_without_library(void **state)
{
    (void)state;
    skip_without_oclgrind();
    for (int i = 0; i < CASES; i++) {
        assert_reports(i, "", cases[i].without);
    }
}

static void test_with_library(void **state)
{
    (void)state;
    skip_without_oclgrind();
    for (int i = 0; i < CASES; i++) {
        assert_reports(i, CLF_OCLGRIND_LIBRARY ":", cases[i].with);
    }
}

/* Why tests/matrix reads standard error: each new context empties the log of earlier ones. */
static void test_log(void **state)
{
    (void)state;
    skip_without_oclgrind();
    const char *folder = support_temporary_folder();
    assert_int_equal(reports("nothing", "", process_format("%s/log", folder)), 0); /* they are in the log */
    size_t size = 0;
    assert_int_equal(process_count(process_read(folder, "log", &size), "Kernel: run\n"), 0);
}

int main(int count, char **arguments)
{
    if (count > 1) {
        return run_case(arguments[1]);
    }
    executable = arguments[0];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_without_library, support_teardown),
        cmocka_unit_test_teardown(test_with_library, support_teardown),
        cmocka_unit_test_teardown(test_log, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
