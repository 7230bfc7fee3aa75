#include "layers/attention.h"

static const struct clf__tensor no_residual = {.buffer = NULL};

void clf__attention_layer_free(struct clf__attention_layer *layer)
{
    clf__linear_free(&layer->input);
    clf__linear_free(&layer->memory);
    clf__linear_free(&layer->output);
}

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

/* The stacked projection of x, as column views of its three parts. */
struct projection {
    struct clf__tensor query, key, value;
};

static clf_status project_self(struct projection *out, struct clf__tensor x,
                               const struct clf__attention_layer *layer,
                               const struct clf__workspace *workspace)
{
    const struct clf__heads *heads = &layer->heads;
    struct clf__tensor all = clf__tensor_columns(workspace->projected, 0, clf__self_projection_width(heads));
    CLF__TRY(clf__linear_forward(all, x, &layer->input, CLF__IDENTITY, no_residual));
    out->query = clf__tensor_columns(all, 0, key_columns(heads));
    out->key = clf__tensor_columns(all, key_columns(heads), key_columns(heads));
    out->value = clf__tensor_columns(all, 2 * key_columns(heads), value_columns(heads));
    return CLF_OK;
}

static struct clf__tensor context_of(const struct clf__workspace *workspace, const struct clf__heads *heads)
{
    return clf__tensor_columns(workspace->context, 0, value_columns(heads));
}

clf_status clf__self_attention_forward(struct clf__tensor y, struct clf__tensor x,
                                       struct clf__tensor residual, const struct clf__attention_layer *layer,
                                       const struct clf__workspace *workspace,
                                       const struct clf__attention_call *call)
{
    struct projection projection;
    CLF__TRY(project_self(&projection, x, layer, workspace));
    struct clf__tensor context = context_of(workspace, &layer->heads);
    CLF__TRY(clf__attention_forward(context, projection.query, projection.key, projection.value, call));
    return clf__linear_forward(y, context, &layer->output, CLF__IDENTITY, residual);
}

clf_status clf__self_attention_step(struct clf__tensor y, struct clf__tensor x, struct clf__tensor residual,
                                    const struct clf__attention_layer *layer,
                                    const struct clf__workspace *workspace,
                                    const struct clf__attention_history *history)
{
    struct projection projection;
    CLF__TRY(project_self(&projection, x, layer, workspace));
    struct clf__tensor context = context_of(workspace, &layer->heads);
    CLF__TRY(clf__attention_step_forward(context, projection.query, projection.key, projection.value,
                                         &layer->heads, history));
    return clf__linear_forward(y, context, &layer->output, CLF__IDENTITY, residual);
}

clf_status clf__cross_attention_forward(struct clf__tensor y, struct clf__tensor x,
                                        struct clf__tensor residual, const struct clf__attention_layer *layer,
                                        struct clf__tensor memory, const struct clf__workspace *workspace,
                                        const struct clf__attention_call *call)
{
    const struct clf__heads *heads = &layer->heads;
    struct clf__tensor query = clf__tensor_columns(workspace->projected, 0, key_columns(heads));
    CLF__TRY(clf__linear_forward(query, x, &layer->input, CLF__IDENTITY, no_residual));
    struct clf__tensor key = clf__tensor_columns(memory, 0, key_columns(heads));
    struct clf__tensor value = clf__tensor_columns(memory, key_columns(heads), value_columns(heads));
    struct clf__tensor context = context_of(workspace, heads);
    CLF__TRY(clf__attention_forward(context, query, key, value, call));
    return clf__linear_forward(y, context, &layer->output, CLF__IDENTITY, residual);
}
