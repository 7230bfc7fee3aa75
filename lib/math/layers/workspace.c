#include "math/layers/workspace.h"

#include "math/gemm/layout.h"

static clf_status reserve_rounded(struct clf__tensor *rounded, struct clf__arena *arena, int rows,
                                  const struct clf__workspace_widths *widths)
{
    if (widths->operand == CLF__F32) {
        *rounded = CLF__NO_TENSOR;
        return CLF_OK;
    }
    int stride = widths->operand == CLF__QUANTIZED ? CLF__QUANTIZED_STRIDE(widths->d_model) : widths->d_model;
    CLF__TRY(clf__arena_reserve(arena, rounded, widths->operand, rows, stride, "the rounded rows"));
    rounded->columns = widths->d_model;
    return CLF_OK;
}

clf_status clf__workspace_reserve(struct clf__workspace *workspace, struct clf__arena *arena, int rows,
                                  const struct clf__workspace_widths *widths)
{
    CLF__TRY(clf__arena_reserve(arena, &workspace->x, CLF__F32, rows, widths->d_model, "the layers' rows"));
    CLF__TRY(clf__arena_reserve(arena, &workspace->normed, CLF__F32, rows, widths->d_model,
                                "the normalised rows"));
    CLF__TRY(reserve_rounded(&workspace->rounded, arena, rows, widths));
    CLF__TRY(clf__arena_reserve(arena, &workspace->projected, CLF__F32, rows, widths->projected,
                                "the queries, keys and values"));
    CLF__TRY(clf__arena_reserve(arena, &workspace->context, CLF__F32, rows, widths->context,
                                "attention's output"));
    return clf__arena_reserve(arena, &workspace->hidden, CLF__F32, rows, widths->hidden,
                              "the feed-forward rows");
}

struct clf__workspace clf__workspace_rows(const struct clf__workspace *workspace, int rows)
{
    struct clf__workspace cut = {
        .x = clf__tensor_rows(workspace->x, 0, rows),
        .normed = clf__tensor_rows(workspace->normed, 0, rows),
        .projected = clf__tensor_rows(workspace->projected, 0, rows),
        .context = clf__tensor_rows(workspace->context, 0, rows),
        .hidden = clf__tensor_rows(workspace->hidden, 0, rows),
    };
    if (workspace->rounded.buffer != NULL) {
        cut.rounded = clf__tensor_rows(workspace->rounded, 0, rows);
    }
    return cut;
}

clf_status clf__workspace_round(const struct clf__workspace *workspace)
{
    if (workspace->rounded.buffer == NULL) {
        return CLF_OK;
    }
    return clf__gemm_round(clf__tensor_matrix(workspace->rounded), clf__tensor_matrix(workspace->x),
                           workspace->x.rows, workspace->x.columns);
}

struct clf__tensor clf__workspace_operand(const struct clf__workspace *workspace)
{
    return workspace->rounded.buffer != NULL ? workspace->rounded : workspace->x;
}

clf_status clf__gradient_workspace_reserve(struct clf__gradient_workspace *workspace,
                                           struct clf__arena *arena, const struct clf__gradient_sizes *sizes)
{
    const struct clf__workspace_widths *widths = &sizes->widths;
    int rows = sizes->rows;
    CLF__TRY(clf__arena_reserve(arena, &workspace->x, CLF__F32, rows, widths->d_model,
                                "the gradient of the layers' rows"));
    CLF__TRY(clf__arena_reserve(arena, &workspace->branch, CLF__F32, rows, widths->d_model,
                                "the gradient of a sub-layer"));
    CLF__TRY(clf__arena_reserve(arena, &workspace->projected, CLF__F32, rows, widths->projected,
                                "the gradient of queries, keys and values"));
    CLF__TRY(clf__arena_reserve(arena, &workspace->context, CLF__F32, rows, widths->context,
                                "the gradient of attention's output"));
    CLF__TRY(clf__arena_reserve(arena, &workspace->activated, CLF__F32, rows, sizes->activated,
                                "the feed-forward's activations"));
    CLF__TRY(clf__arena_reserve(arena, &workspace->hidden, CLF__F32, rows, widths->hidden,
                                "the gradient of the feed-forward rows"));
    CLF__TRY(clf__arena_reserve(arena, &workspace->memory, CLF__F32, sizes->source_rows, sizes->memory,
                                "the gradient of the cross-attention's keys and values"));
    return clf__arena_reserve(arena, &workspace->scratch, CLF__F32, 1, (int64_t)sizes->scratch,
                              "the sums over rows");
}

struct clf__gradient_workspace clf__gradient_workspace_rows(const struct clf__gradient_workspace *workspace,
                                                            int rows, int source_rows)
{
    return (struct clf__gradient_workspace){
        .x = clf__tensor_rows(workspace->x, 0, rows),
        .branch = clf__tensor_rows(workspace->branch, 0, rows),
        .projected = clf__tensor_rows(workspace->projected, 0, rows),
        .context = clf__tensor_rows(workspace->context, 0, rows),
        .activated = clf__tensor_rows(workspace->activated, 0, rows),
        .hidden = clf__tensor_rows(workspace->hidden, 0, rows),
        .memory = clf__tensor_rows(workspace->memory, 0, source_rows),
        .scratch = workspace->scratch,
    };
}
