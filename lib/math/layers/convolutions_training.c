/* Whisper's two convolutions in training: the sequences of a batch are concatenated, so each convolution
 * and each of its gradients is one GEMM. */
#include "base/minmax.h"
#include "math/layers/front_end.h"
#include "math/ops/activation.h"
#include "math/ops/unfold.h"

enum { WIDTH = CLF__CONVOLUTION_WIDTH, HALVING = 2 };

/* Parts of a record. */
struct parts {
    struct clf__tensor seen, sums; /* (frames, WIDTH features), (frames, D): inputs (im2col) and sums of
                                    * the first convolution */
    struct clf__tensor seen_then, sums_then; /* (rows, WIDTH D), (rows, D): inputs (im2col) and sums of the
                                              * second convolution */
    struct clf__tensor work;                 /* (1, n) */
};

static int64_t work_size(int64_t d_model, int64_t frames, int64_t rows)
{
    return clf__max_int64(frames * d_model, WIDTH * rows * d_model);
}

int64_t clf__convolutions_record(int d_model, int feature_size, int frames, int rows)
{
    int64_t kept = (int64_t)frames * (WIDTH * (int64_t)feature_size + d_model) +
                   (int64_t)rows * ((int64_t)WIDTH + 1) * d_model;
    return kept + work_size(d_model, frames, rows);
}

/* Takes the next part from the remainder of a record. */
static struct clf__tensor take(struct clf__tensor *left, int rows, int columns)
{
    struct clf__tensor part = clf__tensor_packed(*left, rows, columns);
    *left = clf__tensor_columns(*left, rows * columns, left->columns - rows * columns);
    return part;
}

static struct parts parts_of(const struct clf__front_end_input *input, int rows, int d_model)
{
    struct clf__tensor left = input->record;
    int frames = input->frames.rows;
    struct parts parts;
    parts.seen = take(&left, frames, WIDTH * input->frames.columns);
    parts.sums = take(&left, frames, d_model);
    parts.seen_then = take(&left, rows, WIDTH * d_model);
    parts.sums_then = take(&left, rows, d_model);
    parts.work = left;
    return parts;
}

/* The frames of a sequence, and the rows that the convolutions make of them. */
struct sequence {
    int first, frames, first_row, rows;
};

static struct sequence next_sequence(const struct sequence *before, const struct clf__front_end_input *input,
                                     int index)
{
    int first = input->first[index], frames = input->first[index + 1] - first;
    return (struct sequence){first, frames, before->first_row + before->rows, (frames + 1) / HALVING};
}

/* Copies the output of the first convolution to the input of the second, or the gradient in the other
 * direction. */
static clf_status fold(struct clf__tensor inner, struct clf__tensor seen,
                       const struct clf__front_end_input *input, int is_backward)
{
    struct sequence its = {0};
    for (int b = 0; b < input->count; b++) {
        its = next_sequence(&its, input, b);
        struct clf__tensor rows = clf__tensor_rows(seen, its.first_row, its.rows);
        struct clf__tensor frames = clf__tensor_rows(inner, its.first, its.frames);
        CLF__TRY(is_backward ? clf__unfold_backward(frames, rows, WIDTH, HALVING)
                             : clf__unfold_forward(rows, frames, WIDTH, HALVING));
    }
    return CLF_OK;
}

clf_status clf__convolutions_train(struct clf__tensor y, const struct clf__front_end *front_end,
                                   const struct clf__front_end_input *input)
{
    struct parts parts = parts_of(input, y.rows, y.columns);
    struct clf__tensor inner = clf__tensor_packed(parts.work, input->frames.rows, y.columns);
    for (int b = 0; b < input->count; b++) {
        int first = input->first[b], frames = input->first[b + 1] - first;
        CLF__TRY(clf__unfold_forward(clf__tensor_rows(parts.seen, first, frames),
                                     clf__tensor_rows(input->frames, first, frames), WIDTH, 1));
    }
    CLF__TRY(clf__linear_forward(parts.sums, parts.seen, &front_end->convolutions[0], CLF__IDENTITY,
                                 CLF__NO_TENSOR));
    CLF__TRY(clf__activation_forward(inner, parts.sums, CLF__GELU_ERF));
    CLF__TRY(fold(inner, parts.seen_then, input, 0));
    CLF__TRY(clf__linear_forward(parts.sums_then, parts.seen_then, &front_end->convolutions[1], CLF__IDENTITY,
                                 CLF__NO_TENSOR));
    return clf__activation_forward(y, parts.sums_then, CLF__GELU_ERF);
}

clf_status clf__convolutions_backward(const struct clf__front_end *gradient, struct clf__tensor dy,
                                      const struct clf__front_end *front_end,
                                      const struct clf__front_end_input *input, struct clf__tensor scratch)
{
    struct parts parts = parts_of(input, dy.rows, dy.columns);
    struct clf__tensor dseen = clf__tensor_packed(parts.work, dy.rows, WIDTH * dy.columns);
    CLF__TRY(clf__activation_backward(dy, dy, parts.sums_then, CLF__GELU_ERF));
    CLF__TRY(clf__linear_backward(dseen, &gradient->convolutions[1], dy, parts.seen_then,
                                  &front_end->convolutions[1], CLF__NO_TENSOR, scratch));
    /* The input of the second convolution is no longer needed; its memory is reused for the gradient of the
     * first convolution's output, which has fewer than three frames per row. */
    struct clf__tensor dinner = clf__tensor_packed(parts.seen_then, input->frames.rows, dy.columns);
    CLF__TRY(fold(dinner, dseen, input, 1));
    CLF__TRY(clf__activation_backward(dinner, dinner, parts.sums, CLF__GELU_ERF));
    return clf__linear_backward(CLF__NO_TENSOR, &gradient->convolutions[0], dinner, parts.seen,
                                &front_end->convolutions[0], CLF__NO_TENSOR, scratch);
}
