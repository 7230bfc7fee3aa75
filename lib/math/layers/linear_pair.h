/* Two linear layers with the residual connection and the norm between them, in one launch of the GPU variant
 * (cl/layers/linear_pair.cl), or in two if the work-groups of a launch cannot wait for each other: the first
 * layer, and the second with the norm (cl/layers/norm_linear.cl). The results have the same bits as separate
 * launches. */
#ifndef CLF_LAYERS_LINEAR_PAIR_H
#define CLF_LAYERS_LINEAR_PAIR_H

#include "math/layers/layer.h"

/* sums = first(x) + residual, norm(sums), y = activation(second(norm(sums))). */
struct clf__linear_pair {
    const struct clf__linear *first, *second;
    const struct clf__norm *norm;
    enum clf__activation activation;
    struct clf__tensor x;        /* (R, inputs) fp32, or clf__linear_operand() of `first` */
    struct clf__tensor residual; /* (R, D) */
    struct clf__tensor sums;     /* (R, D); may be the residual */
    struct clf__tensor normed;   /* (R, D) norm(sums); may be the residual; buffer NULL: not stored */
    struct clf__tensor operands; /* (R, D) norm(sums) as `second` reads it; buffer NULL: it reads fp32 */
    struct clf__tensor y;        /* (R, outputs) fp32, or the operand type of the next layer */
};

/* The memory of the launches of a session. */
struct clf__linear_pairs {
    struct clf__tensor
        counters; /* (1, CLF__PAIR_COUNTERS) i32; buffer NULL: the device runs the CPU variant */
    struct clf__tensor operands; /* (R, D) rows that the second layer reads in int8 */
    struct clf__tensor
        failed;     /* (1, 1) i32: 0, or 1 after a group stopped waiting for others; owned by the caller */
    int is_split;   /* a pair takes two launches */
    int is_checked; /* the kernels compile and support the group size */
    int is_running; /* launches that wait were enqueued since the last clf__linear_pairs_end() */
    int fails_at;   /* for tests: the task that does not wait, see struct clf__linear_pair_sizes; -1: off */
    int most_looks; /* for tests: maximum reads of a counter in a wait; 0: the device's */
};

/* Reserves memory if the device runs the GPU variant. */
clf_status clf__linear_pairs_reserve(struct clf__linear_pairs *pairs, struct clf__arena *arena, int rows,
                                     int d_model);
/* Clears the counters; call it once, after the memory is allocated. */
clf_status clf__linear_pairs_prepare(struct clf__linear_pairs *pairs);

/* Returns how many of the first layers of a step can run with clf__decoder_layers_pairs() now. */
int clf__linear_pairs_begin(const struct clf__layer *layers, int count,
                            const struct clf__workspace *workspace, const struct clf__layer_call *calls);
/* Runs `count` layers. workspace->x is input and output, as in clf__layer_forward(). */
clf_status clf__decoder_layers_pairs(const struct clf__layer *layers, int count,
                                     const struct clf__workspace *workspace,
                                     const struct clf__layer_call *calls);
/* Must be called after the launches have ended, with the number read from pairs->failed. Returns whether the
 * launches failed; then they are disabled, and the caller must repeat the step. */
int clf__linear_pairs_end(struct clf__linear_pairs *pairs, int failed);

/* Runs a pair. The caller has called clf__linear_pairs_begin(). */
clf_status clf__linear_pair_forward(const struct clf__linear_pair *pair, struct clf__linear_pairs *pairs);
/* Compiles the kernel of a pair. Returns whether the device can run it. */
int clf__linear_pair_check(const struct clf__linear_pair *pair, const struct clf__linear_pairs *pairs);

#endif
