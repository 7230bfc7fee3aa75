/* The activations that each layer of a stack overwrites. */
#ifndef CLF_LAYERS_WORKSPACE_H
#define CLF_LAYERS_WORKSPACE_H

#include "math/tensor/tensor.h"

struct clf__workspace {
    struct clf__tensor x;         /* (N, D) the residual stream */
    struct clf__tensor normed;    /* (N, D) */
    struct clf__tensor rounded;   /* (N, D) x or norm(x) as GEMMs read them: bf16, f16 or quantized; buffer
                                   * NULL: GEMMs read fp32 */
    struct clf__tensor projected; /* (N, H (2 K + d_v)) queries, keys, values in adjacent columns */
    struct clf__tensor context;   /* (N, H d_v) attention's output */
    struct clf__tensor hidden;    /* (N, F), or (N, 2 F) where the feed-forward is gated */
};

struct clf__workspace_widths {
    int d_model;
    int projected;
    int context;
    int hidden;
    enum clf__type operand; /* type of the rows that GEMMs read: clf__linear_row_operand() */
};

clf_status clf__workspace_reserve(struct clf__workspace *workspace, struct clf__arena *arena, int rows,
                                  const struct clf__workspace_widths *widths);

/* rounded = x, if the workspace has rounded rows. */
clf_status clf__workspace_round(const struct clf__workspace *workspace);
/* Returns x for GEMMs: the rounded rows if the workspace has them. */
struct clf__tensor clf__workspace_operand(const struct clf__workspace *workspace);

/* Returns the workspace with tensors cut to the first `rows` rows. */
struct clf__workspace clf__workspace_rows(const struct clf__workspace *workspace, int rows);

/* The outputs of the backward pass of a sub-layer's function f: dx = the gradient of its input, given dy,
 * the gradient of dropout(f(x)), plus residual (buffer NULL: none). dx may be dy and residual. */
struct clf__branch {
    struct clf__tensor dx, dy, residual;
};

/* The gradients that each layer overwrites in training, and the values that are recomputed. */
struct clf__gradient_workspace {
    struct clf__tensor x;         /* (N, D) the gradient of the residual stream */
    struct clf__tensor branch;    /* (N, D) gradient of a sub-layer's input or output */
    struct clf__tensor projected; /* (N, H (2 K + d_v)) */
    struct clf__tensor context;   /* (N, H d_v) */
    struct clf__tensor activated; /* (N, F) the feed-forward's activations, also in the forward pass */
    struct clf__tensor hidden;    /* (N, F), or (N, 2 F) where the feed-forward is gated */
    struct clf__tensor memory;    /* (source rows, H (K + d_v)) */
    struct clf__tensor scratch;   /* (1, n) floats for sums over rows */
};

struct clf__gradient_sizes {
    struct clf__workspace_widths widths;
    int rows, source_rows;
    int activated; /* F */
    int memory;    /* H (K + d_v) */
    size_t scratch;
};

clf_status clf__gradient_workspace_reserve(struct clf__gradient_workspace *workspace,
                                           struct clf__arena *arena, const struct clf__gradient_sizes *sizes);
struct clf__gradient_workspace clf__gradient_workspace_rows(const struct clf__gradient_workspace *workspace,
                                                            int rows, int source_rows);

#endif
