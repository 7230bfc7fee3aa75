#include "program/launch.h"

#include <inttypes.h>

#include "base/environment.h"
#include "device/device.h"
#include "device/profile.h"
#include "device/queue.h"
#include "program/arguments.h"
#include "program/program.h"

/* Sets the arguments that the device's form takes, in their order. */
static clf_status set_arguments(struct clf_device *device, struct clf__kernel *kernel,
                                const struct clf__launch *launch)
{
    enum clf__argument_form others = device->caps.form == CLF_FORM_CPU ? CLF__OF_GPU : CLF__OF_CPU;
    cl_uint count = 0;
    for (int i = 0; i < launch->argument_count; i++) {
        count += launch->arguments[i].form != others;
    }
    if (count != kernel->argument_count) {
        return clf__fail(CLF_BAD_ARGUMENT, "kernel %s of program %s takes %u arguments, not %u", kernel->name,
                         launch->program, (unsigned)kernel->argument_count, (unsigned)count);
    }
    cl_uint index = 0;
    for (int i = 0; i < launch->argument_count; i++) {
        if (launch->arguments[i].form == others) {
            continue;
        }
        cl_int error = CL_SUCCESS;
        if (device->caps.without & CLF__WITHOUT_ARGUMENTS) {
            kernel->values[index].is_set = 0;
        }
        CLF__TRY(
            clf__argument_set(&error, kernel->kernel, index, &kernel->values[index], &launch->arguments[i]));
        index++;
        CLF__TRY(clf__opencl_check(error, "argument %d of kernel %s of program %s on device %s", i,
                                   kernel->name, launch->program, device->label));
    }
    return CLF_OK;
}

/* True if a group is within the limits of its kernel. */
static int fits(const struct clf__kernel *kernel, const struct clf__caps *caps, size_t items, uint64_t bytes)
{
    return (kernel->most_items == 0 || items <= kernel->most_items) && bytes <= caps->local_memory_bytes;
}

/* Bytes of local memory of a group in the GPU form. */
static uint64_t count_local(const struct clf__kernel *kernel, const struct clf__launch *launch)
{
    uint64_t bytes = kernel->local_bytes;
    for (int i = 0; i < launch->argument_count; i++) {
        bytes += launch->arguments[i].kind == CLF__ARGUMENT_LOCAL ? launch->arguments[i].bytes : 0;
    }
    return bytes;
}

static clf_status refuse(const struct clf_device *device, const struct clf__kernel *kernel,
                         const struct clf__launch *launch, size_t items, uint64_t bytes)
{
    return clf__fail(CLF_UNSUPPORTED,
                     "kernel %s of program %s needs %zu work-items and %" PRIu64
                     " bytes of local memory in a group; device %s runs it with at most %zu and %" PRIu64
                     "; choose another device, or the CPU kernels (--form cpu)",
                     kernel->name, launch->program, items, bytes, device->label,
                     kernel->most_items > 0 ? kernel->most_items : device->caps.max_work_group,
                     device->caps.local_memory_bytes);
}

clf_status clf__launch(struct clf_device *device, const struct clf__launch *launch)
{
    int is_cpu = device->caps.form == CLF_FORM_CPU;
    const struct clf__grid *grid = is_cpu ? &launch->cpu : &launch->gpu;
    struct clf__kernel *kernel = NULL;
    if (grid->kernel == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "program %s has no such kernel for the %s form", launch->program,
                         is_cpu ? "CPU" : "GPU");
    }
    if (launch->exceeds != NULL) {
        *launch->exceeds = 0;
    }
    if (device->is_dry_run) {
        return CLF_OK;
    }
    CLF__TRY(clf__program_kernel(&kernel, device, launch->program, grid->kernel, launch->defines));
    size_t local[3], global[3], own = is_cpu ? 1 : CLF__GROUP;
    for (int i = 0; i < 3; i++) {
        local[i] = grid->local[i] > 0 ? grid->local[i] : i == 0 ? own : 1;
        global[i] = local[i] * (grid->groups[i] > 0 ? grid->groups[i] : 1);
    }
    if (!is_cpu) {
        size_t items = local[0] * local[1] * local[2];
        uint64_t bytes = count_local(kernel, launch);
        int exceeds = !fits(kernel, &device->caps, items, bytes);
        if (exceeds && launch->exceeds == NULL) {
            return refuse(device, kernel, launch, items, bytes);
        }
        if (exceeds) {
            *launch->exceeds = 1;
            return CLF_OK;
        }
    }
    CLF__TRY(set_arguments(device, kernel, launch));
    cl_event event = NULL;
    cl_int error = CLF__CL(clEnqueueNDRangeKernel(device->queue, kernel->kernel, 3, NULL, global, local, 0,
                                                  NULL, clf__profile_slot(device->profile, &event)));
    CLF__TRY(clf__opencl_check(error, "running kernel %s of program %s on device %s", kernel->name,
                               launch->program, device->label));
    kernel->has_run = 1;
    CLF__TRY(clf__profile_add(device, kernel->name, launch->cost, NULL, event));
    return clf__device_launched(device, launch->cost.operations);
}
