#include "layers/front_end.h"

#include "ops/positions.h"

static int as_many(int count)
{
    return count;
}

static clf_status tokens_forward(struct clf__tensor y, const struct clf__front_end *front_end,
                                 const struct clf__front_end_input *input, struct clf__tensor table,
                                 struct clf__tensor positions)
{
    return clf__embedding_forward(y, input->ids, front_end->tokens, front_end->scale, table, positions);
}

static clf_status tokens_backward(const struct clf__front_end *gradient, struct clf__tensor dy,
                                  const struct clf__front_end *front_end,
                                  const struct clf__front_end_input *input, struct clf__tensor scratch)
{
    (void)scratch;
    return clf__embedding_backward(gradient->tokens, dy, &input->id_groups, front_end->scale);
}

const struct clf__front_end_kind clf__tokens_front_end = {as_many, tokens_forward, tokens_backward};

static clf_status frames_forward(struct clf__tensor y, const struct clf__front_end *front_end,
                                 const struct clf__front_end_input *input, struct clf__tensor table,
                                 struct clf__tensor positions)
{
    CLF__TRY(clf__linear_forward(y, input->frames, &front_end->frames, CLF__IDENTITY, CLF__NO_TENSOR));
    return table.buffer != NULL ? clf__positions_forward(y, y, table, positions) : CLF_OK;
}

static clf_status frames_backward(const struct clf__front_end *gradient, struct clf__tensor dy,
                                  const struct clf__front_end *front_end,
                                  const struct clf__front_end_input *input, struct clf__tensor scratch)
{
    return clf__linear_backward(CLF__NO_TENSOR, &gradient->frames, dy, input->frames, &front_end->frames,
                                CLF__NO_TENSOR, scratch);
}

const struct clf__front_end_kind clf__frames_front_end = {as_many, frames_forward, frames_backward};
