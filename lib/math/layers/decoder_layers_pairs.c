/* The decoder layers of a step, with the linear layers between two attentions in pairs. */
#include "base/environment.h"
#include "base/log.h"
#include "math/gemm/layout.h"
#include "math/layers/grid_barrier.h"
#include "math/layers/linear_pair.h"
#include "math/ops/operand.h"
#include "runtime/device/device.h"

clf_status clf__linear_pairs_reserve(struct clf__linear_pairs *pairs, struct clf__arena *arena, int rows,
                                     int d_model)
{
    const struct clf__caps *caps = clf__device_caps(arena->device);
    *pairs = (struct clf__linear_pairs){.fails_at = -1};
    if (caps->variant != CLF_VARIANT_GPU) {
        return CLF_OK;
    }
    pairs->is_split = !clf__grid_barrier_passes_rows(caps);
    CLF__TRY(clf__arena_reserve(arena, &pairs->counters, CLF__I32, 1, CLF__PAIR_COUNTERS,
                                "the counters of linear layers"));
    return clf__arena_reserve(arena, &pairs->operands, CLF__QUANTIZED,
                              rows < CLF__PAIR_ROWS ? rows : CLF__PAIR_ROWS, CLF__QUANTIZED_STRIDE(d_model),
                              "the operands of linear layers");
}

clf_status clf__linear_pairs_prepare(struct clf__linear_pairs *pairs)
{
    struct clf__buffer *counters = pairs->counters.buffer;
    return counters == NULL ? CLF_OK : clf__buffer_fill(counters, 0, clf__buffer_bytes(counters), 0.0f);
}

/* Returns whether a launch can contain a linear layer together with the layer `like`. */
static int is_pairable(const struct clf__linear *linear, const struct clf__linear *like)
{
    struct clf__weight_layout layout = clf__weight_layout(linear->weight),
                              other = clf__weight_layout(like->weight);
    return linear->scale == 1.0f && layout.precision == other.precision && layout.panel == CLF__PANEL &&
           layout.group == other.group && !layout.is_copied;
}

static int can_pair(const struct clf__layer *layer, const struct clf__workspace *workspace)
{
    if (!layer->mixer.kind->is_in_single_launch || layer->cross_attention.input.weight == NULL) {
        return 0;
    }
    const struct clf__linear *linears[CLF__DECODER_LINEARS];
    clf__decoder_layer_linears(linears, layer);
    for (int i = 0; i < CLF__DECODER_LINEARS; i++) {
        if (!is_pairable(linears[i], linears[0])) {
            return 0;
        }
    }
    struct clf__weight_layout layout = clf__weight_layout(linears[0]->weight);
    int reads_floats = clf__linear_row_operand(linears[0]) == CLF__F32,
        is_rounded = workspace->rounded.buffer != NULL;
    return reads_floats != is_rounded && (is_rounded || !clf__layout_has_matrix(layout));
}

static int has_few_rows(const struct clf__layer *layer, const struct clf__workspace *workspace, int is_split)
{
    const struct clf__caps *caps = clf__device_caps(clf__buffer_device(workspace->x.buffer));
    int rows = workspace->x.rows, most = is_split ? CLF__SPLIT_ROWS : CLF__PAIR_ROWS;
    return rows > 0 && rows <= most &&
           rows <= caps->tuning.values[CLF__TUNABLE_STEP_ROWS + clf__decoder_layer_precision(layer)];
}

/* Returns a pair without its linear layers: the norm between two sub-layers. */
static struct clf__linear_pair begin_pair(const struct clf__layer *layer, const struct clf__norm *own,
                                          const struct clf__norm *next,
                                          const struct clf__workspace *workspace,
                                          const struct clf__linear_pairs *pairs)
{
    int norm_first = layer->norm_first, is_rounded = workspace->rounded.buffer != NULL;
    int is_int8 = clf__decoder_layer_precision(layer) == CLF__PRECISION_INT8, rows = workspace->x.rows;
    struct clf__tensor quantized = pairs->operands;
    quantized.rows = rows;
    return (struct clf__linear_pair){
        .norm = norm_first ? next : own,
        .residual = workspace->x,
        .sums = norm_first ? workspace->x : workspace->normed,
        .normed = !norm_first             ? workspace->x
                  : is_rounded || is_int8 ? CLF__NO_TENSOR
                                          : workspace->normed,
        .operands = is_rounded ? workspace->rounded
                    : is_int8  ? quantized
                               : CLF__NO_TENSOR,
    };
}

/* The pairs of a layer. `next`: the layer after it. */
static struct clf__linear_pair query_pair(const struct clf__layer *layer,
                                          const struct clf__workspace *workspace,
                                          const struct clf__linear_pairs *pairs)
{
    struct clf__linear_pair pair =
        begin_pair(layer, &layer->mixer_norm, &layer->cross_attention_norm, workspace, pairs);
    pair.first = &layer->mixer.attention.output;
    pair.second = &layer->cross_attention.input;
    pair.y = clf__cross_attention_queries(&layer->cross_attention, workspace);
    return pair;
}

static struct clf__linear_pair feed_forward_pair(const struct clf__layer *layer,
                                                 const struct clf__workspace *workspace,
                                                 const struct clf__linear_pairs *pairs)
{
    const struct clf__feed_forward *feed = &layer->feed_forward;
    struct clf__linear_pair pair =
        begin_pair(layer, &layer->cross_attention_norm, &layer->feed_forward_norm, workspace, pairs);
    pair.first = &layer->cross_attention.output;
    pair.second = &feed->up;
    pair.activation = clf__feed_forward_activation(feed);
    pair.y = clf__feed_forward_expanded(feed, workspace);
    return pair;
}

static struct clf__linear_pair next_layer_pair(const struct clf__layer *layer, const struct clf__layer *next,
                                               const struct clf__workspace *workspace,
                                               const struct clf__linear_pairs *pairs)
{
    struct clf__linear_pair pair =
        begin_pair(layer, &layer->feed_forward_norm, &next->mixer_norm, workspace, pairs);
    pair.first = &layer->feed_forward.down;
    pair.second = &next->mixer.attention.input;
    pair.y = clf__self_attention_projected(&next->mixer, workspace);
    return pair;
}

static clf_status run_pair(struct clf__linear_pair pair, struct clf__tensor x,
                           struct clf__linear_pairs *pairs)
{
    pair.x = x;
    return clf__linear_pair_forward(&pair, pairs);
}

/* Compiles the kernels for pairs of the first layer. */
static int check_kernels(struct clf__linear_pairs *pairs, const struct clf__layer *layer,
                         const struct clf__workspace *workspace)
{
    const struct clf__linear_pair query = query_pair(layer, workspace, pairs),
                                  feed_forward = feed_forward_pair(layer, workspace, pairs),
                                  next = next_layer_pair(layer, layer, workspace, pairs);
    pairs->is_checked = clf__linear_pair_check(&query, pairs) &&
                        clf__linear_pair_check(&feed_forward, pairs) && clf__linear_pair_check(&next, pairs);
    clf__buffer_device(pairs->counters.buffer)->has_no_linear_pairs |= !pairs->is_checked;
    return pairs->is_checked;
}

int clf__linear_pairs_begin(const struct clf__layer *layers, int count,
                            const struct clf__workspace *workspace, const struct clf__layer_call *calls)
{
    struct clf__linear_pairs *pairs = calls->pairs;
    if (pairs == NULL || pairs->counters.buffer == NULL || calls->step == NULL ||
        calls->step->places.buffer != NULL) {
        return 0;
    }
    const struct clf_device *device = clf__buffer_device(pairs->counters.buffer);
    if (device->has_no_linear_pairs || (device->caps.without & CLF__WITHOUT_PAIRS) != 0) {
        return 0;
    }
    int together = 0;
    while (together < count && can_pair(&layers[together], workspace) &&
           layers[together].norm_first == layers->norm_first) {
        together++;
    }
    return together > 0 && has_few_rows(layers, workspace, pairs->is_split) &&
                   (pairs->is_checked || check_kernels(pairs, layers, workspace))
               ? together
               : 0;
}

static clf_status begin_layers(const struct clf__layer *layer, const struct clf__workspace *workspace)
{
    struct clf__sublayer sublayer;
    CLF__TRY(clf__sublayer_begin(&sublayer, &layer->mixer_norm, layer->norm_first, workspace));
    return clf__linear_forward(clf__self_attention_projected(&layer->mixer, workspace), sublayer.x,
                               &layer->mixer.attention.input, CLF__IDENTITY, CLF__NO_TENSOR);
}

static clf_status end_layers(const struct clf__layer *layer, struct clf__tensor hidden,
                             const struct clf__workspace *workspace)
{
    const struct clf__sublayer sublayer = {.norm = &layer->feed_forward_norm,
                                           .norm_first = layer->norm_first,
                                           .y = layer->norm_first ? workspace->x : workspace->normed};
    CLF__TRY(clf__linear_forward(sublayer.y, hidden, &layer->feed_forward.down, CLF__IDENTITY, workspace->x));
    return clf__sublayer_end(&sublayer, workspace);
}

clf_status clf__decoder_layers_pairs(const struct clf__layer *layers, int count,
                                     const struct clf__workspace *workspace,
                                     const struct clf__layer_call *calls)
{
    struct clf__linear_pairs *pairs = calls->pairs;
    CLF__TRY(begin_layers(layers, workspace));
    for (int i = 0; i < count; i++) {
        const struct clf__layer *layer = &layers[i];
        const struct clf__mixer_step step = clf__layer_step(layer, &calls[i]);
        struct clf__tensor rows;
        CLF__TRY(clf__self_attention_context(&rows, &layer->mixer, workspace, &step, calls[i].state));
        CLF__TRY(run_pair(query_pair(layer, workspace, pairs), rows, pairs));
        CLF__TRY(clf__cross_attention_context(&rows, &layer->cross_attention, calls[i].memory, workspace,
                                              calls[i].cross_call));
        CLF__TRY(run_pair(feed_forward_pair(layer, workspace, pairs), rows, pairs));
        CLF__TRY(clf__feed_forward_gate(&rows, &layer->feed_forward, workspace));
        CLF__TRY(i + 1 < count ? run_pair(next_layer_pair(layer, layer + 1, workspace, pairs), rows, pairs)
                               : end_layers(layer, rows, workspace));
    }
    return CLF_OK;
}

int clf__linear_pairs_end(struct clf__linear_pairs *pairs, int failed)
{
    if (!pairs->is_running) {
        return 0;
    }
    struct clf_device *device = clf__buffer_device(pairs->counters.buffer);
    pairs->is_running = 0;
    if (failed) {
        clf__log(CLF_LOG_WARNING,
                 "device %s: work-groups waited too long for other work-groups; decoding continues with one "
                 "launch per operation",
                 device->label);
        device->has_no_linear_pairs = 1;
    }
    return failed;
}
