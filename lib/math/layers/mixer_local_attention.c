/* Encoder self-attention of LongT5 (Guo et al. 2022, 3.2): local attention; the second kind adds global
 * tokens, which each layer computes from its normalised rows. */
#include "math/layers/mixer.h"
#include "math/ops/segments.h"

static clf_status forward_within(struct clf__tensor y, struct clf__tensor x, struct clf__tensor residual,
                                 const struct clf__mixer *mixer, const struct clf__workspace *workspace,
                                 const struct clf__attention_call *call,
                                 const struct clf__global_tokens *globals)
{
    const struct clf__attention_window window = {.radius = mixer->window.radius, .globals = globals};
    struct clf__attention_call own = *call;
    own.window = &window;
    return clf__self_attention_mixer.forward(y, x, residual, mixer, workspace, &own);
}

static clf_status local_forward(struct clf__tensor y, struct clf__tensor x, struct clf__tensor residual,
                                const struct clf__mixer *mixer, const struct clf__workspace *workspace,
                                const struct clf__attention_call *call)
{
    return forward_within(y, x, residual, mixer, workspace, call, NULL);
}

/* Computes the global tokens: the norm of the sum of a block's normalised rows, projected like other
 * rows. */
static clf_status make_globals(struct clf__global_tokens *out, struct clf__tensor normed,
                               const struct clf__mixer *mixer, const struct clf__attention_call *call)
{
    const struct clf__global_blocks *blocks = call->blocks;
    const struct clf__linear *input = &mixer->attention.input;
    const struct clf__attention_scratch *scratch = call->scratch;
    struct clf__tensor sums = clf__tensor_rows(scratch->blocks, 0, blocks->segments.rows);
    struct clf__tensor all = clf__tensor_rows(scratch->block_projection, 0, blocks->segments.rows);
    CLF__TRY(clf__segment_sums(sums, normed, blocks->segments));
    CLF__TRY(clf__norm_forward(sums, sums, &mixer->window.global_norm));
    CLF__TRY(clf__linear_forward(all, sums, input, CLF__IDENTITY, CLF__NO_TENSOR));
    struct clf__projected projected = clf__split_self(all, &mixer->attention.heads);
    *out = (struct clf__global_tokens){.keys = projected.key,
                                       .values = projected.value,
                                       .table = blocks->table,
                                       .relative = blocks->relative,
                                       .block_size = blocks->block_size,
                                       .most = blocks->most};
    return CLF_OK;
}

static clf_status global_forward(struct clf__tensor y, struct clf__tensor x, struct clf__tensor residual,
                                 const struct clf__mixer *mixer, const struct clf__workspace *workspace,
                                 const struct clf__attention_call *call)
{
    struct clf__global_tokens globals;
    int is_rounded = workspace->rounded.buffer != NULL, has_globals = call->blocks->segments.rows > 0;
    CLF__TRY(clf__norm_forward_rounded(workspace->normed, workspace->rounded, x, mixer->window.norm));
    if (has_globals) {
        CLF__TRY(make_globals(&globals, workspace->normed, mixer, call));
    }
    return forward_within(y, is_rounded ? workspace->rounded : workspace->normed, residual, mixer, workspace,
                          call, has_globals ? &globals : NULL);
}

const struct clf__mixer_kind clf__local_attention_mixer = {.forward = local_forward};

const struct clf__mixer_kind clf__transient_global_mixer = {.forward = global_forward, .norms_itself = 1};
