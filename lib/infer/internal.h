/* What the files of a session share: its tensors. */
#ifndef CLF_INFER_INTERNAL_H
#define CLF_INFER_INTERNAL_H

#include "config/sides.h"
#include "infer/session.h"
#include "layers/persistent.h"
#include "layers/workspace.h"
#include "ops/attention.h"
#include "ops/draw.h"
#include "ops/projection.h"

/* Numbers at the front of what a step reads back. The first one is persistent.failed. */
enum { CLF__STEP_HEADER = 4 };

/* The rows of a slot in the memory. */
struct clf__session_slot {
    int first; /* -1: the slot is free */
    int length;
};

/* The words among which steps choose, where each source has its own: those of a slot lie one after the other,
 * at a place that follows from the slot and its rows. */
struct clf__narrowing {
    struct clf__tensor weight; /* (V, D) the projection's rows, one after the other; buffer NULL: all words */
    struct clf__tensor ids;    /* (1, n) i32 */
    struct clf__tensor logits; /* (1, m) */
    int32_t *host_ids;         /* (n) */
    int *counts;               /* (limits.sources) */
};

struct clf__session {
    struct clf__transformer *transformer;
    struct clf__session_limits limits;
    struct clf__arena arena;
    struct clf__workspace workspace; /* rows of the encoder, then of the decoder */
    struct clf__attention_scratch scratch;
    int source_rows;                  /* that the encoder makes of limits.source_tokens, at most */
    struct clf__tensor frames;        /* (source tokens, feature size) */
    struct clf__tensor front_scratch; /* (1, n) what the front end works in; buffer NULL: nothing */
    struct clf__tensor *memory; /* (source rows, H (K + d_v)) a decoder layer's keys and values of sources,
                                 * halves, where steps read them so */
    struct clf__mixer_state *layer_states; /* what a decoder layer keeps from step to step */
    struct clf__mixer_state shared_state;  /* and what all of them do */
    int turn;                              /* of the last step */
    struct clf__layer_call *layer_calls;   /* a decoder layer's, of the pass that goes on */
    struct clf__tensor layer_addresses;    /* these two: of decoder layers in one launch */
    struct clf__tensor partials;           /* of a step's attentions */
    struct clf__tensor counters;
    struct clf__persistent persistent; /* of decoder layers in one persistent launch */
    struct clf__upload source;         /* what belongs to the encoded batch */
    struct clf__upload placed;         /* what belongs to the memory, and where an encoded batch goes in it */
    struct clf__upload target;         /* what belongs to one step or one forced decoding */
    struct clf__projection_scratch projection;
    struct clf__narrowing narrowing;
    struct clf__tensor read_back; /* (1, CLF__STEP_HEADER + n): what a step reads back, in one copy */
    struct clf__tensor results;   /* (1, n): its rear, for the results of a step or a pick */
    float *results_host;
    struct clf__tensor maps[2]; /* (H * queries, keys) of one pair at its front: self and cross probabilities
                                 * of one layer; buffer NULL: not wanted */
    struct clf__tensor looks;   /* (1, n) where the rows of a step look; buffer NULL: not wanted */
    /* The batch that was encoded last. */
    int sources;
    int *source_first;             /* (sources + 1) */
    const int32_t *encoded_hidden; /* (rows), in the staging of `source` */
    /* The memory. */
    struct clf__session_slot *slots; /* (limits.sources) */
    int *occupied;                   /* (limits.sources) the slots in use, by their first rows */
    int occupied_count;
    int *slot_numbers;                 /* (limits.sources) where a whole batch goes */
    struct clf__tensor hidden_sources; /* (1, source rows) i32; buffer NULL: none */
    /* The forced targets. */
    int target_rows;
};

/* Of every layer of the decoder. */
static inline const struct clf__mixer_kind *clf__session_mixer(const struct clf__session *session)
{
    return session->transformer->decoder.layers[0].mixer.kind;
}

/* Onto the vocabulary. */
struct clf__projection clf__session_projection(const struct clf__session *session);

/* The most numbers of a step's results. */
int64_t clf__step_results(const struct clf__session_limits *limits);

/* What follows is of a session that narrows (narrow.c). Room for it, and what it computes once. */
clf_status clf__narrowing_reserve(struct clf__session *session);
clf_status clf__narrowing_fill(struct clf__session *session);
void clf__narrowing_free(struct clf__narrowing *narrowing);
/* Integers of a step's upload. */
int64_t clf__narrowing_upload(const struct clf__session_limits *limits);

/* A step's rows among their sources' words. */
struct clf__narrowed_rows {
    struct clf__tensor starts, counts;         /* (1, R) i32: where each row's words are, and how many */
    struct clf__tensor banned, banned_offsets; /* as a step's, with places among the words for ids */
    int most;                                  /* words of a row */
};
void clf__narrowing_take_rows(struct clf__narrowed_rows *rows, struct clf__session *session,
                              const struct clf__step *step);
/* clf__projection_top_k() among those words; ids are places until clf__narrowing_name() makes them ids. */
clf_status clf__narrowing_top_k(struct clf__tensor values, struct clf__tensor ids,
                                struct clf__tensor statistics, const struct clf__session *session,
                                const struct clf__narrowed_rows *rows,
                                const struct clf__projection *projection, struct clf__step *step);
void clf__narrowing_name(const struct clf__session *session, struct clf__step *step);

/* Where the maps of each decoder layer are read to: layer i at self + i * self_stride. */
struct clf__decoder_maps {
    float *self, *cross;
    size_t self_stride, cross_stride;
    /* Or of some heads alone, one after the other at cross, whose maps are cross_stride; NULL: of all. */
    const struct clf__session_head *heads;
    int head_count;
};

/* Tables of positions begin with room for sequences of this length and double when a longer one comes: a
 * folder may declare far more positions than any text has. */
enum { CLF__FIRST_POSITIONS = 4096 };
/* Of a batch whose encoder makes global tokens (global_blocks.c): room for the tokens; the integers of their
 * upload; and the batch's blocks, uploaded with the rest of `source`. */
clf_status clf__global_blocks_reserve(struct clf__session *session);
int64_t clf__global_blocks_upload(const struct clf__session *session);
void clf__global_blocks_take(struct clf__global_blocks *blocks, struct clf__session *session);

/* Makes the tables of positions long enough for sequences of so many rows, within the session's limits. */
clf_status clf__session_reach(struct clf__session *session, int source_rows, int target_rows);

/* The rows that clf__session_run_decoder() leaves, for the projection: in 16 bits where that reads them so.
 */
struct clf__tensor clf__session_decoded(const struct clf__session *session);

/* Runs the decoder's layers and final norm over the first `rows` rows of the workspace; maps may be NULL. */
clf_status clf__session_run_decoder(struct clf__session *session, int rows,
                                    const struct clf__layer_call *call, const struct clf__decoder_maps *maps);

/* How the decoder's rows look at the sources, by these ranges. */
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

/* The tokens that are given before a step's own (given.c). */
clf_status clf__session_give(struct clf__session *session, const struct clf__step *step);
/* Integers of its upload. */
int64_t clf__given_upload(const struct clf__session_limits *limits);

/* The decoder over given inputs, of each source that is remembered, or of the one at *slot; maps may be NULL.
 */
clf_status clf__session_force(struct clf__session *session, const struct clf__sequences *inputs,
                              const int *slot, const struct clf__decoder_maps *maps);

/* The batch that was encoded last becomes all of the memory, source b at slot b. */
clf_status clf__session_remember_all(struct clf__session *session);

/* clf__session_encode() that reads the encoder's maps of one source; maps may be NULL. */
clf_status clf__session_encode_maps(struct clf__session *session, const struct clf__sequences *sources,
                                    float *maps);

#endif
