#include "math/layers/mixer.h"
#include "math/ops/cache.h"

enum { KEYS, VALUES };

static clf_status reserve_state(struct clf__mixer_state *state, struct clf__arena *arena,
                                const struct clf__mixer *mixer, int cache_rows, int positions)
{
    const struct clf__heads *heads = &mixer->attention.heads;
    int64_t rows = (int64_t)cache_rows * positions;
    enum clf__type type = clf__cache_type(clf__weight_layout(mixer->attention.input.weight).precision);
    CLF__TRY(clf__arena_reserve(arena, &state->parts[KEYS], type, rows, heads->count * heads->key_width,
                                "the cache of keys"));
    return clf__arena_reserve(arena, &state->parts[VALUES], type, rows, heads->count * heads->value_width,
                              "the cache of values");
}

static clf_status reserve_shared(struct clf__mixer_state *shared, struct clf__arena *arena, int cache_rows,
                                 int positions)
{
    for (int i = 0; i < 2; i++) {
        CLF__TRY(clf__arena_reserve(arena, &shared->parts[i], CLF__I32, cache_rows, positions,
                                    "the table of the cache"));
    }
    return CLF_OK;
}

static clf_status follow(const struct clf__mixer_step *step)
{
    const struct clf__tensor *tables = step->shared->parts;
    return clf__cache_follow(tables[step->buffer_index], tables[!step->buffer_index], step->cache_rows,
                             step->parents, step->positions);
}

static clf_status expect(const struct clf__mixer_step *step, const int32_t *cache_rows, int first, int count)
{
    struct clf__tensor table = step->shared->parts[step->buffer_index];
    return clf__tensor_write(clf__tensor_columns(clf__tensor_rows(table, cache_rows[0], 1), first, count),
                             cache_rows);
}

struct clf__attention_history clf__self_attention_history(const struct clf__mixer_step *step,
                                                          const struct clf__mixer_state *state)
{
    struct clf__tensor table = step->shared->parts[step->buffer_index];
    return (struct clf__attention_history){
        .keys = state->parts[KEYS],
        .values = state->parts[VALUES],
        .table = table,
        .cache_rows = step->cache_rows,
        .positions = step->positions,
        .relative = step->relative,
        .cache_rows_total = table.rows,
        .pairs = step->pairs,
        .most_keys = step->most_keys,
        .partials = step->partials,
    };
}

/* Returns the columns of the workspace for this layer's heads. */
static struct clf__tensor projected_columns(struct clf__tensor all, const struct clf__heads *heads)
{
    return clf__tensor_columns(all, 0, clf__self_projection_width(heads));
}

static clf_status project(struct clf__projected *out, struct clf__tensor x,
                          const struct clf__attention_layer *layer, struct clf__tensor projected,
                          enum clf__type type)
{
    struct clf__tensor all = clf__tensor_as(projected_columns(projected, &layer->heads), type);
    *out = clf__split_self(all, &layer->heads);
    return clf__linear_forward(all, x, &layer->input, CLF__IDENTITY, CLF__NO_TENSOR);
}

struct clf__tensor clf__self_attention_projected(const struct clf__mixer *mixer,
                                                 const struct clf__workspace *workspace)
{
    return projected_columns(workspace->projected, &mixer->attention.heads);
}

clf_status clf__self_attention_context(struct clf__tensor *context, const struct clf__mixer *mixer,
                                       const struct clf__workspace *workspace,
                                       const struct clf__mixer_step *step,
                                       const struct clf__mixer_state *state)
{
    const struct clf__attention_layer *layer = &mixer->attention;
    const struct clf__heads *heads = &layer->heads;
    struct clf__attention_history history = clf__self_attention_history(step, state);
    *context = clf__tensor_columns(workspace->context, 0, heads->count * heads->value_width);
    enum clf__type operand = clf__linear_operand(&layer->output);
    if (clf__attention_step_writes(operand, clf__buffer_device(context->buffer))) {
        *context = clf__tensor_as(*context, operand); /* in the type that the output projection reads */
    }
    struct clf__projected projected = clf__split_self(clf__self_attention_projected(mixer, workspace), heads);
    if (step->places.buffer != NULL) { /* the rows attend to each other, so all keys must be stored first */
        CLF__TRY(clf__cache_place(history.keys, projected.key, step->places));
        CLF__TRY(clf__cache_place(history.values, projected.value, step->places));
        projected.key = projected.value = CLF__NO_TENSOR;
    }
    return clf__attention_step_forward(*context, projected.query, projected.key, projected.value, heads,
                                       &history);
}

static clf_status step_forward(struct clf__tensor y, struct clf__tensor x, struct clf__tensor residual,
                               const struct clf__mixer *mixer, const struct clf__workspace *workspace,
                               const struct clf__mixer_step *step, const struct clf__mixer_state *state)
{
    const struct clf__attention_layer *layer = &mixer->attention;
    struct clf__tensor context;
    CLF__TRY(clf__linear_forward(clf__self_attention_projected(mixer, workspace), x, &layer->input,
                                 CLF__IDENTITY, CLF__NO_TENSOR));
    CLF__TRY(clf__self_attention_context(&context, mixer, workspace, step, state));
    return clf__linear_forward(y, context, &layer->output, CLF__IDENTITY, residual);
}

static clf_status forward(struct clf__tensor y, struct clf__tensor x, struct clf__tensor residual,
                          const struct clf__mixer *mixer, const struct clf__workspace *workspace,
                          const struct clf__attention_call *call)
{
    struct clf__projected projected;
    CLF__TRY(project(&projected, x, &mixer->attention, workspace->projected,
                     clf__attention_operand(&mixer->attention, call)));
    return clf__attend(y, residual, &projected, &mixer->attention, workspace, call);
}

static clf_status reserve_record(struct clf__mixer_record *record, struct clf__arena *arena,
                                 const struct clf__mixer *mixer, int rows)
{
    return clf__attention_record_reserve(&record->attention, arena, &mixer->attention, rows, 0);
}

static struct clf__mixer_record record_rows(const struct clf__mixer_record *record, int rows)
{
    return (struct clf__mixer_record){clf__attention_record_rows(&record->attention, rows, 0)};
}

static clf_status record_forward(struct clf__tensor y, struct clf__tensor x, struct clf__tensor residual,
                                 const struct clf__mixer *mixer, const struct clf__mixer_record *record,
                                 const struct clf__attention_training *training)
{
    struct clf__projected projected;
    CLF__TRY(project(&projected, x, &mixer->attention, record->attention.projected, CLF__F32));
    return clf__attend_record(y, residual, &projected, &mixer->attention, &record->attention, training);
}

static clf_status backward(const struct clf__branch *branch, const struct clf__mixer *gradient,
                           struct clf__tensor x, const struct clf__mixer *mixer,
                           const struct clf__mixer_record *record,
                           const struct clf__gradient_workspace *workspace,
                           const struct clf__attention_training *training)
{
    const struct clf__attention_layer *layer = &mixer->attention;
    struct clf__tensor dall = projected_columns(workspace->projected, &layer->heads);
    struct clf__projected gradients = clf__split_self(dall, &layer->heads);
    struct clf__projected projected = clf__split_self(record->attention.projected, &layer->heads);
    CLF__TRY(clf__attend_backward(&gradients, &gradient->attention, branch->dy, &projected, layer,
                                  &record->attention, workspace, training));
    return clf__linear_backward(branch->dx, &gradient->attention.input, dall, x, &layer->input,
                                branch->residual, workspace->scratch);
}

const struct clf__mixer_kind clf__self_attention_mixer = {
    .reserve_state = reserve_state,
    .reserve_shared = reserve_shared,
    .follow = follow,
    .expect = expect,
    .step = step_forward,
    .forward = forward,
    .reserve_record = reserve_record,
    .record_rows = record_rows,
    .record = record_forward,
    .backward = backward,
    .gives_maps = 1,
    .is_in_single_launch = 1,
};
