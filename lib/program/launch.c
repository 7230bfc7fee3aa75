#include "program/launch.h"

#include "device/device.h"
#include "device/profile.h"
#include "program/program.h"

static cl_int set_argument(cl_kernel kernel, cl_uint index, const struct clf__argument *argument)
{
    switch (argument->kind) {
    case CLF__ARGUMENT_BUFFER: {
        cl_mem memory = argument->buffer ? argument->buffer->memory : NULL;
        return CLF__CL(clSetKernelArg(kernel, index, sizeof memory, &memory));
    }
    case CLF__ARGUMENT_INT:
        return CLF__CL(clSetKernelArg(kernel, index, sizeof argument->integer, &argument->integer));
    case CLF__ARGUMENT_FLOAT:
        return CLF__CL(clSetKernelArg(kernel, index, sizeof argument->real, &argument->real));
    case CLF__ARGUMENT_STRUCT:
    case CLF__ARGUMENT_LOCAL: /* which has no data */
        return CLF__CL(clSetKernelArg(kernel, index, argument->bytes, argument->data));
    }
    return CL_INVALID_ARG_VALUE;
}

/* Those that the device's form takes, one after the other. */
static clf_status set_arguments(struct clf_device *device, const struct clf__kernel *kernel,
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
        cl_int error = set_argument(kernel->kernel, index++, &launch->arguments[i]);
        CLF__TRY(clf__opencl_check(error, "argument %d of kernel %s of program %s on device %s", i,
                                   kernel->name, launch->program, device->label));
    }
    return CLF_OK;
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
    if (device->is_dry_run) {
        return CLF_OK;
    }
    CLF__TRY(clf__program_kernel(&kernel, device, launch->program, grid->kernel, launch->defines));
    CLF__TRY(set_arguments(device, kernel, launch));
    size_t local[3], global[3], own = is_cpu ? 1 : CLF__GROUP;
    for (int i = 0; i < 3; i++) {
        local[i] = grid->local[i] > 0 ? grid->local[i] : i == 0 ? own : 1;
        global[i] = local[i] * (grid->groups[i] > 0 ? grid->groups[i] : 1);
    }
    cl_event event = NULL;
    cl_int error = CLF__CL(clEnqueueNDRangeKernel(device->queue, kernel->kernel, 3, NULL, global, local, 0,
                                                  NULL, clf__profile_slot(device->profile, &event)));
    CLF__TRY(clf__opencl_check(error, "running kernel %s of program %s on device %s", kernel->name,
                               launch->program, device->label));
    kernel->has_run = 1;
    return clf__profile_add(device, kernel->name, launch->cost, NULL, event);
}
