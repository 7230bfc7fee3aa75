#include "math/ops/adam.h"

#include <assert.h>
#include <math.h>

#include "base/minmax.h"
#include "math/ops/operand.h"
#include "runtime/device/caps.h"

/* Elements that a group processes at a time (BLOCK in cl/training/adam.cl), and maximum group counts. */
enum { BLOCK = CLF__ADAM_BLOCK, MOST_CPU_GROUPS = 256, MOST_GPU_GROUPS = 4096 };

static size_t blocks_of(size_t n)
{
    return (n + BLOCK - 1) / BLOCK;
}

static clf_status launch_stretches(struct clf__launch *launch, struct clf_device *device,
                                   const char *cpu_kernel, const char *gpu_kernel, int n)
{
    size_t blocks = blocks_of((size_t)n);
    launch->program = "adam";
    launch->cpu = (struct clf__grid)CLF__GRID(cpu_kernel, clf__min_size(blocks, MOST_CPU_GROUPS));
    launch->gpu = (struct clf__grid)CLF__GRID(gpu_kernel, clf__min_size(blocks, MOST_GPU_GROUPS));
    return clf__launch(device, launch);
}

clf_status clf__adam_update(struct clf__tensor w, struct clf__tensor m, struct clf__tensor v,
                            struct clf__tensor dw, const struct clf__adam *adam)
{
    int n = w.columns;
    assert(w.rows == 1 && m.columns == n && v.columns == n && dw.columns == n);
    if (n <= 0) {
        return CLF_OK;
    }
    const struct clf__argument arguments[] = {
        CLF__VECTOR(w),
        CLF__VECTOR(m),
        CLF__VECTOR(v),
        CLF__VECTOR(dw),
        CLF__INT(n),
        CLF__FLOAT((float)adam->gradient_scale),
        CLF__FLOAT((float)adam->coupled_decay),
        CLF__FLOAT((float)(1.0 - adam->beta1)),
        CLF__FLOAT((float)adam->beta2),
        CLF__FLOAT((float)(1.0 - adam->beta2)),
        CLF__FLOAT((float)(1.0 / sqrt(adam->correction2))),
        CLF__FLOAT((float)adam->epsilon),
        CLF__FLOAT((float)(1.0 - adam->rate * adam->decay)),
        CLF__FLOAT((float)(adam->rate / adam->correction1)),
    };
    struct clf__launch launch = {
        CLF__ARGUMENTS(arguments),
        .cost = {.operations = 16.0 * n, .bytes = 8.0 * sizeof(float) * n},
    };
    return launch_stretches(&launch, clf__buffer_device(w.buffer), "adam_update_cpu", "adam_update_gpu", n);
}

int clf__sum_squares_parts(size_t n)
{
    return (int)blocks_of(n);
}

clf_status clf__sum_squares(struct clf__tensor parts, struct clf__tensor x)
{
    int n = x.columns;
    assert(x.rows == 1 && parts.columns == clf__sum_squares_parts((size_t)n));
    if (n <= 0) {
        return CLF_OK;
    }
    const struct clf__argument arguments[] = {CLF__VECTOR(parts), CLF__VECTOR(x), CLF__INT(n)};
    struct clf__launch launch = {
        CLF__ARGUMENTS(arguments),
        .cost = {.operations = 2.0 * n, .bytes = (double)sizeof(float) * n},
    };
    return launch_stretches(&launch, clf__buffer_device(x.buffer), "sum_squares_cpu", "sum_squares_gpu", n);
}
