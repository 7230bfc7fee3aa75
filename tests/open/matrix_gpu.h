/* Functions that replace those of the OpenCL loader: PoCL's CPU becomes a GPU of a vendor with matrix
 * instructions, NVIDIA's and Intel's are compiled as emulated ones, and compilers crash, hang or refuse.
 * Environment variables say what to replace, also in child processes. Requires _GNU_SOURCE. */
#ifndef CLF_TESTS_OPEN_MATRIX_GPU_H
#define CLF_TESTS_OPEN_MATRIX_GPU_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/opencl/opencl.h"

/* $TEST_VENDOR: nvidia, amd or intel; unset: the CPU as it is, with NVIDIA's instructions. */
static int is_vendor(const char *name)
{
    const char *vendor = getenv("TEST_VENDOR");
    return vendor != NULL && strcmp(vendor, name) == 0;
}

/* $TEST_FAULT: what happens to the instructions of the first level. */
static int has_fault(const char *name)
{
    const char *fault = getenv("TEST_FAULT");
    return fault != NULL && strcmp(fault, name) == 0;
}

/* $TEST_TURING: NVIDIA's compute capability is 7.5 instead of 8.0. */
static int is_turing(void)
{
    return getenv("TEST_TURING") != NULL;
}

/* $TEST_LANES: the smallest sub-group size of Intel's GPU. */
static size_t lanes_of_intel(void)
{
    const char *lanes = getenv("TEST_LANES");
    return lanes != NULL ? (size_t)atoi(lanes) : 8;
}

static cl_int answer(const void *value, size_t bytes, size_t size, void *out, size_t *told)
{
    if (told != NULL) {
        *told = bytes;
    }
    if (out != NULL) {
        memcpy(out, value, bytes < size ? bytes : size);
    }
    return CL_SUCCESS;
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *out, size_t *told)
{
    cl_int (*ask)(cl_device_id, cl_device_info, size_t, void *, size_t *);
    *(void **)&ask = dlsym(RTLD_NEXT, "clGetDeviceInfo");
    const char *extension = is_vendor("amd")     ? "cl_amd_device_attribute_query"
                            : is_vendor("intel") ? "cl_intel_subgroup_matrix_multiply_accumulate"
                                                 : "cl_nv_device_attribute_query";
    const char *driver = getenv("TEST_DRIVER");
    const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
    const cl_uint major = is_turing() ? 7 : 8, minor = is_turing() ? 5 : 0;
    const size_t sub_groups[2] = {32, lanes_of_intel()};
    switch (what) {
    case CL_DEVICE_SUB_GROUP_SIZES_INTEL:
        return answer(sub_groups, sizeof sub_groups, size, out, told);
    case CL_DEVICE_EXTENSIONS:
        return answer(extension, strlen(extension) + 1, size, out, told);
    case CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV:
        return answer(&major, sizeof major, size, out, told);
    case CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV:
        return answer(&minor, sizeof minor, size, out, told);
    case CL_DEVICE_TYPE:
        return getenv("TEST_VENDOR") != NULL ? answer(&gpu, sizeof gpu, size, out, told)
                                             : ask(device, what, size, out, told);
    case CL_DRIVER_VERSION:
        return driver != NULL ? answer(driver, strlen(driver) + 1, size, out, told)
                              : ask(device, what, size, out, told);
    default:
        return ask(device, what, size, out, told);
    }
}

/* Replaces a compiler option. */
static void replace_option(char *options, size_t size, const char *from, const char *to)
{
    char rest[4096], *at = strstr(options, from);
    if (at != NULL) {
        snprintf(rest, sizeof rest, "%s", at + strlen(from));
        snprintf(at, size - (size_t)(at - options), "%s%s", to, rest);
    }
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                      void(CL_CALLBACK *notify)(cl_program, void *), void *user)
{
    cl_int (*build)(cl_program, cl_uint, const cl_device_id *, const char *,
                    void(CL_CALLBACK *)(cl_program, void *), void *);
    char own[4096];
    int is_first = strstr(options, "-DMATRIX_NV80") || strstr(options, "-DMATRIX_MFMA");
    int is_refused = strstr(options, "-DMATRIX_MFMA") || strstr(options, "-DMATRIX_WMMA") ||
                     (strstr(options, "-DMATRIX_NV75") && !is_turing());
    if (is_first && has_fault("crash")) {
        abort(); /* PoCL handles SIGSEGV */
    }
    if (is_first && has_fault("hang")) {
        pause();
    }
    if ((is_first && has_fault("refuse")) || is_refused) {
        return CL_BUILD_PROGRAM_FAILURE;
    }
    snprintf(own, sizeof own, "%s", options);
    replace_option(own, sizeof own, "-DMATRIX_NV80", "-DMATRIX_EMULATED");
    replace_option(own, sizeof own, "-DMATRIX_NV75", "-DMATRIX_EMULATED");
    replace_option(own, sizeof own, "-DMATRIX_DPAS", "-DDPAS_EMULATED -DMATRIX_DPAS");
    replace_option(own, sizeof own, "-DHAS_DP4A", "");
    replace_option(own, sizeof own, "-DHAS_INTEGER_DOT_PRODUCT", "");
    *(void **)&build = dlsym(RTLD_NEXT, "clBuildProgram");
    return build(program, count, devices, own, notify, user);
}

/* Returns whether $TEST_SKIP contains the kernel, as "gemm_matrix_gpu/3 " with the precision. */
static int is_skipped(cl_kernel kernel)
{
    const char *skip = getenv("TEST_SKIP");
    char name[128] = "", options[4096] = "", entry[160];
    cl_program program;
    cl_device_id device;
    if (skip == NULL ||
        clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL) != CL_SUCCESS ||
        clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL) != CL_SUCCESS ||
        clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof device, &device, NULL) != CL_SUCCESS ||
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, sizeof options, options, NULL) !=
            CL_SUCCESS) {
        return 0;
    }
    const char *precision = strstr(options, "-DPRECISION=");
    snprintf(entry, sizeof entry, "%s/%c ", name,
             precision != NULL ? precision[strlen("-DPRECISION=")] : '-');
    return strstr(skip, entry) != NULL;
}

/* A kernel that is skipped is a fast one: it takes a millisecond. */
cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t *offset, const size_t *size, const size_t *group, cl_uint count,
                              const cl_event *events, cl_event *event)
{
    cl_int (*launch)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,
                     cl_uint, const cl_event *, cl_event *);
    *(void **)&launch = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
    if (is_skipped(kernel)) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        return CL_SUCCESS;
    }
    return launch(queue, kernel, dimensions, offset, size, group, count, events, event);
}

#endif
