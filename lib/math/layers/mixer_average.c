/* Follows marian-dev's src/models/transformer.h (LayerAAN): the mean is over the rows before the norm, and
 * with pre-norm the norm is applied to the mean; the gates and the residual use the rows before the norm. */
#include "math/layers/mixer.h"
#include "math/layers/norm.h"
#include "math/ops/average.h"
#include "math/ops/dropout.h"

static clf_status reserve_state(struct clf__mixer_state *state, struct clf__arena *arena,
                                const struct clf__mixer *mixer, int cache_rows, int positions)
{
    (void)positions; /* the state does not grow */
    return clf__mixer_reserve_vectors(state, arena, cache_rows, mixer->average.norm->gamma.columns,
                                      "the running means");
}

/* Applies the filters to the mean, alternating between two tensors of the workspace; *h is the output of
 * the last one, or `mean` without filters. */
static clf_status filter(struct clf__tensor *h, struct clf__tensor mean, const struct clf__averaging *average,
                         const struct clf__workspace *workspace)
{
    const struct clf__tensor rooms[] = {workspace->hidden, workspace->projected};
    *h = mean;
    for (int i = 0; i < average->filter_count; i++) {
        const struct clf__linear *linear = &average->filters[i];
        struct clf__tensor out = clf__tensor_columns(rooms[i % 2], 0, clf__weight_outputs(linear->weight));
        int is_plain = i + 1 == average->filter_count && average->last_is_plain;
        CLF__TRY(clf__linear_forward(out, *h, linear, is_plain ? CLF__IDENTITY : average->activation,
                                     CLF__NO_TENSOR));
        *h = out;
    }
    return CLF_OK;
}

/* Computes y from the rows x, which are also the residual, and their means. */
static clf_status finish(struct clf__tensor y, struct clf__tensor x, struct clf__tensor mean,
                         const struct clf__averaging *average, const struct clf__workspace *workspace)
{
    struct clf__tensor h;
    if (average->norm_first) {
        CLF__TRY(clf__norm_forward(mean, mean, average->norm));
    }
    CLF__TRY(filter(&h, mean, average, workspace));
    if (average->input_gate.weight == NULL) {
        static const struct clf__dropout none = CLF__NO_DROPOUT;
        return clf__dropout_forward(y, h, x, &none);
    }
    /* Use the tensor that the last filter did not write. */
    struct clf__tensor room = average->filter_count % 2 == 1 ? workspace->projected : workspace->hidden;
    struct clf__tensor gates = clf__tensor_columns(room, 0, 2 * y.columns);
    CLF__TRY(clf__linear_forward(clf__tensor_columns(gates, 0, y.columns), x, &average->input_gate,
                                 CLF__IDENTITY, CLF__NO_TENSOR));
    CLF__TRY(clf__linear_forward(clf__tensor_columns(gates, y.columns, y.columns), h, &average->mean_gate,
                                 CLF__IDENTITY, CLF__NO_TENSOR));
    return clf__average_gate(y, x, h, gates, x);
}

/* Several rows may have the same parent, so new means do not overwrite old ones. */
static clf_status step_forward(struct clf__tensor y, struct clf__tensor x, struct clf__tensor residual,
                               const struct clf__mixer *mixer, const struct clf__workspace *workspace,
                               const struct clf__mixer_step *step, const struct clf__mixer_state *state)
{
    (void)x;
    struct clf__tensor mean = clf__tensor_columns(workspace->context, 0, y.columns);
    CLF__TRY(clf__average_step(mean, residual, state->parts[step->buffer_index],
                               state->parts[!step->buffer_index], step->cache_rows, step->parents,
                               step->positions));
    return finish(y, residual, mean, &mixer->average, workspace);
}

static clf_status forward(struct clf__tensor y, struct clf__tensor x, struct clf__tensor residual,
                          const struct clf__mixer *mixer, const struct clf__workspace *workspace,
                          const struct clf__attention_call *call)
{
    (void)x;
    struct clf__tensor mean = clf__tensor_columns(workspace->context, 0, y.columns);
    CLF__TRY(clf__average_forward(mean, residual, call->ranges.table));
    return finish(y, residual, mean, &mixer->average, workspace);
}

const struct clf__mixer_kind clf__average_mixer = {
    .reserve_state = reserve_state,
    .step = step_forward,
    .forward = forward,
    .norms_itself = 1,
};
