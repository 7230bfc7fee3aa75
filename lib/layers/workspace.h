/* The activations that a stack of layers writes over and over. */
#ifndef CLF_LAYERS_WORKSPACE_H
#define CLF_LAYERS_WORKSPACE_H

#include "tensor/tensor.h"

struct clf__workspace {
    struct clf__tensor x;         /* (N, D) what flows from layer to layer */
    struct clf__tensor normed;    /* (N, D) */
    struct clf__tensor projected; /* (N, H (2 K + d_v)) queries, keys, values side by side */
    struct clf__tensor context;   /* (N, H d_v) attention's output */
    struct clf__tensor hidden;    /* (N, F), or (N, 2 F) where the feed-forward is gated */
};

struct clf__workspace_widths {
    int d_model;
    int projected;
    int context;
    int hidden;
};

clf_status clf__workspace_reserve(struct clf__workspace *workspace, struct clf__arena *arena, int rows,
                                  const struct clf__workspace_widths *widths);

/* The same tensors cut to their first rows. */
struct clf__workspace clf__workspace_rows(const struct clf__workspace *workspace, int rows);

#endif
