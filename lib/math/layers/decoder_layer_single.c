#include <assert.h>
#include <stdio.h>

#include "base/minmax.h"
#include "math/layers/layer.h"
#include "math/ops/cache.h"
#include "math/ops/operand.h"
#include "runtime/device/caps.h"
#include "runtime/program/launch.h"

enum {
    BUFFERS = CLF__DECODER_ADDRESSES / 2,
    STORED = 8 /* addresses that cl/layers/addresses.cl stores per launch */
};

static int is_plain(const struct clf__linear *linear)
{
    struct clf__weight_layout layout = clf__weight_layout(linear->weight);
    return linear->scale == 1.0f && layout.panel > 1;
}

/* Returns whether steps of the layer can run in one launch with other layers. */
static int can_be_single(const struct clf__caps *caps, const struct clf__layer *layer)
{
    if (!layer->mixer.kind->is_in_single_launch) {
        return 0;
    }
    const struct clf__linear *linears[CLF__DECODER_LINEARS];
    clf__decoder_layer_linears(linears, layer);
    for (int i = 0; i < CLF__DECODER_LINEARS; i++) {
        if (!is_plain(linears[i])) {
            return 0;
        }
    }
    return caps->variant == CLF_VARIANT_CPU && caps->has_device_atomics && caps->has_fixed_addresses &&
           caps->attention == CLF_ATTENTION_FUSED && !layer->feed_forward.gated;
}

/* Lists the buffers of a layer in the order of struct layer in cl/layers/decoder_layer.cl. */
static void list_buffers(const struct clf__buffer **out, const struct clf__layer *layer)
{
    const struct clf__linear *linears[CLF__DECODER_LINEARS];
    clf__decoder_layer_linears(linears, layer);
    for (int i = 0; i < CLF__DECODER_LINEARS; i++) {
        *out++ = clf__weight_layout(linears[i]->weight).buffer;
        *out++ = linears[i]->bias;
    }
    /* The kernel applies a norm after each sub-layer; in pre-norm layers that is the norm of the next
     * sub-layer. */
    const struct clf__norm *norms[] = {&layer->mixer_norm, &layer->cross_attention_norm,
                                       &layer->feed_forward_norm};
    for (int i = 0; i < 3; i++) {
        const struct clf__norm *norm = norms[(i + (layer->norm_first ? 1 : 0)) % 3];
        *out++ = norm->gamma.buffer;
        *out++ = norm->beta.buffer;
    }
}

static clf_status store_addresses(struct clf__tensor addresses,
                                  const struct clf__buffer *const buffers[BUFFERS])
{
    int pointers = (int)(addresses.offset / 2);
    for (int first = 0; first < BUFFERS; first += STORED) {
        int count = clf__min_int(BUFFERS - first, STORED);
        struct clf__argument arguments[3 + STORED] = {
            CLF__BUFFER(addresses.buffer),
            CLF__INT(pointers + first),
            CLF__INT(count),
        };
        for (int i = 0; i < count; i++) {
            arguments[3 + i].buffer = buffers[first + i]; /* the remaining ones are null */
        }
        const struct clf__launch launch = {
            .program = "addresses",
            .cpu = CLF__GRID("addresses_store_cpu", 1),
            .arguments = arguments,
            .argument_count = 3 + STORED,
        };
        CLF__TRY(clf__launch(clf__buffer_device(addresses.buffer), &launch));
    }
    return CLF_OK;
}

clf_status clf__decoder_layers_store_addresses(struct clf__tensor *addresses, const struct clf__layer *layers,
                                               const struct clf__mixer_state *states,
                                               const struct clf__tensor *memory)
{
    const struct clf__caps *caps = clf__device_caps(clf__buffer_device(addresses->buffer));
    for (int i = 0; i < addresses->rows; i++) {
        if (!can_be_single(caps, &layers[i])) {
            addresses->buffer = NULL;
            return CLF_OK;
        }
        const struct clf__buffer *buffers[BUFFERS];
        list_buffers(buffers, &layers[i]);
        buffers[BUFFERS - 3] = states[i].parts[0].buffer; /* keys and values of self-attention */
        buffers[BUFFERS - 2] = states[i].parts[1].buffer;
        buffers[BUFFERS - 1] = memory[i].buffer;
        CLF__TRY(store_addresses(clf__tensor_rows(*addresses, i, 1), buffers));
    }
    return CLF_OK;
}

/* Returns whether this call can run in one launch with other layers, and is faster that way. */
static int is_single(const struct clf__layer *layer, int rows, const struct clf__layer_call *call)
{
    const struct clf__attention_call *cross = call->cross_call;
    if (call->addresses.buffer == NULL || call->step == NULL || rows == 0 ||
        (call->step->places.buffer != NULL && !cross->few_queries)) { /* a prefill has many queries */
        return 0;
    }
    const struct clf__caps *caps = clf__device_caps(clf__buffer_device(call->addresses.buffer));
    /* The limit is infinite unless `clformer tune` found that one launch per op is faster for many rows. */
    return rows <= caps->tuning.values[CLF__TUNABLE_STEP_ROWS + clf__decoder_layer_precision(layer)] &&
           cross->maps.buffer == NULL && cross->weights.buffer == NULL &&
           cross->mask.additive.buffer == NULL && cross->mask.relative.buffer == NULL && !cross->mask.causal;
}

int clf__decoder_layers_together(const struct clf__layer *layers, int count, int rows,
                                 const struct clf__layer_call *calls)
{
    int together = 0;
    while (together < count && is_single(&layers[together], rows, &calls[together])) {
        together++;
        if (layers->relative.table.buffer != NULL) { /* a launch supports only one bias */
            break;
        }
    }
    return together;
}

int clf__decoder_layers_take_start(const struct clf__layer *layers, int count, int rows,
                                   const struct clf__layer_call *calls, const struct clf__step_start *start)
{
    const struct clf__weight *tokens = start->front_end->tokens;
    return clf__decoder_layers_together(layers, count, rows, calls) > 0 && tokens != NULL &&
           clf__weight_layout(tokens).precision == clf__decoder_layer_precision(layers);
}

/* Writes the macros, which are the same for all layers of a decoder. */
static void write_defines(char *defines, size_t size, const struct clf__layer *layer,
                          struct clf__tensor memory)
{
    const struct clf__heads *heads = &layer->mixer.attention.heads;
    const struct clf__norm *norm = &layer->mixer_norm;
    snprintf(defines, size,
             "-DPRECISION=%d -DACTIVATION=%d -DNORM=%d%s -DNORM_FIRST=%d -DKEY_WIDTH=%d "
             "-DVALUE_WIDTH=%d%s",
             (int)clf__decoder_layer_precision(layer), (int)layer->feed_forward.activation, (int)norm->kind,
             norm->beta.buffer != NULL ? " -DHAS_BETA" : "", layer->norm_first, heads->key_width,
             heads->value_width, clf__cache_define(memory));
}

/* Adds the cost of the GEMMs and the attentions, as separate launches would count it. */
void clf__decoder_layer_add_cost(struct clf__cost *cost, const struct clf__layer *layer, int rows,
                                 const struct clf__layer_call *call)
{
    const struct clf__linear *linears[CLF__DECODER_LINEARS];
    clf__decoder_layer_linears(linears, layer);
    const struct clf__heads *heads = &layer->mixer.attention.heads;
    double pairs = call->step->pairs, memory_rows = call->memory.rows;
    enum clf__type type = call->memory.type;
    struct clf__cost self = clf__attention_cost(heads, rows, pairs, type, pairs);
    struct clf__cost cross =
        clf__attention_cost(heads, rows, memory_rows, type, call->cross_call->ranges.pairs);
    cost->operations += self.operations + cross.operations;
    cost->bytes += self.bytes + cross.bytes;
    for (int i = 0; i < CLF__DECODER_LINEARS; i++) {
        struct clf__cost product = clf__weight_cost(rows, linears[i]->weight, NULL);
        cost->operations += product.operations;
        cost->bytes += product.bytes;
        cost->precision = product.precision;
    }
}

static struct clf__attention_history history_of(const struct clf__layer *layer,
                                                const struct clf__layer_call *call)
{
    struct clf__attention_history history = clf__self_attention_history(call->step, call->state);
    if (layer->relative.table.buffer != NULL) {
        history.relative = layer->relative.table;
    }
    return history;
}

void clf__decoder_list_attentions(struct clf__attention_step_sizes *self, struct clf__attention_sizes *cross,
                                  const struct clf__heads *heads,
                                  const struct clf__attention_history *history,
                                  const struct clf__layer_call *call, int rows, int y_stride, int q_stride)
{
    const struct clf__attention_call *cross_call = call->cross_call;
    int keys = heads->count * heads->key_width;
    *self = clf__attention_step_sizes(heads, history, rows);
    self->y = (struct clf__place){0, y_stride};
    self->q = (struct clf__place){0, q_stride};
    self->own_k = (struct clf__place){keys, q_stride};
    self->own_v = (struct clf__place){2 * keys, q_stride};
    *cross = (struct clf__attention_sizes){
        .y = self->y,
        .q = self->q,
        .k = {0, call->memory.stride},
        .v = {keys, call->memory.stride},
        .ranges = CLF__PLACE(cross_call->ranges.table),
        .hidden = CLF__PLACE(cross_call->mask.hidden_keys),
        .sequences = cross_call->ranges.sequences,
        .heads = heads->count,
        .max_queries = cross_call->ranges.max_queries,
        .partials = CLF__PLACE(cross_call->partials),
        .parts = 1,
        .scale = heads->scale,
    };
}

/* Lists the sizes and offsets that are the same for all layers. */
static struct clf__decoder_step_sizes list_sizes(const struct clf__layer *layer,
                                                 const struct clf__workspace *workspace,
                                                 const struct clf__layer_call *call)
{
    const struct clf__attention_history history = history_of(layer, call);
    const struct clf__attention_call *cross = call->cross_call;
    struct clf__decoder_step_sizes sizes = {
        .x_stride = workspace->x.stride,
        .normed_stride = workspace->normed.stride,
        .projected_stride = workspace->projected.stride,
        .context_stride = workspace->context.stride,
        .hidden_stride = workspace->hidden.stride,
        .first_layer = (int)call->addresses.offset / CLF__DECODER_ADDRESSES,
        .d_model = workspace->x.columns,
        .ffn = layer->feed_forward.width,
        .is_chain = call->step->places.buffer != NULL,
        .epsilon = layer->mixer_norm.epsilon,
    };
    clf__decoder_list_attentions(&sizes.self, &sizes.cross, &layer->mixer.attention.heads, &history, call,
                                 workspace->x.rows, workspace->context.stride, workspace->projected.stride);
    if (cross->partials.buffer != NULL) {
        sizes.cross.parts = clf__attention_parts(cross->ranges.max_keys);
    }
    return sizes;
}

/* The arguments of the start of a step; null pointers if the launch does not include it. */
struct start_arguments {
    const struct clf__buffer *history, *parents, *ids, *embedding, *added, *added_rows;
    struct clf__step_start_sizes sizes;
};

static struct start_arguments list_start(const struct clf__layer_call *call)
{
    const struct clf__step_start *start = call->start;
    if (start == NULL) {
        return (struct start_arguments){.ids = NULL};
    }
    const struct clf__weight *tokens = start->front_end->tokens;
    struct clf__weight_layout layout = clf__weight_layout(tokens);
    struct clf__tensor history = call->step->shared->parts[!call->step->buffer_index],
                       parents = call->step->parents;
    return (struct start_arguments){
        .history = history.buffer,
        .parents = parents.buffer,
        .ids = start->ids.buffer,
        .embedding = layout.buffer,
        .added = start->table.buffer,
        .added_rows = start->positions.buffer,
        .sizes = {.history = CLF__PLACE(history),
                  .parents = CLF__PLACE(parents),
                  .ids = CLF__PLACE(start->ids),
                  .added = CLF__PLACE(start->table),
                  .added_rows = CLF__PLACE(start->positions),
                  .panel = layout.panel,
                  .vocabulary = clf__weight_outputs(tokens),
                  .added_count = start->table.rows,
                  .scale = start->front_end->scale},
    };
}

clf_status clf__decoder_layers_single(const struct clf__layer *layers, int count,
                                      const struct clf__workspace *workspace,
                                      const struct clf__layer_call *calls)
{
    struct clf_device *device = clf__buffer_device(workspace->x.buffer);
    int inputs = layers->feed_forward.width;
    inputs = inputs > workspace->x.columns ? inputs : workspace->x.columns;
    inputs = inputs > workspace->context.columns ? inputs : workspace->context.columns;
    CLF__TRY(clf__gemm_reserve(device, workspace->x.rows, inputs, clf__decoder_layer_precision(layers)));
    assert(calls->state->parts[0].type == calls->memory.type); /* the kernel reads both in one type */
    char defines[160];
    write_defines(defines, sizeof defines, layers, calls->memory);
    struct clf__decoder_step_sizes sizes = list_sizes(layers, workspace, calls);
    sizes.layers = count;
    const struct clf__attention_history history = history_of(layers, calls);
    const struct start_arguments start = list_start(calls);
    sizes.start = start.sizes;
    const struct clf__argument arguments[] = {
        CLF__BUFFER(calls->counters.buffer),
        CLF__BUFFER(calls->addresses.buffer),
        CLF__BUFFER(workspace->x.buffer),
        CLF__BUFFER(workspace->normed.buffer),
        CLF__BUFFER(workspace->projected.buffer),
        CLF__BUFFER(workspace->context.buffer),
        CLF__BUFFER(workspace->hidden.buffer),
        CLF__BUFFER(clf__gemm_scratch(device)),
        CLF__BUFFER(calls->cross_call->partials.buffer),
        CLF__BUFFER(history.table.buffer),
        CLF__BUFFER(history.cache_rows.buffer),
        CLF__BUFFER(history.positions.buffer),
        CLF__BUFFER(history.relative.buffer),
        CLF__BUFFER(calls->cross_call->ranges.table.buffer),
        CLF__BUFFER(calls->cross_call->mask.hidden_keys.buffer),
        CLF__BUFFER(start.history),
        CLF__BUFFER(start.parents),
        CLF__BUFFER(start.ids),
        CLF__BUFFER(start.embedding),
        CLF__BUFFER(start.added),
        CLF__BUFFER(start.added_rows),
        CLF__STRUCT(sizes),
    };
    struct clf__cost cost = {.operations = 0.0};
    for (int i = 0; i < count; i++) {
        clf__decoder_layer_add_cost(&cost, &layers[i], workspace->x.rows, &calls[i]);
    }
    const struct clf__launch launch = {
        .program = "decoder_layer",
        .defines = defines,
        .cpu = CLF__GRID("decoder_layer_step_cpu", clf__device_caps(device)->compute_units),
        CLF__ARGUMENTS(arguments),
        .cost = cost,
    };
    return clf__launch(device, &launch);
}
