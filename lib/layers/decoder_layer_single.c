#include "layers/decoder_layer_single.h"

#include <stdio.h>
#include <string.h>

#include "device/caps.h"
#include "ops/operand.h"
#include "program/launch.h"

enum { PRODUCTS = 6, COMMON_ARGUMENTS = 40, LAYER_ARGUMENTS = 21 };

static void list_products(const struct clf__linear *out[PRODUCTS], const struct clf__decoder_layer *layer)
{
    out[0] = &layer->mixer.attention.input;
    out[1] = &layer->mixer.attention.output;
    out[2] = &layer->cross_attention.input;
    out[3] = &layer->cross_attention.output;
    out[4] = &layer->feed_forward.up;
    out[5] = &layer->feed_forward.down;
}

static int is_plain(const struct clf__linear *linear)
{
    struct clf__weight_layout layout = clf__weight_layout(linear->weight);
    return linear->scale == 1.0f && layout.panel > 1;
}

/* Whether one layer's call can go in one launch and gains by it. */
static int is_single(const struct clf__decoder_layer *layer, int rows, const struct clf__decoder_call *call)
{
    if (call->counters.buffer == NULL || call->step == NULL || rows == 0 ||
        !layer->mixer.kind->is_in_single_launch) {
        return 0;
    }
    const struct clf__caps *caps = clf__device_caps(clf__buffer_device(call->counters.buffer));
    const struct clf__linear *linears[PRODUCTS];
    list_products(linears, layer);
    /* Beyond, the products are long enough to be launched by themselves. */
    if (rows > caps->tuning.values[CLF__KNOB_STEP_ROWS + clf__weight_layout(linears[0]->weight).precision]) {
        return 0;
    }
    for (int i = 0; i < PRODUCTS; i++) {
        if (!is_plain(linears[i])) {
            return 0;
        }
    }
    const struct clf__attention_call *cross = call->cross_call;
    return caps->form == CLF_FORM_CPU && caps->has_device_atomics && caps->attention == CLF_ATTENTION_FUSED &&
           !layer->feed_forward.gated && cross->maps.buffer == NULL && cross->mask.additive.buffer == NULL &&
           cross->mask.relative.buffer == NULL && !cross->mask.causal;
}

int clf__decoder_layers_together(const struct clf__decoder_layer *layers, int count, int rows,
                                 const struct clf__decoder_call *calls)
{
    int launches = (count + CLF__DECODER_LAUNCH_LAYERS - 1) / CLF__DECODER_LAUNCH_LAYERS;
    int together = (count + launches - 1) / launches; /* nearly equal parts: two programs at most */
    for (int i = 0; i < together; i++) {
        if (!is_single(&layers[i], rows, &calls[i])) {
            return 0;
        }
    }
    return together;
}

static clf_precision precision_of(const struct clf__decoder_layer *layer)
{
    return clf__weight_layout(layer->mixer.attention.input.weight).precision;
}

/* The macros that one decoder's layers fix. */
static void write_defines(char *defines, size_t size, const struct clf__decoder_layer *layer, int layers)
{
    const struct clf__heads *heads = &layer->mixer.attention.heads;
    const struct clf__norm *norm = &layer->mixer_norm;
    snprintf(defines, size,
             "-DPRECISION=%d -DACTIVATION=%d -DNORM=%d%s -DNORM_FIRST=%d -DKEY_WIDTH=%d "
             "-DVALUE_WIDTH=%d -DLAYERS=%d",
             (int)precision_of(layer), (int)layer->feed_forward.activation, (int)norm->kind,
             norm->beta.buffer != NULL ? " -DHAS_BETA" : "", layer->norm_first, heads->key_width,
             heads->value_width, layers);
}

/* The products, and the attentions as the launches an op count them. */
static void add_cost(struct clf__cost *cost, const struct clf__decoder_layer *layer, int rows,
                     const struct clf__decoder_call *call)
{
    const struct clf__linear *linears[PRODUCTS];
    list_products(linears, layer);
    const struct clf__heads *heads = &layer->mixer.attention.heads;
    double pairs = call->step->pairs, memory_rows = call->memory.rows;
    struct clf__cost self = clf__attention_cost(heads, rows, pairs, pairs);
    struct clf__cost cross = clf__attention_cost(heads, rows, memory_rows, call->cross_call->spans.pairs);
    cost->operations += self.operations + cross.operations;
    cost->bytes += self.bytes + cross.bytes;
    for (int i = 0; i < PRODUCTS; i++) {
        struct clf__cost product = clf__weight_cost(rows, linears[i]->weight, NULL);
        cost->operations += product.operations;
        cost->bytes += product.bytes;
        cost->precision = product.precision;
    }
}

#define BEGINNING(t) CLF__BUFFER((t).buffer), CLF__INT((t).stride) /* of a tensor that begins its buffer */
#define LINEAR(l)    CLF__BUFFER(clf__weight_layout((l).weight).buffer), CLF__BUFFER((l).bias)
#define NORM(n)      CLF__BUFFER((n)->gamma.buffer), CLF__BUFFER((n)->beta.buffer)

/* What all layers share: their sizes, the work space, and the tables of the step. */
static void list_common(struct clf__argument out[COMMON_ARGUMENTS], struct clf_device *device,
                        const struct clf__decoder_layer *layer, const struct clf__workspace *workspace,
                        const struct clf__decoder_call *call)
{
    const struct clf__attention_history its = clf__self_attention_history(call->step, call->state);
    const struct clf__attention_history *history = &its;
    const struct clf__spans *spans = &call->cross_call->spans;
    const struct clf__heads *heads = &layer->mixer.attention.heads;
    const struct clf__argument arguments[COMMON_ARGUMENTS] = {
        CLF__BUFFER(call->counters.buffer),
        CLF__INT(workspace->x.rows),
        CLF__INT(workspace->x.columns),
        CLF__INT(layer->feed_forward.width),
        CLF__INT(heads->count),
        CLF__FLOAT(heads->scale),
        CLF__FLOAT(layer->mixer_norm.epsilon),
        BEGINNING(workspace->x),
        BEGINNING(workspace->normed),
        BEGINNING(workspace->projected),
        BEGINNING(workspace->context),
        BEGINNING(workspace->hidden),
        CLF__BUFFER(clf__gemm_scratch(device)),
        CLF__INT(history->keys.stride),
        CLF__INT(history->values.stride),
        CLF__OPERAND(history->table),
        CLF__VECTOR(history->slots),
        CLF__VECTOR(history->positions),
        CLF__INT(history->table.columns),
        CLF__INT(history->slots_total),
        CLF__OPERAND(history->relative),
        CLF__INT((history->relative.columns - 1) / 2),
        CLF__INT(call->memory.stride),
        CLF__VECTOR(spans->table),
        CLF__INT(spans->sequences),
        CLF__INT(spans->max_queries),
        CLF__VECTOR(call->cross_call->mask.hidden_keys),
    };
    memcpy(out, arguments, sizeof arguments);
}

static void list_own(struct clf__argument out[LAYER_ARGUMENTS], const struct clf__decoder_layer *layer,
                     const struct clf__decoder_call *call)
{
    /* The kernel takes the norm after each sub-layer: with the norms first that is the next sub-layer's. */
    const struct clf__norm *norms[] = {&layer->mixer_norm, &layer->cross_attention_norm,
                                       &layer->feed_forward_norm};
    int first = layer->norm_first ? 1 : 0;
    const struct clf__attention_history history = clf__self_attention_history(call->step, call->state);
    const struct clf__argument arguments[LAYER_ARGUMENTS] = {
        LINEAR(layer->mixer.attention.input),
        LINEAR(layer->mixer.attention.output),
        LINEAR(layer->cross_attention.input),
        LINEAR(layer->cross_attention.output),
        LINEAR(layer->feed_forward.up),
        LINEAR(layer->feed_forward.down),
        NORM(norms[first]),
        NORM(norms[first + 1]),
        NORM(norms[(first + 2) % 3]),
        CLF__BUFFER(history.keys.buffer),
        CLF__BUFFER(history.values.buffer),
        CLF__BUFFER(call->memory.buffer),
    };
    memcpy(out, arguments, sizeof arguments);
}

clf_status clf__decoder_layers_single(const struct clf__decoder_layer *layers, int count,
                                      const struct clf__workspace *workspace,
                                      const struct clf__decoder_call *calls)
{
    struct clf_device *device = clf__buffer_device(workspace->x.buffer);
    int inputs = layers->feed_forward.width;
    inputs = inputs > workspace->x.columns ? inputs : workspace->x.columns;
    inputs = inputs > workspace->context.columns ? inputs : workspace->context.columns;
    CLF__TRY(clf__gemm_reserve(device, workspace->x.rows, inputs, precision_of(layers)));
    char defines[160];
    write_defines(defines, sizeof defines, layers, count);
    struct clf__argument arguments[COMMON_ARGUMENTS + CLF__DECODER_LAUNCH_LAYERS * LAYER_ARGUMENTS];
    list_common(arguments, device, layers, workspace, calls);
    struct clf__cost cost = {.operations = 0.0};
    for (int i = 0; i < count; i++) {
        list_own(arguments + COMMON_ARGUMENTS + i * LAYER_ARGUMENTS, &layers[i], &calls[i]);
        add_cost(&cost, &layers[i], workspace->x.rows, &calls[i]);
    }
    const struct clf__launch launch = {
        .program = "decoder_layer",
        .defines = defines,
        .cpu = CLF__GRID("decoder_layer_step_cpu", clf__device_caps(device)->compute_units),
        .arguments = arguments,
        .argument_count = COMMON_ARGUMENTS + count * LAYER_ARGUMENTS,
        .cost = cost,
    };
    return clf__launch(device, &launch);
}
