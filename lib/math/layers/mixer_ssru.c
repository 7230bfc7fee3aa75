#include "math/layers/mixer.h"
#include "math/ops/ssru.h"

static clf_status reserve_state(struct clf__mixer_state *state, struct clf__arena *arena,
                                const struct clf__mixer *mixer, int cache_rows, int positions)
{
    (void)positions; /* the state does not grow */
    return clf__mixer_reserve_vectors(
        state, arena, cache_rows, clf__weight_inputs(mixer->recurrence.input.weight), "the recurrent states");
}

/* Projects x; the new input is stored next to the forget gate. */
static clf_status project(struct clf__tensor *out, struct clf__tensor x, const struct clf__mixer *mixer,
                          const struct clf__workspace *workspace)
{
    *out = clf__tensor_columns(workspace->projected, 0, clf__weight_outputs(mixer->recurrence.input.weight));
    return clf__linear_forward(*out, x, &mixer->recurrence.input, CLF__IDENTITY, CLF__NO_TENSOR);
}

/* Several rows may have the same parent, so new states do not overwrite old ones. */
static clf_status step_forward(struct clf__tensor y, struct clf__tensor x, struct clf__tensor residual,
                               const struct clf__mixer *mixer, const struct clf__workspace *workspace,
                               const struct clf__mixer_step *step, const struct clf__mixer_state *state)
{
    struct clf__tensor projected;
    CLF__TRY(project(&projected, x, mixer, workspace));
    return clf__ssru_step(y, projected, residual, state->parts[step->buffer_index],
                          state->parts[!step->buffer_index], step->cache_rows, step->parents,
                          step->positions);
}

static clf_status forward(struct clf__tensor y, struct clf__tensor x, struct clf__tensor residual,
                          const struct clf__mixer *mixer, const struct clf__workspace *workspace,
                          const struct clf__attention_call *call)
{
    struct clf__tensor projected;
    CLF__TRY(project(&projected, x, mixer, workspace));
    return clf__ssru_forward(y, projected, residual, call->ranges.table);
}

const struct clf__mixer_kind clf__ssru_mixer = {
    .reserve_state = reserve_state,
    .step = step_forward,
    .forward = forward,
};
