#include "runtime/program/launch.h"

#include <inttypes.h>

#include "base/environment.h"
#include "base/interrupt.h"
#include "runtime/device/device.h"
#include "runtime/device/profile.h"
#include "runtime/device/queue.h"
#include "runtime/program/arguments.h"
#include "runtime/program/program.h"

/* Sets the arguments for the device's kernel variant, in order. */
static clf_status set_arguments(struct clf_device *device, struct clf__kernel *kernel,
                                const struct clf__launch *launch)
{
    enum clf__argument_variant others = device->caps.variant == CLF_VARIANT_CPU ? CLF__OF_GPU : CLF__OF_CPU;
    cl_uint count = 0;
    for (int i = 0; i < launch->argument_count; i++) {
        count += launch->arguments[i].variant != others;
    }
    if (count != kernel->argument_count) {
        return clf__fail(CLF_BAD_ARGUMENT, "kernel %s of program %s: takes %u arguments, not %u",
                         kernel->name, launch->program, (unsigned)kernel->argument_count, (unsigned)count);
    }
    cl_uint index = 0;
    for (int i = 0; i < launch->argument_count; i++) {
        if (launch->arguments[i].variant == others) {
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

/* The work-groups of a launch and the memory of one group. */
struct groups {
    size_t local[3], global[3];
    size_t items;
    uint64_t local_bytes;
    int exceeds; /* the group exceeds the reported limits */
};

static struct groups cut(const struct clf_device *device, const struct clf__kernel *kernel,
                         const struct clf__launch *launch, const struct clf__grid *grid)
{
    int is_cpu = device->caps.variant == CLF_VARIANT_CPU;
    struct groups groups = {.items = 1, .local_bytes = kernel->local_bytes};
    for (int i = 0; i < 3; i++) {
        size_t own = is_cpu || i > 0 ? 1 : CLF__GROUP;
        groups.local[i] = grid->local[i] > 0 ? grid->local[i] : own;
        groups.global[i] = groups.local[i] * (grid->groups[i] > 0 ? grid->groups[i] : 1);
        groups.items *= groups.local[i];
    }
    for (int i = 0; i < launch->argument_count && !is_cpu; i++) {
        groups.local_bytes +=
            launch->arguments[i].kind == CLF__ARGUMENT_LOCAL ? launch->arguments[i].bytes : 0;
    }
    groups.exceeds = !is_cpu && ((kernel->most_items > 0 && groups.items > kernel->most_items) ||
                                 groups.local_bytes > device->caps.local_memory_bytes);
    return groups;
}

static clf_status refuse(const struct clf_device *device, const struct clf__kernel *kernel,
                         const struct clf__launch *launch, const struct groups *groups, cl_int error)
{
    size_t most = kernel->most_items > 0 ? kernel->most_items : device->caps.max_work_group;
    return clf__fail(
        CLF_UNSUPPORTED,
        "kernel %s of program %s on device %s: %s (%d): a group needs %zu work-items and %" PRIu64
        " bytes of local memory, but the driver allows %zu and %" PRIu64
        "; choose another device or the CPU kernels (--variant cpu)",
        kernel->name, launch->program, device->label, clf__opencl_error_name(error), (int)error,
        groups->items, groups->local_bytes, most, device->caps.local_memory_bytes);
}

/* Explains a failed launch. Reported limits are used only here, because some drivers run larger groups than
 * they report. */
static clf_status fail_launch(const struct clf_device *device, struct clf__kernel *kernel,
                              const struct clf__launch *launch, const struct groups *groups, cl_int error)
{
    int is_size = error == CL_INVALID_WORK_GROUP_SIZE || error == CL_INVALID_WORK_ITEM_SIZE;
    if (launch->exceeds != NULL && (is_size || error == CL_OUT_OF_RESOURCES)) {
        kernel->most_items = groups->items - 1; /* reject such groups in later launches */
        *launch->exceeds = 1;
        return CLF_OK;
    }
    if (is_size || groups->exceeds) {
        return refuse(device, kernel, launch, groups, error);
    }
    return clf__opencl_check(error, "running kernel %s of program %s on device %s", kernel->name,
                             launch->program, device->label);
}

clf_status clf__launch_check(int *exceeds, struct clf_device *device, const struct clf__launch *launch)
{
    const struct clf__grid *grid = device->caps.variant == CLF_VARIANT_CPU ? &launch->cpu : &launch->gpu;
    struct clf__kernel *kernel = NULL;
    *exceeds = 0;
    if (device->is_dry_run) {
        return CLF_OK;
    }
    CLF__TRY(clf__program_kernel(&kernel, device, launch->program, grid->kernel, launch->defines));
    *exceeds = cut(device, kernel, launch, grid).exceeds;
    return CLF_OK;
}

/* PoCL compiles a kernel when it first runs. Waits for that run: after an interrupt, kernels already
 * enqueued could not be cancelled and would all be compiled first. */
static clf_status wait_for_compilation(struct clf_device *device, struct clf__kernel *kernel)
{
    int is_first = !kernel->has_run;
    kernel->has_run = 1;
    if (!is_first || device->info->kind != CLF_DEVICE_CPU || clf__program_cache_has(kernel)) {
        return CLF_OK;
    }
    CLF__TRY(clf__opencl_check(CLF__CL(clFinish(device->queue)), "running kernel %s on device %s",
                               kernel->name, device->label));
    return clf__interrupt_check();
}

clf_status clf__launch(struct clf_device *device, const struct clf__launch *launch)
{
    int is_cpu = device->caps.variant == CLF_VARIANT_CPU;
    const struct clf__grid *grid = is_cpu ? &launch->cpu : &launch->gpu;
    struct clf__kernel *kernel = NULL;
    if (grid->kernel == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "program %s has no such kernel in its %s variant", launch->program,
                         is_cpu ? "CPU" : "GPU");
    }
    if (launch->exceeds != NULL) {
        *launch->exceeds = 0;
    }
    if (device->is_dry_run) {
        return CLF_OK;
    }
    CLF__TRY(clf__program_kernel(&kernel, device, launch->program, grid->kernel, launch->defines));
    const struct groups groups = cut(device, kernel, launch, grid);
    if (groups.exceeds && launch->exceeds != NULL) {
        *launch->exceeds = 1;
        return CLF_OK;
    }
    CLF__TRY(set_arguments(device, kernel, launch));
    cl_event event = NULL;
    cl_int error =
        CLF__CL(clEnqueueNDRangeKernel(device->queue, kernel->kernel, 3, NULL, groups.global, groups.local, 0,
                                       NULL, clf__profile_slot(device->profile, &event)));
    if (error != CL_SUCCESS) {
        return fail_launch(device, kernel, launch, &groups, error);
    }
    CLF__TRY(clf__profile_add(device, kernel->name, launch->cost, NULL, event));
    CLF__TRY(clf__device_launched(device, launch->cost.operations));
    return wait_for_compilation(device, kernel);
}
