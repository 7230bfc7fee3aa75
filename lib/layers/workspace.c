#include "layers/workspace.h"

clf_status clf__workspace_reserve(struct clf__workspace *workspace, struct clf__arena *arena, int rows,
                                  const struct clf__workspace_widths *widths)
{
    CLF__TRY(clf__arena_reserve(arena, &workspace->x, CLF__F32, rows, widths->d_model, "the layers' rows"));
    CLF__TRY(clf__arena_reserve(arena, &workspace->normed, CLF__F32, rows, widths->d_model,
                                "the normalised rows"));
    CLF__TRY(clf__arena_reserve(arena, &workspace->projected, CLF__F32, rows, widths->projected,
                                "the queries, keys and values"));
    CLF__TRY(clf__arena_reserve(arena, &workspace->context, CLF__F32, rows, widths->context,
                                "attention's output"));
    return clf__arena_reserve(arena, &workspace->hidden, CLF__F32, rows, widths->hidden,
                              "the feed-forward rows");
}

struct clf__workspace clf__workspace_rows(const struct clf__workspace *workspace, int rows)
{
    return (struct clf__workspace){
        .x = clf__tensor_rows(workspace->x, 0, rows),
        .normed = clf__tensor_rows(workspace->normed, 0, rows),
        .projected = clf__tensor_rows(workspace->projected, 0, rows),
        .context = clf__tensor_rows(workspace->context, 0, rows),
        .hidden = clf__tensor_rows(workspace->hidden, 0, rows),
    };
}
