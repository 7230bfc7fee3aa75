#include "math/layers/front_end.h"

#include "base/minmax.h"
#include "math/ops/positions.h"
#include "math/ops/unfold.h"

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

const struct clf__front_end_kind clf__tokens_front_end = {
    .rows = as_many, .forward = tokens_forward, .backward = tokens_backward};

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

const struct clf__front_end_kind clf__frames_front_end = {
    .rows = as_many, .forward = frames_forward, .backward = frames_backward};

static int half_as_many(int count)
{
    return count / 2 + count % 2;
}

/* Returns the size of the scratch for one sequence: the output of the first convolution and the input
 * (im2col) of a convolution. */
static int64_t convolutions_scratch(int d_model, int feature_size, int frames)
{
    int64_t first = (int64_t)frames * feature_size, second = (int64_t)half_as_many(frames) * d_model;
    return (int64_t)frames * d_model + CLF__CONVOLUTION_WIDTH * clf__max_int64(first, second);
}

static clf_status convolve(struct clf__tensor y, struct clf__tensor x, const struct clf__linear *convolution,
                           struct clf__tensor room, int step)
{
    struct clf__tensor seen = clf__tensor_packed(room, y.rows, CLF__CONVOLUTION_WIDTH * x.columns);
    CLF__TRY(clf__unfold_forward(seen, x, CLF__CONVOLUTION_WIDTH, step));
    return clf__linear_forward(y, seen, convolution, CLF__GELU_ERF, CLF__NO_TENSOR);
}

static clf_status convolve_each(struct clf__tensor y, const struct clf__front_end *front_end,
                                const struct clf__front_end_input *input)
{
    for (int b = 0, row = 0; b < input->count; b++) {
        int frames = input->first[b + 1] - input->first[b], rows = half_as_many(frames);
        struct clf__tensor hidden = clf__tensor_packed(input->scratch, frames, y.columns);
        int used = frames * y.columns;
        struct clf__tensor room = clf__tensor_columns(input->scratch, used, input->scratch.columns - used);
        CLF__TRY(convolve(hidden, clf__tensor_rows(input->frames, input->first[b], frames),
                          &front_end->convolutions[0], room, 1));
        CLF__TRY(convolve(clf__tensor_rows(y, row, rows), hidden, &front_end->convolutions[1], room, 2));
        row += rows;
    }
    return CLF_OK;
}

static clf_status convolutions_forward(struct clf__tensor y, const struct clf__front_end *front_end,
                                       const struct clf__front_end_input *input, struct clf__tensor table,
                                       struct clf__tensor positions)
{
    CLF__TRY(input->record.buffer != NULL ? clf__convolutions_train(y, front_end, input)
                                          : convolve_each(y, front_end, input));
    return table.buffer != NULL ? clf__positions_forward(y, y, table, positions) : CLF_OK;
}

const struct clf__front_end_kind clf__convolutions_front_end = {.rows = half_as_many,
                                                                .scratch = convolutions_scratch,
                                                                .record = clf__convolutions_record,
                                                                .forward = convolutions_forward,
                                                                .backward = clf__convolutions_backward};
