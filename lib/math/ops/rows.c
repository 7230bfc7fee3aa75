#include "math/ops/rows.h"

#include <assert.h>

#include "base/minmax.h"
#include "runtime/device/caps.h"

enum {
    MOST_CPU_GROUPS = 1024,  /* enough for every core; far below 65536, where PoCL recompiles */
    MOST_GPU_GROUPS = 65535, /* every driver accepts this many */
    MOST_ARGUMENTS = 32,
};

static clf_status add_view(struct clf__argument *arguments, const struct clf__rows_launch *launch,
                           struct clf__tensor view)
{
    if (view.offset > INT32_MAX) {
        return clf__fail(CLF_UNSUPPORTED,
                         "program %s: a kernel would start at element %zu of a buffer, beyond the maximum of "
                         "%d; use a smaller --batch-tokens or --beam",
                         launch->program, view.offset, INT32_MAX);
    }
    arguments[0] = (struct clf__argument)CLF__BUFFER(view.buffer);
    arguments[1] = (struct clf__argument)CLF__INT((int32_t)view.offset);
    arguments[2] = (struct clf__argument)CLF__INT(view.stride);
    return CLF_OK;
}

clf_status clf__rows_launch(const struct clf__rows_launch *launch)
{
    if (launch->rows <= 0) {
        return CLF_OK;
    }
    struct clf__argument arguments[MOST_ARGUMENTS];
    int count = 0;
    assert(3 * launch->view_count + 2 + launch->extra_count <= MOST_ARGUMENTS);
    for (int i = 0; i < launch->view_count; i++) {
        CLF__TRY(add_view(arguments + count, launch, launch->views[i]));
        count += 3;
    }
    arguments[count++] = (struct clf__argument)CLF__INT(launch->rows);
    arguments[count++] = (struct clf__argument)CLF__INT(launch->columns);
    for (int i = 0; i < launch->extra_count; i++) {
        arguments[count++] = launch->extras[i];
    }
    int present = 0;
    while (launch->views[present].buffer == NULL) {
        present++;
    }
    struct clf_device *device = clf__buffer_device(launch->views[present].buffer);
    size_t rows = (size_t)launch->rows;
    struct clf__launch kernel = {
        .program = launch->program,
        .defines = launch->defines,
        .cpu = CLF__GRID(launch->cpu_kernel, clf__min_size(rows, MOST_CPU_GROUPS)),
        .gpu = CLF__GRID(launch->gpu_kernel, clf__min_size(rows, MOST_GPU_GROUPS)),
        .arguments = arguments,
        .argument_count = count,
        .cost = launch->cost,
    };
    const struct clf__caps *caps = clf__device_caps(device);
    if (launch->has_long_rows && caps->variant == CLF_VARIANT_GPU &&
        caps->max_work_group >= CLF__LONG_GROUP) {
        int exceeds = 0;
        struct clf__launch longer = kernel;
        assert(launch->defines == NULL);
        longer.defines = CLF__LONG_GROUP_DEFINE;
        longer.gpu.local[0] = CLF__LONG_GROUP;
        longer.exceeds = &exceeds;
        clf_status status = clf__launch(device, &longer);
        if (status != CLF_OK || !exceeds) {
            return status;
        }
    }
    return clf__launch(device, &kernel);
}
