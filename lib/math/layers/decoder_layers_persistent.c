#include <stdio.h>

#include "base/environment.h"
#include "base/log.h"
#include "math/layers/grid_barrier.h"
#include "math/layers/persistent.h"
#include "math/ops/cache.h"
#include "math/ops/operand.h"
#include "runtime/device/device.h"
#include "runtime/device/exclusive.h"
#include "runtime/program/launch.h"

enum {
    WAYS = CLF__STAGE_GROUP / CLF__GROUP,
    PART_BYTES = CLF__STAGE_GROUP / 32 * CLF__WARP_BYTES,
    OCTET = 8
};
static const char kernel_name[] = "decoder_layers_gpu";

static int is_aligned(struct clf__tensor cache)
{
    return cache.stride % OCTET == 0;
}

/* The macros, which are the same for all layers of a decoder. */
struct persistent_defines {
    char text[160];
};

static struct persistent_defines list_defines(const struct clf__layer *layer,
                                              const struct clf__layer_call *call)
{
    const struct clf__heads *heads = &layer->mixer.attention.heads;
    const struct clf__norm *norm = &layer->mixer_norm;
    const struct clf__tensor *cache = call->state->parts;
    int held = clf__layernorm_held(norm->gamma.columns);
    int aligned = heads->key_width % OCTET == 0 && heads->value_width % OCTET == 0 && is_aligned(cache[0]) &&
                  is_aligned(cache[1]) && is_aligned(call->memory);
    char held_define[24] = "";
    if (held > 0) {
        snprintf(held_define, sizeof held_define, " -DHELD=%d", held);
    }
    struct persistent_defines defines;
    snprintf(defines.text, sizeof defines.text,
             "-DPRECISION=%d -DGROUPS_TOGETHER -DNORM=%d%s%s -DKEY_WIDTH=%d -DVALUE_WIDTH=%d%s%s",
             (int)clf__decoder_layer_precision(layer), (int)norm->kind,
             norm->beta.buffer != NULL ? " -DHAS_BETA" : "", held_define, heads->key_width,
             heads->value_width, clf__cache_define(call->memory), aligned ? " -DIS_ALIGNED" : "");
    return defines;
}

static size_t count_local_bytes(const struct clf__layer *layer)
{
    const struct clf__heads *heads = &layer->mixer.attention.heads;
    size_t attention = 16 * (size_t)CLF__STEP_LOCAL_QUADS((size_t)heads->key_width,
                                                          (size_t)heads->value_width, (size_t)WAYS);
    return attention > PART_BYTES ? attention : PART_BYTES;
}

/* Returns whether a persistent launch can contain this call. */
static int is_persistent(const struct clf__layer *layer, const struct clf__workspace *workspace,
                         const struct clf__layer_call *call)
{
    const struct clf__persistent *persistent = call->persistent;
    if (persistent == NULL || persistent->stages.buffer == NULL || call->step == NULL ||
        call->step->places.buffer != NULL || workspace->x.rows == 0) {
        return 0;
    }
    const struct clf_device *device = clf__buffer_device(persistent->stages.buffer);
    const struct clf__caps *caps = &device->caps;
    const struct clf__attention_call *cross = call->cross_call;
    const struct clf__tensor *rounded = &workspace->rounded;
    int most_rows = caps->tuning.values[CLF__TUNABLE_STEP_ROWS + clf__decoder_layer_precision(layer)];
    return !device->has_no_persistent_launches && workspace->x.rows <= CLF__PERSISTENT_ROWS &&
           workspace->x.rows <= most_rows && rounded->buffer != NULL &&
           rounded->offset % CLF__WORD_HALVES == 0 &&
           rounded->stride == persistent->rows[CLF__ROWS_OPERAND].stride && cross->maps.buffer == NULL &&
           cross->weights.buffer == NULL && cross->mask.additive.buffer == NULL &&
           cross->mask.relative.buffer == NULL && !cross->mask.causal &&
           caps->max_work_group >= CLF__STAGE_GROUP && (caps->without & CLF__WITHOUT_PERSISTENT) == 0;
}

static struct clf__grid list_grid(const struct clf_device *device)
{
    /* One group per compute unit: all groups must be resident. */
    return (struct clf__grid){
        .kernel = kernel_name, .groups = {device->caps.compute_units}, .local = {CLF__STAGE_GROUP}};
}

/* Compiles the kernel. Devices that cannot run it use one launch per op. */
static int check_kernel(struct clf__persistent *persistent, const struct clf__layer *layer,
                        const struct clf__layer_call *call)
{
    struct clf_device *device = clf__buffer_device(persistent->stages.buffer);
    const struct persistent_defines defines = list_defines(layer, call);
    const struct clf__argument arguments[] = {CLF__LOCAL(count_local_bytes(layer))};
    const struct clf__launch launch = {
        .program = kernel_name, .defines = defines.text, .gpu = list_grid(device), CLF__ARGUMENTS(arguments)};
    int exceeds = 0;
    clf_status status = clf__launch_check(&exceeds, device, &launch);
    if (status != CLF_OK || exceeds) {
        clf__log(CLF_LOG_INFO, "device %s: persistent launches are disabled: %s", device->label,
                 status != CLF_OK ? clf_last_error() : "their work-groups are too large");
        device->has_no_persistent_launches = 1;
        return 0;
    }
    persistent->is_checked = 1;
    return 1;
}

int clf__persistent_begin(const struct clf__layer *layers, int count, const struct clf__workspace *workspace,
                          const struct clf__layer_call *calls)
{
    int together = 0;
    while (together < count && is_persistent(&layers[together], workspace, &calls[together])) {
        together++;
    }
    if (together == 0) {
        return 0;
    }
    struct clf__persistent *persistent = calls->persistent;
    if (!persistent->is_checked && !check_kernel(persistent, layers, calls)) {
        return 0;
    }
    persistent->is_running =
        persistent->is_running || clf__device_claim(clf__buffer_device(persistent->stages.buffer));
    return persistent->is_running ? together : 0;
}

static struct clf__stages_sizes list_sizes(const struct clf__layer *layer,
                                           const struct clf__workspace *workspace,
                                           const struct clf__layer_call *call,
                                           const struct clf__attention_history *history)
{
    const struct clf__persistent *persistent = call->persistent;
    const struct clf__attention_call *cross = call->cross_call;
    const struct clf__heads *heads = &layer->mixer.attention.heads;
    int is_int8 = clf__decoder_layer_precision(layer) == CLF__PRECISION_INT8;
    struct clf__stages_sizes sizes = {
        .rounds = !layer->norm_first,
        .first = 1 + call->layer * persistent->layer_stages,
        .arrived = persistent->arrived,
        .fails_at = persistent->fails_at,
        .epsilon = layer->mixer_norm.epsilon,
    };
    clf__decoder_list_attentions(&sizes.self, &sizes.cross, heads, history, call, workspace->x.rows,
                                 persistent->rows[is_int8 ? CLF__ROWS_ATTENDED : CLF__ROWS_CONTEXT].stride,
                                 persistent->rows[CLF__ROWS_PROJECTED].stride);
    sizes.cross.parts = clf__attention_split(clf__buffer_device(workspace->x.buffer), heads,
                                             workspace->x.rows, cross->ranges.max_keys, cross->partials);
    sizes.self.k.offset = sizes.self.v.offset = 0; /* relative to the position that the stage gives */
    for (int i = 0; i < CLF__ROWS_COUNT; i++) {
        sizes.rows[i] = persistent->rows[i];
    }
    sizes.rows[CLF__ROWS_X] = (struct clf__place)CLF__PLACE(workspace->x);
    sizes.rows[CLF__ROWS_OPERAND] = (struct clf__place)CLF__PLACE(workspace->rounded);
    return sizes;
}

static clf_status launch(struct clf_device *device, const struct clf__layer *layer,
                         const struct clf__workspace *workspace, const struct clf__layer_call *call,
                         const struct clf__stages_sizes *sizes, struct clf__cost cost)
{
    const struct clf__persistent *persistent = call->persistent;
    const struct clf__attention_history history = clf__self_attention_history(call->step, call->state);
    const struct persistent_defines defines = list_defines(layer, call);
    const struct clf__buffer *const *b = persistent->buffers;
    const struct clf__argument arguments[] = {
        CLF__LOCAL(count_local_bytes(layer)),
        CLF__BUFFER(persistent->arrivals.buffer),
        CLF__BUFFER(persistent->failed.buffer),
        CLF__INT((int)persistent->failed.offset),
        CLF__BUFFER(persistent->stages.buffer),
        CLF__BUFFER(persistent->vectors.buffer),
        CLF__BUFFER(workspace->x.buffer),
        CLF__BUFFER(workspace->rounded.buffer),
        CLF__BUFFER(persistent->work.buffer),
        CLF__BUFFER(call->cross_call->partials.buffer),
        CLF__BUFFER(b[0]),
        CLF__BUFFER(b[1]),
        CLF__BUFFER(b[2]),
        CLF__BUFFER(b[3]),
        CLF__BUFFER(b[4]),
        CLF__BUFFER(b[5]),
        CLF__BUFFER(b[6]),
        CLF__BUFFER(b[7]),
        CLF__BUFFER(b[8]),
        CLF__BUFFER(b[9]),
        CLF__BUFFER(b[10]),
        CLF__BUFFER(b[11]),
        CLF__BUFFER(b[12]),
        CLF__BUFFER(b[13]),
        CLF__BUFFER(b[14]),
        CLF__BUFFER(b[15]),
        CLF__BUFFER(history.table.buffer),
        CLF__BUFFER(history.cache_rows.buffer),
        CLF__BUFFER(history.positions.buffer),
        CLF__BUFFER(history.relative.buffer),
        CLF__BUFFER(call->cross_call->ranges.table.buffer),
        CLF__BUFFER(call->cross_call->mask.hidden_keys.buffer),
        CLF__STRUCT(*sizes),
    };
    const struct clf__launch launch = {
        .program = kernel_name,
        .defines = defines.text,
        .gpu = list_grid(device),
        CLF__ARGUMENTS(arguments),
        .cost = cost,
    };
    return clf__launch(device, &launch);
}

clf_status clf__persistent_launch(const struct clf__layer *layers, int count,
                                  const struct clf__workspace *workspace, const struct clf__layer_call *calls)
{
    struct clf__persistent *persistent = calls->persistent;
    struct clf_device *device = clf__buffer_device(persistent->stages.buffer);
    struct clf__attention_history history = clf__self_attention_history(calls->step, calls->state);
    history.partials = calls->cross_call->partials; /* the kernel has a single buffer for partial sums */
    struct clf__stages_sizes sizes = list_sizes(layers, workspace, calls, &history);
    unsigned groups = device->caps.compute_units;
    sizes.count = count * persistent->layer_stages + sizes.rounds;
    sizes.most_looks = clf__grid_barrier_looks(device, persistent->most_looks);
    struct clf__cost cost = {.operations = 0.0};
    for (int i = 0; i < count; i++) {
        clf__decoder_layer_add_cost(&cost, &layers[i], workspace->x.rows, &calls[i]);
    }
    CLF__TRY(launch(device, layers, workspace, calls, &sizes, cost));
    persistent->arrived = (int)((unsigned)persistent->arrived + groups * (unsigned)(sizes.count - 1));
    return CLF_OK;
}

int clf__persistent_end(struct clf__persistent *persistent, int failed)
{
    if (!persistent->is_running) {
        return 0;
    }
    struct clf_device *device = clf__buffer_device(persistent->stages.buffer);
    persistent->is_running = 0;
    clf__device_release(device);
    if (failed) {
        clf__log(CLF_LOG_WARNING,
                 "device %s: the work-groups of a persistent launch did not run concurrently; decoding "
                 "continues with more launches",
                 device->label);
        device->has_no_persistent_launches = 1;
    }
    return failed;
}
