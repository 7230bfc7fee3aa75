/* A layer's mixer: its first sub-layer, by which a row learns of other rows; in the decoder, of those before
 * it. Self-attention keeps the keys and values of all of them from step to step; a recurrent one keeps a
 * vector.
 */
#ifndef CLF_LAYERS_MIXER_H
#define CLF_LAYERS_MIXER_H

#include "layers/attention.h"
#include "layers/norm.h"
#include "ops/average.h"

/* A kind's parameters are a member of their own, and so is its record. */
struct clf__mixer {
    const struct clf__mixer_kind *kind;
    struct clf__attention_layer attention;
    struct clf__recurrence {
        struct clf__linear input; /* (2 D, D): what is forgotten, what is taken in */
    } recurrence;
    struct clf__averaging {
        struct clf__linear filters[CLF__AVERAGE_MOST_FILTERS]; /* of the mean, one after another */
        struct clf__linear input_gate, mean_gate; /* (D, D); weights NULL: what was filtered is it */
        int filter_count;
        int last_is_plain; /* the last filter has no activation */
        enum clf__activation activation;
        int norm_first;
        const struct clf__norm *norm; /* the layer's */
    } average;
    struct clf__windowing {
        int radius;
        struct clf__norm global_norm; /* normalises the sums of blocks; gamma NULL: none */
        const struct clf__norm *norm; /* the layer's */
    } window;                         /* used with `attention` by local and transient-global attention */
};
struct clf__mixer_record {
    struct clf__attention_record attention;
};

/* What is kept from step to step: by one layer, or by all layers of a decoder together. The kind says what
 * the tensors are; buffer NULL: it has no use for one. */
struct clf__mixer_state {
    struct clf__tensor parts[2];
};

/* One step: a new row for each of R hypotheses. */
struct clf__mixer_step {
    struct clf__tensor cache_rows; /* (1, R) i32: where each hypothesis keeps what it keeps */
    struct clf__tensor parents;    /* (1, R) i32: the cache rows of the step before that they follow */
    struct clf__tensor positions;  /* (1, R) i32: how many rows each hypothesis has before this one */
    struct clf__tensor relative;   /* (H, 2 R + 1) as in clf__mask; buffer NULL: none */
    const struct clf__mixer_state *shared; /* of all layers */
    int turn;                              /* 1, 0, 1, ..., from a session's first step on */
    double pairs;                /* of a row and a row that it sees, for the profile; 0: not counted */
    int most_keys;               /* that a row sees; 0: not known */
    struct clf__tensor partials; /* as in clf__attention_call */
    struct clf__tensor places;   /* (1, R) i32: cache row times positions, plus the position, of rows that are
                                    given together, several to a hypothesis one behind the other; buffer NULL:
                                    one to each */
};

/* Where whole targets lie, and what of them is hidden, is said by an attention call. */
struct clf__mixer_kind {
    /* Room for the states of so many cache rows. */
    clf_status (*reserve_state)(struct clf__mixer_state *state, struct clf__arena *arena,
                                const struct clf__mixer *mixer, int cache_rows, int positions);
    clf_status (*reserve_shared)(struct clf__mixer_state *shared, struct clf__arena *arena, int cache_rows,
                                 int positions);
    /* What all layers share follows the parents; called before the layers. */
    clf_status (*follow)(const struct clf__mixer_step *step);
    /* In its place, of rows that are given together: what all layers share knows of those at positions first
     * .. first + count - 1 of one cache row, of which there are `count` copies at cache_rows. NULL: the kind
     * takes rows one by one. */
    clf_status (*expect)(const struct clf__mixer_step *step, const int32_t *cache_rows, int first, int count);
    /* y = Mixer(x) + residual, of a step, and over whole targets. */
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
    /* y = dropout(Mixer(x)) + residual, with a record, and the way back. NULL: it is not trained. */
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
    int norms_itself;        /* where norms come first, the layer gives it x as it is */
    int gives_maps;          /* forward() writes the call's maps; else there are none to write */
    int is_in_single_launch; /* cl/layers/decoder_layer.cl has it; else a launch an op is taken */
};

/* A layer's state is its keys and values, (cache rows * positions, H * width) each; the layers share two
 * tables, (cache rows, positions) i32, of where each hypothesis finds them, written in turns (see
 * ops/cache.h). */
extern const struct clf__mixer_kind clf__self_attention_mixer;
/* What self-attention looks at in a step. */
struct clf__attention_history clf__self_attention_history(const struct clf__mixer_step *step,
                                                          const struct clf__mixer_state *state);

/* A simpler simple recurrent unit (ops/ssru.h). A layer's state is c, (cache rows, D), twice: as it was and
 * as it becomes, in turns; the layers share nothing. */
extern const struct clf__mixer_kind clf__ssru_mixer;

/* Average attention (ops/average.h): filters and gates over the mean of a sequence's rows up to each. A
 * layer's state is that mean, (cache rows, D), twice, in turns; the layers share nothing. */
extern const struct clf__mixer_kind clf__average_mixer;

/* Self-attention of an encoder (Guo et al. 2022): within a window, or within a window and to transient global
 * tokens. They have no other function than forward().
 * Norms come first. */
extern const struct clf__mixer_kind clf__local_attention_mixer;
extern const struct clf__mixer_kind clf__transient_global_mixer;

#endif
