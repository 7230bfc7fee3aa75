#include "ops/layernorm.h"

#include "ops/rows.h"

/* [kind][is there a beta] */
static const char *const defines[3][2] = {
    {"-DNORM=0", "-DNORM=0 -DHAS_BETA"},
    {"-DNORM=1", "-DNORM=1 -DHAS_BETA"},
    {"-DNORM=2", "-DNORM=2 -DHAS_BETA"},
};

clf_status clf__layernorm_forward(struct clf__tensor y, struct clf__tensor x, struct clf__tensor gamma,
                                  struct clf__tensor beta, enum clf__norm_kind kind, float eps)
{
    const struct clf__tensor views[] = {y, x, gamma, beta};
    const struct clf__argument extras[] = {CLF__FLOAT(eps)};
    struct clf__rows_launch launch = {
        .program = "layernorm",
        .cpu_kernel = "layernorm_forward_cpu",
        .gpu_kernel = "layernorm_forward_gpu",
        .defines = defines[kind][beta.buffer != NULL],
        .views = views,
        .view_count = 4,
        .rows = x.rows,
        .columns = x.columns,
        .extras = extras,
        .extra_count = 1,
        .cost = clf__rows_cost(x.rows, x.columns, kind == CLF__NORM_RMS ? 4 : 8, 2)};
    return clf__rows_launch(&launch);
}
