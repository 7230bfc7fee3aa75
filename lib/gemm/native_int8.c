#include "device/buffer.h"
#include "device/caps.h"
#include "gemm/activations.h"
#include "gemm/provider.h"
#include "program/launch.h"

/* Of cl/gemm/gemm_int8.cl's GPU form. */
enum { TILE = 64, SKINNY_ROWS = 8 };

clf_status clf__native_gemm_int8(struct clf__matrix y, struct clf__matrix x, int rows,
                                 const struct clf__weight *weight, const struct clf__epilogue *epilogue)
{
    const struct clf__caps *caps = clf__device_caps(weight->device);
    size_t panels = clf__ceil_divide((size_t)weight->outputs, CLF__PANEL);
    size_t tiles = clf__ceil_divide((size_t)weight->outputs, TILE);
    size_t share = clf__cpu_rows_per_group((size_t)rows, (size_t)weight->inputs, panels, caps);
    int skinny = rows <= caps->tuning.values[CLF__KNOB_SKINNY_ROWS + CLF_PRECISION_INT8];
    struct clf__activations packed;
    CLF__TRY(clf__activations_pack(&packed, weight->device, x, rows, weight->inputs, CLF_PRECISION_INT8));
    const struct clf__argument arguments[] = {
        CLF__MATRIX(y),
        CLF__BUFFER(packed.buffer),
        CLF__INT(packed.pitch),
        CLF__INT(rows),
        CLF__BUFFER(weight->buffer),
        CLF__INT(weight->inputs),
        CLF__INT(weight->outputs),
        CLF__EPILOGUE(epilogue),
        CLF__CPU_INT((int)share),
    };
    const struct clf__launch launch = {
        .program = "gemm_int8",
        .defines = clf__activation_define(epilogue->activation),
        .cpu = CLF__GRID("gemm_int8_cpu", panels, clf__ceil_divide((size_t)rows, share)),
        .gpu = CLF__GRID(skinny ? "gemm_int8_skinny_gpu" : "gemm_int8_tile_gpu", skinny ? panels : tiles,
                         clf__ceil_divide((size_t)rows, skinny ? SKINNY_ROWS : TILE)),
        CLF__ARGUMENTS(arguments),
        .cost = clf__weight_cost(rows, weight, epilogue),
    };
    return clf__launch(weight->device, &launch);
}
