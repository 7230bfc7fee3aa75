#include "math/layers/attention.h"

#include "math/ops/attention_local.h"
#include "math/ops/cache.h"

static int key_columns(const struct clf__heads *heads)
{
    return heads->count * heads->key_width;
}

static int value_columns(const struct clf__heads *heads)
{
    return heads->count * heads->value_width;
}

int clf__self_projection_width(const struct clf__heads *heads)
{
    return 2 * key_columns(heads) + value_columns(heads);
}

int clf__memory_projection_width(const struct clf__heads *heads)
{
    return key_columns(heads) + value_columns(heads);
}

struct clf__projected clf__split_self(struct clf__tensor all, const struct clf__heads *heads)
{
    int keys = key_columns(heads), values = value_columns(heads);
    return (struct clf__projected){.query = clf__tensor_columns(all, 0, keys),
                                   .key = clf__tensor_columns(all, keys, keys),
                                   .value = clf__tensor_columns(all, 2 * keys, values)};
}

static struct clf__projected split_cross(struct clf__tensor query, struct clf__tensor memory,
                                         const struct clf__heads *heads)
{
    int keys = key_columns(heads), values = value_columns(heads);
    return (struct clf__projected){.query = clf__tensor_columns(query, 0, keys),
                                   .key = clf__tensor_columns(memory, 0, keys),
                                   .value = clf__tensor_columns(memory, keys, values)};
}

/* Returns the call with the precision of the layer's weights. */
static struct clf__attention_call with_precision(const struct clf__attention_call *call,
                                                 const struct clf__attention_layer *layer)
{
    struct clf__attention_call own = *call;
    own.precision = clf__weight_layout(layer->output.weight).precision;
    return own;
}

enum clf__type clf__attention_operand(const struct clf__attention_layer *layer,
                                      const struct clf__attention_call *call)
{
    const struct clf__attention_call own = with_precision(call, layer);
    enum clf__type type = clf__linear_operand(&layer->input);
    const struct clf_device *device = clf__buffer_device(call->ranges.table.buffer);
    return type != CLF__F32 && clf__attention_reads(type, device, &own) ? type : CLF__F32;
}

clf_status clf__attention_context(struct clf__tensor *context, const struct clf__projected *projected,
                                  const struct clf__attention_layer *layer,
                                  const struct clf__workspace *workspace,
                                  const struct clf__attention_call *call)
{
    *context = clf__tensor_columns(workspace->context, 0, value_columns(&layer->heads));
    enum clf__type operand = clf__linear_operand(&layer->output);
    if (clf__attention_writes(operand, clf__buffer_device(context->buffer), call)) {
        *context = clf__tensor_as(*context, operand); /* in the type that the output projection reads */
    }
    const struct clf__attention_call own = with_precision(call, layer);
    return (own.window != NULL ? clf__attention_local_forward : clf__attention_forward)(
        *context, projected->query, projected->key, projected->value, &own);
}

clf_status clf__attend(struct clf__tensor y, struct clf__tensor residual,
                       const struct clf__projected *projected, const struct clf__attention_layer *layer,
                       const struct clf__workspace *workspace, const struct clf__attention_call *call)
{
    struct clf__tensor context;
    CLF__TRY(clf__attention_context(&context, projected, layer, workspace, call));
    return clf__linear_forward(y, context, &layer->output, CLF__IDENTITY, residual);
}

clf_status clf__attend_record(struct clf__tensor y, struct clf__tensor residual,
                              const struct clf__projected *projected,
                              const struct clf__attention_layer *layer,
                              const struct clf__attention_record *record,
                              const struct clf__attention_training *training)
{
    CLF__TRY(clf__attention_forward(record->context, projected->query, projected->key, projected->value,
                                    &training->call));
    return clf__linear_dropout_forward(y, record->context, &layer->output, residual, &training->output);
}

/* Converts the projected keys and values to the type that the call reads. */
static clf_status read_memory(struct clf__tensor *out, struct clf__tensor memory,
                              const struct clf__attention_call *call)
{
    *out = memory;
    if (memory.type == CLF__F32 || clf__attention_reads_halves(clf__buffer_device(memory.buffer), call)) {
        return CLF_OK;
    }
    *out = call->scratch->memory;
    return clf__cache_widen(*out, memory, &call->ranges);
}

struct clf__tensor clf__cross_attention_queries(const struct clf__attention_layer *layer,
                                                const struct clf__workspace *workspace)
{
    return clf__tensor_columns(workspace->projected, 0, key_columns(&layer->heads));
}

clf_status clf__cross_attention_context(struct clf__tensor *context, const struct clf__attention_layer *layer,
                                        struct clf__tensor memory, const struct clf__workspace *workspace,
                                        const struct clf__attention_call *call)
{
    CLF__TRY(read_memory(&memory, memory, call));
    struct clf__projected projected =
        split_cross(clf__cross_attention_queries(layer, workspace), memory, &layer->heads);
    return clf__attention_context(context, &projected, layer, workspace, call);
}

clf_status clf__cross_attention_forward(struct clf__tensor y, struct clf__tensor x,
                                        struct clf__tensor residual, const struct clf__attention_layer *layer,
                                        struct clf__tensor memory, const struct clf__workspace *workspace,
                                        const struct clf__attention_call *call)
{
    struct clf__tensor context, query = clf__cross_attention_queries(layer, workspace);
    CLF__TRY(clf__linear_forward(query, x, &layer->input, CLF__IDENTITY, CLF__NO_TENSOR));
    CLF__TRY(clf__cross_attention_context(&context, layer, memory, workspace, call));
    return clf__linear_forward(y, context, &layer->output, CLF__IDENTITY, residual);
}

clf_status clf__attention_record_reserve(struct clf__attention_record *record, struct clf__arena *arena,
                                         const struct clf__attention_layer *layer, int rows, int source_rows)
{
    CLF__TRY(clf__arena_reserve(arena, &record->projected, CLF__F32, rows,
                                clf__weight_outputs(layer->input.weight), "the queries, keys and values"));
    if (layer->memory.weight != NULL) {
        CLF__TRY(clf__arena_reserve(arena, &record->memory, CLF__F32, source_rows,
                                    clf__weight_outputs(layer->memory.weight),
                                    "the cross-attention's keys and values"));
    }
    return clf__arena_reserve(arena, &record->context, CLF__F32, rows, value_columns(&layer->heads),
                              "attention's output");
}

struct clf__attention_record clf__attention_record_rows(const struct clf__attention_record *record, int rows,
                                                        int source_rows)
{
    struct clf__attention_record out = {
        .projected = clf__tensor_rows(record->projected, 0, rows),
        .context = clf__tensor_rows(record->context, 0, rows),
    };
    if (record->memory.buffer != NULL) {
        out.memory = clf__tensor_rows(record->memory, 0, source_rows);
    }
    return out;
}

clf_status clf__attend_backward(const struct clf__projected *gradients,
                                const struct clf__attention_layer *gradient, struct clf__tensor dy,
                                const struct clf__projected *projected,
                                const struct clf__attention_layer *layer,
                                const struct clf__attention_record *record,
                                const struct clf__gradient_workspace *workspace,
                                const struct clf__attention_training *training)
{
    struct clf__tensor doutput;
    struct clf__tensor dcontext = clf__tensor_columns(workspace->context, 0, value_columns(&layer->heads));
    CLF__TRY(clf__dropout_gradient(&doutput, workspace->branch, dy, &training->output));
    CLF__TRY(clf__linear_backward(dcontext, &gradient->output, doutput, record->context, &layer->output,
                                  CLF__NO_TENSOR, workspace->scratch));
    const struct clf__attention_gradients out = {.query = gradients->query,
                                                 .key = gradients->key,
                                                 .value = gradients->value,
                                                 .relative = training->drelative,
                                                 .scratch = workspace->scratch};
    return clf__attention_backward(&out, dcontext, projected->query, projected->key, projected->value,
                                   record->context, &training->call);
}

clf_status clf__cross_attention_record(struct clf__tensor y, struct clf__tensor x,
                                       struct clf__tensor residual, const struct clf__encoded *encoded,
                                       const struct clf__attention_layer *layer,
                                       const struct clf__attention_record *record,
                                       const struct clf__attention_training *training)
{
    CLF__TRY(clf__linear_forward(record->memory, encoded->x, &layer->memory, CLF__IDENTITY, CLF__NO_TENSOR));
    CLF__TRY(clf__linear_forward(record->projected, x, &layer->input, CLF__IDENTITY, CLF__NO_TENSOR));
    struct clf__projected projected = split_cross(record->projected, record->memory, &layer->heads);
    return clf__attend_record(y, residual, &projected, layer, record, training);
}

clf_status clf__cross_attention_backward(const struct clf__branch *branch, const struct clf__encoded *encoded,
                                         const struct clf__attention_layer *gradient, struct clf__tensor x,
                                         const struct clf__attention_layer *layer,
                                         const struct clf__attention_record *record,
                                         const struct clf__gradient_workspace *workspace,
                                         const struct clf__attention_training *training)
{
    const struct clf__heads *heads = &layer->heads;
    struct clf__tensor dquery = clf__tensor_columns(workspace->projected, 0, key_columns(heads));
    struct clf__projected projected = split_cross(record->projected, record->memory, heads);
    struct clf__projected gradients = split_cross(dquery, workspace->memory, heads);
    CLF__TRY(clf__attend_backward(&gradients, gradient, branch->dy, &projected, layer, record, workspace,
                                  training));
    CLF__TRY(clf__linear_backward(encoded->dx, &gradient->memory, workspace->memory, encoded->x,
                                  &layer->memory, encoded->adds ? encoded->dx : CLF__NO_TENSOR,
                                  workspace->scratch));
    return clf__linear_backward(branch->dx, &gradient->input, dquery, x, &layer->input, branch->residual,
                                workspace->scratch);
}
