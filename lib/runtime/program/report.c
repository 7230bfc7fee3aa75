#include "runtime/program/report.h"

#include "base/memory.h"
#include "runtime/device/device.h"
#include "runtime/program/program.h"

static size_t ask_size(const struct clf_device *device, const struct clf__kernel *kernel,
                       cl_kernel_work_group_info what)
{
    size_t value = 0;
    cl_int error =
        CLF__CL(clGetKernelWorkGroupInfo(kernel->kernel, device->id, what, sizeof value, &value, NULL));
    return error == CL_SUCCESS ? value : 0;
}

static uint64_t ask_bytes(const struct clf_device *device, const struct clf__kernel *kernel,
                          cl_kernel_work_group_info what)
{
    cl_ulong value = 0;
    cl_int error =
        CLF__CL(clGetKernelWorkGroupInfo(kernel->kernel, device->id, what, sizeof value, &value, NULL));
    return error == CL_SUCCESS ? value : 0;
}

/* The caller frees *out, which is "" without a log. */
static clf_status read_log(char **out, const struct clf_device *device, cl_program program)
{
    size_t size = 0;
    if (CLF__CL(clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size)) !=
        CL_SUCCESS) {
        size = 0;
    }
    CLF__TRY(clf__allocate(out, size + 1, 1));
    if (size > 0 && CLF__CL(clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, size, *out,
                                                  NULL)) != CL_SUCCESS) {
        (*out)[0] = '\0';
    }
    return CLF_OK;
}

static clf_status report(const struct clf_device *device, const struct clf__kernel *kernel,
                         clf__kernel_visitor *visit, void *user)
{
    char *log = NULL;
    clf_status status = read_log(&log, device, kernel->program->program);
    if (status == CLF_OK) {
        const struct clf__kernel_report facts = {
            .program = kernel->program->name,
            .defines = kernel->program->defines,
            .kernel = kernel->name,
            .most_items = ask_size(device, kernel, CL_KERNEL_WORK_GROUP_SIZE),
            .multiple = ask_size(device, kernel, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE),
            .local_bytes = ask_bytes(device, kernel, CL_KERNEL_LOCAL_MEM_SIZE),
            .private_bytes = ask_bytes(device, kernel, CL_KERNEL_PRIVATE_MEM_SIZE),
            .build_seconds = kernel->program->build_seconds,
            .log = log,
        };
        status = visit(user, &facts);
    }
    clf__free(log);
    return status;
}

clf_status clf__program_report(struct clf_device *device, clf__kernel_visitor *visit, void *user)
{
    const struct clf__programs *programs = device->programs;
    for (int i = 0; i < programs->kernel_capacity; i++) {
        if (programs->kernels[i] != NULL) {
            CLF__TRY(report(device, programs->kernels[i], visit, user));
        }
    }
    return CLF_OK;
}
