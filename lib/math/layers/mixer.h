/* The mixer of a layer: the first sub-layer, which combines the rows of a sequence, in a decoder only with
 * earlier rows. Between steps, self-attention keeps the keys and values of all rows, and a recurrent mixer
 * one vector. */
#ifndef CLF_LAYERS_MIXER_H
#define CLF_LAYERS_MIXER_H

#include "math/layers/attention.h"
#include "math/layers/norm.h"
#include "math/ops/average.h"

/* Each kind has its own members for parameters and record. */
struct clf__mixer {
    const struct clf__mixer_kind *kind;
    struct clf__attention_layer attention;
    struct clf__recurrence {
        struct clf__linear input; /* (2 D, D): forget gate, input */
    } recurrence;
    struct clf__averaging {
        struct clf__linear filters[CLF__AVERAGE_MOST_FILTERS]; /* filters of the mean, applied in order */
        struct clf__linear input_gate, mean_gate; /* (D, D); weights NULL: no gates, the filtered mean is
                                                   * the result */
        int filter_count;
        int last_is_plain; /* the last filter has no activation */
        enum clf__activation activation;
        int norm_first;
        const struct clf__norm *norm; /* the norm of the layer */
    } average;
    struct clf__windowing {
        int radius;
        struct clf__norm global_norm; /* normalises the sums of blocks; gamma NULL: none */
        const struct clf__norm *norm; /* the norm of the layer */
    } window;                         /* used with `attention` by local and transient-global attention */
};
struct clf__mixer_record {
    struct clf__attention_record attention;
};

/* The state between steps, per layer or shared by all layers of a decoder. The kind defines the tensors;
 * buffer NULL: unused. */
struct clf__mixer_state {
    struct clf__tensor parts[2];
};

/* One step: a new row for each of R hypotheses. */
struct clf__mixer_step {
    struct clf__tensor cache_rows;         /* (1, R) i32: the cache row of each hypothesis */
    struct clf__tensor parents;            /* (1, R) i32: the cache row of each parent in the previous step */
    struct clf__tensor positions;          /* (1, R) i32: the number of earlier rows of each hypothesis */
    struct clf__tensor relative;           /* (H, 2 R + 1) as in clf__mask; buffer NULL: none */
    const struct clf__mixer_state *shared; /* state shared by all layers */
    int buffer_index;                      /* alternates: 1, 0, 1, ... starting at the first step of a
                                            * session */
    double pairs;                /* pairs of a row and a visible row, for the profile; 0: not counted */
    int most_keys;               /* maximum number of visible keys per row; 0: unknown */
    struct clf__tensor partials; /* as in clf__attention_call */
    struct clf__tensor places;   /* (1, R) i32: cache row times positions, plus the position, if hypotheses
                                  * have several consecutive rows (a forced prefix); buffer NULL: one row
                                  * each */
};

/* The functions of a kind of mixer. For whole targets, the attention call holds the rows and masks. */
struct clf__mixer_kind {
    /* Reserves the states for this many cache rows. */
    clf_status (*reserve_state)(struct clf__mixer_state *state, struct clf__arena *arena,
                                const struct clf__mixer *mixer, int cache_rows, int positions);
    /* Reserves the state that all layers share. NULL: no shared state. */
    clf_status (*reserve_shared)(struct clf__mixer_state *shared, struct clf__arena *arena, int cache_rows,
                                 int positions);
    /* Moves the shared state from the parents to the new rows; called before the layers. NULL: no shared
     * state. */
    clf_status (*follow)(const struct clf__mixer_step *step);
    /* Like follow(), for a forced prefix: fills in the shared state of positions first .. first + count -
     * 1 of one cache row; cache_rows has `count` copies of it. NULL: the kind processes rows one at a
     * time. */
    clf_status (*expect)(const struct clf__mixer_step *step, const int32_t *cache_rows, int first, int count);
    /* step() and forward() compute y = Mixer(x) + residual, for a step and for whole targets. */
    clf_status (*step)(struct clf__tensor y,        /* (R, D) */
                       struct clf__tensor x,        /* (R, D) */
                       struct clf__tensor residual, /* (R, D) */
                       const struct clf__mixer *mixer, const struct clf__workspace *workspace,
                       const struct clf__mixer_step *step, const struct clf__mixer_state *state);
    clf_status (*forward)(struct clf__tensor y,        /* (N, D) */
                          struct clf__tensor x,        /* (N, D) */
                          struct clf__tensor residual, /* (N, D) */
                          const struct clf__mixer *mixer, const struct clf__workspace *workspace,
                          const struct clf__attention_call *call);
    /* y = dropout(Mixer(x)) + residual, with a record, and its backward pass. NULL: not trained. */
    clf_status (*reserve_record)(struct clf__mixer_record *record, struct clf__arena *arena,
                                 const struct clf__mixer *mixer, int rows);
    struct clf__mixer_record (*record_rows)(const struct clf__mixer_record *record, int rows);
    clf_status (*record)(struct clf__tensor y, struct clf__tensor x, struct clf__tensor residual,
                         const struct clf__mixer *mixer, const struct clf__mixer_record *record,
                         const struct clf__attention_training *training);
    clf_status (*backward)(const struct clf__branch *branch, const struct clf__mixer *gradient,
                           struct clf__tensor x, const struct clf__mixer *mixer,
                           const struct clf__mixer_record *record,
                           const struct clf__gradient_workspace *workspace,
                           const struct clf__attention_training *training);
    int norms_itself;        /* with pre-norm, the mixer receives x before the norm */
    int gives_maps;          /* forward() can write attention maps */
    int is_in_single_launch; /* supported by cl/layers/decoder_layer.cl */
};

/* Reserves both parts of a state: a vector of `columns` per cache row, before and after a step. `what` names
 * them in errors. */
clf_status clf__mixer_reserve_vectors(struct clf__mixer_state *state, struct clf__arena *arena,
                                      int cache_rows, int columns, const char *what);

/* The state of a layer is its keys and values, (cache rows * positions, H * width) each; the layers share
 * two tables, (cache rows, positions) i32, that map hypotheses to cache rows and are written alternately
 * (see math/ops/cache.h). */
extern const struct clf__mixer_kind clf__self_attention_mixer;
/* Returns the keys and values that self-attention reads in a step. */
struct clf__attention_history clf__self_attention_history(const struct clf__mixer_step *step,
                                                          const struct clf__mixer_state *state);

/* Returns the columns of workspace->projected for the queries, keys and values. */
struct clf__tensor clf__self_attention_projected(const struct clf__mixer *mixer,
                                                 const struct clf__workspace *workspace);
/* In a step, sets *context to attention's output (R, H d_v) in the workspace, in the type that the output
 * projection reads, from the queries, keys and values in workspace->projected. */
clf_status clf__self_attention_context(struct clf__tensor *context, const struct clf__mixer *mixer,
                                       const struct clf__workspace *workspace,
                                       const struct clf__mixer_step *step,
                                       const struct clf__mixer_state *state);

/* A simpler simple recurrent unit (math/ops/ssru.h). The state of a layer is c, (cache rows, D), in two
 * alternating buffers: before and after the step. The layers share nothing. */
extern const struct clf__mixer_kind clf__ssru_mixer;

/* Average attention (math/ops/average.h): filters and gates over the cumulative mean of a sequence's rows.
 * The state of a layer is that mean, (cache rows, D), in two alternating buffers. The layers share nothing.
 */
extern const struct clf__mixer_kind clf__average_mixer;

/* Encoder self-attention (Guo et al. 2022): local attention, and local attention with transient global
 * tokens. Only forward() is implemented, for pre-norm layers. */
extern const struct clf__mixer_kind clf__local_attention_mixer;
extern const struct clf__mixer_kind clf__transient_global_mixer;

#endif
