#include "math/ops/layernorm.h"

#include <assert.h>
#include <stdio.h>

#include "math/ops/chunks.h"
#include "math/ops/operand.h"
#include "math/ops/rows.h"
#include "runtime/device/caps.h"

/* The maximum quads of a row that a work-item of the GPU variant holds in registers. */
enum { MOST_HELD = 4 };

/* The macros of cl/rows/layernorm.cl. */
struct norm_defines {
    char text[80];
};

static struct norm_defines defines_of(enum clf__norm_kind kind, struct clf__tensor beta, int held,
                                      struct clf__tensor rounded)
{
    struct norm_defines defines;
    char held_define[20] = "";
    if (held > 0) {
        snprintf(held_define, sizeof held_define, " -DHELD=%d", held);
    }
    snprintf(defines.text, sizeof defines.text, "-DNORM=%d%s%s%s", (int)kind,
             beta.buffer != NULL ? " -DHAS_BETA" : "", held_define,
             rounded.type == CLF__F16         ? " -DRESULT_PRECISION=1"
             : rounded.type == CLF__QUANTIZED ? " -DQUANTIZED"
                                              : "");
    return defines;
}

int clf__layernorm_held(int columns)
{
    int held = (columns - 1) / (4 * CLF__GROUP) + 1;
    return held <= MOST_HELD ? held : 0;
}

clf_status clf__layernorm_forward(struct clf__tensor y, struct clf__tensor rounded, struct clf__tensor x,
                                  struct clf__tensor gamma, struct clf__tensor beta, enum clf__norm_kind kind,
                                  float eps)
{
    const struct clf__tensor views[] = {y, rounded, x, gamma, beta};
    double matrices = 1.0 + (y.buffer != NULL ? 1.0 : 0.0) + (rounded.buffer != NULL ? 0.5 : 0.0);
    const struct clf__argument extras[] = {CLF__FLOAT(eps)};
    int is_gpu = clf__device_caps(clf__buffer_device(x.buffer))->variant == CLF_VARIANT_GPU;
    int held = is_gpu ? clf__layernorm_held(x.columns) : 0;
    const struct norm_defines defines = defines_of(kind, beta, held, rounded);
    struct clf__rows_launch launch = {
        .program = "layernorm",
        CLF__KERNELS("layernorm_forward"),
        .defines = defines.text,
        CLF__VIEWS(views),
        .rows = x.rows,
        .columns = x.columns,
        CLF__EXTRAS(extras),
        .cost = clf__rows_cost(x.rows, x.columns, kind == CLF__NORM_RMS ? 4 : 8, matrices)};
    return clf__rows_launch(&launch);
}

/* Rows per chunk. A group computes one chunk; the GPU variant needs more groups. */
enum { CPU_CHUNK_ROWS = 32, GPU_CHUNK_ROWS = 8 };

size_t clf__layernorm_backward_scratch(int rows, int columns)
{
    return (size_t)clf__chunks(rows, GPU_CHUNK_ROWS).count * 2 * (size_t)columns;
}

static clf_status add_sums(struct clf__tensor dgamma, struct clf__tensor dbeta, struct clf__tensor scratch,
                           int count)
{
    struct clf__tensor sums = scratch;
    sums.rows = count;
    sums.columns = dgamma.columns;
    sums.stride = 2 * dgamma.columns;
    CLF__TRY(clf__chunks_add(dgamma, sums, 1.0f));
    if (dbeta.buffer == NULL) {
        return CLF_OK;
    }
    sums.offset += (size_t)dgamma.columns;
    return clf__chunks_add(dbeta, sums, 1.0f);
}

clf_status clf__layernorm_backward(struct clf__tensor dx, struct clf__tensor dgamma, struct clf__tensor dbeta,
                                   struct clf__tensor dy, struct clf__tensor x, struct clf__tensor gamma,
                                   enum clf__norm_kind kind, float eps, struct clf__tensor scratch)
{
    assert(dy.columns == x.columns && dgamma.columns == x.columns &&
           (size_t)scratch.columns >= clf__layernorm_backward_scratch(x.rows, x.columns));
    if (x.rows <= 0) {
        return CLF_OK;
    }
    struct clf_device *device = clf__buffer_device(dx.buffer);
    int is_cpu = clf__device_caps(device)->variant == CLF_VARIANT_CPU;
    struct clf__chunks chunks = clf__chunks(x.rows, is_cpu ? CPU_CHUNK_ROWS : GPU_CHUNK_ROWS);
    const struct norm_defines defines = defines_of(kind, dbeta, 0, CLF__NO_TENSOR);
    const struct clf__argument arguments[] = {CLF__OPERAND(dx),    CLF__OPERAND(dy),      CLF__OPERAND(x),
                                              CLF__VECTOR(gamma),  CLF__VECTOR(scratch),  CLF__INT(x.rows),
                                              CLF__INT(x.columns), CLF__INT(chunks.rows), CLF__FLOAT(eps)};
    struct clf__launch launch = {
        .program = "layernorm",
        .defines = defines.text,
        CLF__GRIDS("layernorm_backward", (size_t)chunks.count),
        CLF__ARGUMENTS(arguments),
        .cost = clf__rows_cost(x.rows, x.columns, kind == CLF__NORM_RMS ? 15 : 20, 3),
    };
    CLF__TRY(clf__launch(device, &launch));
    return add_sums(dgamma, dbeta, scratch, chunks.count);
}
