#include "device/buffer.h"
#include "device/caps.h"
#include "device/launch.h"
#include "gemm/activations.h"
#include "gemm/provider.h"

/* Of cl/gemm_int8.cl's GPU form. */
enum { TILE = 64, SKINNY_ROWS = 8 };

/* How a kernel's work is dealt out. */
struct plan {
    const char *kernel;
    size_t groups[2], local;
    size_t share; /* rows a group of the CPU form */
};

static struct plan plan_of(const struct clf__caps *caps, int rows, const struct clf__weight *weight)
{
    size_t panels = clf__ceil_divide((size_t)weight->outputs, CLF__PANEL);
    int skinny_rows = caps->tuning.values[CLF__KNOB_SKINNY_ROWS + CLF_PRECISION_INT8];
    if (caps->form == CLF_FORM_GPU && rows <= skinny_rows) {
        return (struct plan){
            "gemm_int8_skinny_gpu", {panels, clf__ceil_divide((size_t)rows, SKINNY_ROWS)}, CLF__GROUP, 0};
    }
    if (caps->form == CLF_FORM_GPU) {
        size_t across = clf__ceil_divide((size_t)weight->outputs, TILE);
        return (struct plan){
            "gemm_int8_tile_gpu", {across, clf__ceil_divide((size_t)rows, TILE)}, CLF__GROUP, 0};
    }
    size_t share = clf__cpu_rows_per_group((size_t)rows, (size_t)weight->inputs, panels, caps);
    return (struct plan){"gemm_int8_cpu", {panels, clf__ceil_divide((size_t)rows, share)}, 1, share};
}

clf_status clf__native_gemm_int8(struct clf__matrix y, struct clf__matrix x, int rows,
                                 const struct clf__weight *weight, const struct clf__epilogue *epilogue)
{
    struct plan plan = plan_of(clf__device_caps(weight->device), rows, weight);
    struct clf__activations packed;
    CLF__TRY(clf__activations_pack(&packed, weight->device, x, rows, weight->inputs, CLF_PRECISION_INT8));
    const struct clf__matrix *residual = &epilogue->residual;
    const struct clf__argument arguments[] = {
        CLF__BUFFER(y.buffer),           CLF__INT((int)y.offset),     CLF__INT(y.stride),
        CLF__BUFFER(packed.buffer),      CLF__INT(packed.pitch),      CLF__INT(rows),
        CLF__BUFFER(weight->buffer),     CLF__INT(weight->inputs),    CLF__INT(weight->outputs),
        CLF__FLOAT(epilogue->scale),     CLF__BUFFER(epilogue->bias), CLF__BUFFER(residual->buffer),
        CLF__INT((int)residual->offset), CLF__INT(residual->stride),  CLF__INT((int)plan.share),
    };
    struct clf__launch launch = {
        .program = "gemm_int8",
        .kernel = plan.kernel,
        .defines = clf__activation_define(epilogue->activation),
        .groups = {plan.groups[0], plan.groups[1]},
        .local = {plan.local},
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof *arguments - (plan.share == 0),
        .cost = clf__weight_cost(rows, weight, epilogue),
    };
    return clf__launch(weight->device, &launch);
}
