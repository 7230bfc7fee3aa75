/* The structure of a session, shared by the files of infer. */
#ifndef CLF_INFER_INTERNAL_H
#define CLF_INFER_INTERNAL_H

#include "math/layers/linear_pair.h"
#include "math/layers/persistent.h"
#include "math/layers/workspace.h"
#include "math/ops/attention.h"
#include "math/ops/draw.h"
#include "math/ops/projection.h"
#include "model/config/sides.h"
#include "model/infer/session.h"
#include "runtime/device/readback.h"

/* Number of reserved values at the start of a step's results; the first is persistent.failed and
 * pairs.failed. */
enum { CLF__STEP_HEADER = 4 };

/* The rows of the memory that a slot occupies. */
struct clf__session_slot {
    int first;    /* -1: free */
    int length;   /* rows of the source */
    int reserved; /* rows of the slot, at least `length` */
};

/* Shortlists, one per source. The position of a slot's words is determined by its rows in the memory. */
struct clf__shortlists {
    struct clf__tensor weight; /* (V, D) the projection's weight, row-major; buffer NULL: no shortlists */
    struct clf__tensor ids;    /* (1, n) i32 */
    struct clf__tensor logits; /* (1, m) */
    int32_t *host_ids;         /* (n) */
    int *counts;               /* (limits.sources) */
};

/* The shortlists of the rows of a step. */
struct clf__shortlisted_rows {
    struct clf__tensor starts, counts; /* (1, R) i32: position and number of the words of each row */
    struct clf__tensor banned,
        banned_offsets; /* as in struct clf__step, with positions in the shortlist instead of ids */
    int most;           /* maximum number of words of a row */
};

/* Device tables of a step: ids, positions and candidates, one row per hypothesis. */
struct clf__step_views {
    struct clf__tensor tokens, positions, position_rows, cache_rows, parents, banned_offsets, banned;
    struct clf__tensor places;          /* (1, R) as in struct clf__mixer_step; buffer NULL: not a chain */
    struct clf__tensor token_rows;      /* as in struct clf__step; buffer NULL: all -1 */
    struct clf__tensor choices;         /* (choices, CLF__CHOICE_WORDS); buffer NULL: none */
    struct clf__tensor previous_scores; /* (1, previous rows), with choices */
    struct clf__tensor ranges;          /* (rows, 2 M) */
    struct clf__tensor draws;           /* (draws, CLF__DRAW_WORDS) */
    struct clf__tensor picks;           /* (rows, 2 picks): each a range of one column of the logits */
    struct clf__sequence_ranges cross;
    double pairs; /* self-attention: total number of positions attended to */
    struct clf__shortlisted_rows shortlisted;
};

/* Launches whose groups wait for each other: a step may include some of this kind. */
enum clf__waiting { CLF__WAITING_NONE, CLF__WAITING_PERSISTENT, CLF__WAITING_PAIRS };

/* An enqueued step whose results have not been copied to the host. */
struct clf__queued_step {
    struct clf__readback *results; /* CLF__STEP_HEADER values, and the results of the step */
    struct clf__step_views views;
    int longest; /* maximum number of tokens of a hypothesis */
    enum clf__waiting waiting;
};

struct clf__session {
    struct clf__transformer *transformer;
    struct clf__session_limits limits;
    struct clf__arena arena;
    struct clf__workspace workspace; /* rows of the encoder, then rows of the decoder */
    struct clf__attention_scratch scratch;
    int source_rows;                  /* maximum number of encoder rows for limits.source_tokens */
    struct clf__tensor frames;        /* (source tokens, feature size) */
    struct clf__tensor front_scratch; /* (1, n) scratch of the front end; buffer NULL: none */
    struct clf__tensor *memory; /* per decoder layer: (source rows, H (K + d_v)) cross-attention keys and
                                   values; fp16 or bf16 if steps read 16 bits */
    struct clf__mixer_state *layer_states; /* cache of each decoder layer */
    struct clf__mixer_state shared_state;  /* state that all layers share */
    int buffer_index;                      /* buffer that the last step wrote */
    struct clf__layer_call *layer_calls;   /* calls of the decoder layers in the current pass */
    struct clf__tensor layer_addresses;    /* buffer addresses for running the decoder layers in one launch */
    struct clf__tensor partials;           /* partial results of attention in a step */
    struct clf__tensor counters;
    struct clf__persistent persistent; /* state for running the decoder layers in one persistent launch */
    struct clf__linear_pairs pairs;    /* state for running linear layers in pairs */
    struct clf__upload source;         /* tables of the encoded batch */
    struct clf__upload placed;         /* tables of the memory; positions of an encoded batch in the memory */
    struct clf__upload target;         /* tables of one step or of given targets */
    struct clf__projection_scratch projection;
    struct clf__shortlists shortlists;
    struct clf__tensor
        read_back; /* (1, CLF__STEP_HEADER + n): everything that the host reads after a step, in one copy */
    struct clf__tensor results; /* (1, n): the part of read_back after the header; results of a step or of
                                   clf__session_pick() */
    /* Enqueued steps, the oldest first; their tables alternate between the staging of `target` and
     * other_staging, because the device may still read them. */
    struct clf__queued_step queued[2];
    int queued_count;
    int32_t *other_staging;         /* NULL: one step at a time */
    struct clf__tensor beam_scores; /* (2, rows): scores of chosen rows of a step, by its buffer index; buffer
                                       NULL: one step at a time */
    int previous_rows, previous_candidates; /* sizes of the results of the last enqueued step */
    struct clf__tensor maps[2]; /* (H * queries, keys): self- and cross-attention weights of one layer; buffer
                                   NULL: not requested */
    struct clf__tensor looks;   /* (1, n): attention weights of a step's rows; buffer NULL: not requested */
    /* The last encoded batch. */
    int sources;
    int *source_first;             /* (sources + 1) */
    const int32_t *encoded_hidden; /* (rows), in the host buffer of `source` */
    /* The memory. */
    struct clf__session_slot *slots; /* (limits.sources) */
    int *occupied;                   /* (limits.sources) used slots, ordered by first row */
    int occupied_count;
    int *slot_numbers; /* (limits.sources) slots of a whole batch */
    struct clf__tensor
        hidden_sources; /* mask of source rows (1, source rows) i32; buffer NULL: no masked rows */
    /* The given targets. */
    int target_rows;
};

/* Returns the mixer of the decoder; all layers have the same one. */
static inline const struct clf__mixer_kind *clf__session_mixer(const struct clf__session *session)
{
    return session->transformer->decoder.layers[0].mixer.kind;
}

/* Returns the output projection of the session. */
struct clf__projection clf__session_projection(const struct clf__session *session);

/* candidates.c: the results of a step, in their order in session->results. */
struct clf__step_results {
    struct clf__tensor values, ids, statistics;
    struct clf__tensor range_values, range_ids, range_statistics; /* with ranges_each times the columns */
    struct clf__tensor draw_values, draw_ids, draw_logits;
    struct clf__tensor pick_values;
    int count;                                    /* total number of values */
    struct clf__tensor pick_ids, pick_statistics; /* after these values; the host does not read them */
};
struct clf__step_results clf__session_results(const struct clf__session *session,
                                              const struct clf__step *step);
/* Returns the maximum number of values that a step returns. */
int64_t clf__step_results(const struct clf__session_limits *limits);
/* Enqueues the computation of a step's results from its decoded rows. If the step wants logits, waits and
 * reads them. */
clf_status clf__session_find_candidates(struct clf__session *session, struct clf__step *step,
                                        const struct clf__step_views *views);
/* picks.c: enqueues the picks of rows from `first_row` on, from their logits before bans. */
clf_status clf__session_pick_logits(const struct clf__step_results *results, const struct clf__step *step,
                                    const struct clf__step_views *views, struct clf__tensor logits,
                                    int first_row);
/* Copies results to the step. */
void clf__session_copy_results(struct clf__step *step, const float *host);

/* shortlists.c: reserve memory; fill in the constant tables. */
clf_status clf__shortlists_reserve(struct clf__session *session);
clf_status clf__shortlists_fill(struct clf__session *session);
void clf__shortlists_free(struct clf__shortlists *shortlists);
/* Returns the number of integers that shortlists add to the upload of a step. */
int64_t clf__shortlists_upload(const struct clf__session_limits *limits);

void clf__shortlists_take_rows(struct clf__shortlisted_rows *rows, struct clf__session *session,
                               const struct clf__step *step);
/* clf__projection_top_k() for shortlists. */
clf_status clf__shortlists_top_k(const struct clf__step_results *results, const struct clf__session *session,
                                 const struct clf__step_views *views,
                                 const struct clf__projection *projection, struct clf__step *step);
/* Returns the position of an id in the shortlist of a slot, or -1. */
int clf__shortlists_find(const struct clf__session *session, int slot, int32_t id);

/* Where to store attention maps: layer i at self + i * self_stride and cross + i * cross_stride. */
struct clf__decoder_maps {
    float *self, *cross;
    size_t self_stride, cross_stride;
    /* Heads of cross-attention to store, cross_stride apart, in order; NULL: all heads. */
    const struct clf__session_head *heads;
    int head_count;
};

/* Initial size of position tables, which double for longer sequences, because the configured maximum may be
 * far larger than needed. */
enum { CLF__FIRST_POSITIONS = 4096 };
/* global_blocks.c: reserve memory for global tokens; return the number of integers in their upload; add the
 * blocks of a batch to the upload of `source`. */
clf_status clf__global_blocks_reserve(struct clf__session *session);
int64_t clf__global_blocks_upload(const struct clf__session *session);
void clf__global_blocks_take(struct clf__global_blocks *blocks, struct clf__session *session);

/* Enlarges position tables for sequences of these lengths, up to the session's limits. */
clf_status clf__session_ensure_positions(struct clf__session *session, int source_rows, int target_rows);

/* Returns the rows that clf__session_run_decoder() computed, in 16 bits if the projection reads 16 bits. */
struct clf__tensor clf__session_decoded(const struct clf__session *session);

/* Runs the decoder's layers and final norm over the first `rows` rows of the workspace; maps may be NULL. */
clf_status clf__session_run_decoder(struct clf__session *session, int rows,
                                    const struct clf__layer_call *call, const struct clf__decoder_maps *maps);

/* Returns the cross-attention call for these ranges. */
static inline struct clf__attention_call clf__session_cross(struct clf__session *session,
                                                            struct clf__sequence_ranges ranges)
{
    return (struct clf__attention_call){
        .heads = clf__config_heads(&session->transformer->config, CLF__DECODER),
        .ranges = ranges,
        .mask = {.hidden_keys = session->hidden_sources},
        .scratch = &session->scratch,
    };
}

/* prefill.c: runs the decoder over the prefix tokens of a step. */
clf_status clf__session_prefill(struct clf__session *session, const struct clf__step *step);
/* Returns the number of integers that a prefill uploads. */
int64_t clf__prefill_upload(const struct clf__session_limits *limits);

/* Runs the decoder over inputs for every cached source (slot NULL) or for the source in *slot; maps may be
 * NULL. */
clf_status clf__session_force(struct clf__session *session, const struct clf__sequences *inputs,
                              const int *slot, const struct clf__decoder_maps *maps);

/* Returns the workspace's first `rows` rows, packed, which contain the encoded batch. */
static inline struct clf__tensor clf__session_encoded_rows(const struct clf__session *session)
{
    return clf__tensor_rows(session->workspace.x, 0, session->source_first[session->sources]);
}

/* Caches the last encoded batch as the only content of the memory, source b in slot b. */
clf_status clf__session_cache_all(struct clf__session *session);

/* clf__session_encode() that also reads the encoder's attention maps of a single source; maps may be NULL. */
clf_status clf__session_encode_maps(struct clf__session *session, const struct clf__sequences *sources,
                                    float *maps);

#endif
