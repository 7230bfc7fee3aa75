/* Inference sessions: encode sources, cache their cross-attention keys and values, then decode step by step
 * or over given targets. A session allocates all activations once; only position tables grow, for longer
 * sequences. Batches are ragged: the tokens of a batch are adjacent, without padding. */
#ifndef CLF_INFER_SESSION_H
#define CLF_INFER_SESSION_H

#include "model/transformer.h"
#include "model/upload.h"
#include "search/types.h"

/* Limits of the batches of a session. */
struct clf__session_limits {
    int sources;       /* sequence slots: sources cached at a time */
    int source_tokens; /* maximum total tokens or frames of cached sources, and of an encoded batch */
    int source_length; /* of one source */
    int cache_rows;    /* hypotheses at a time: sources * beams; 0: no decoding steps */
    int positions;     /* maximum generated tokens of a hypothesis */
    int candidates;    /* k of a step */
    int prefill;       /* maximum total prefix tokens in a step; 0: no prefill */
    int banned;        /* maximum total banned ids of a step */
    int ranges;        /* ranges of ids per row of a step; 0: none; not with shortlists */
    int draws;         /* tokens drawn per step, with ranges; 0: none */
    int target_tokens; /* maximum total tokens of given targets; 0: no forced decoding */
    int target_length; /* maximum tokens of a target */
    int maps;          /* 1: attention maps are requested */
    int aligns;        /* 1: clf__session_align() is called */
    /* Decoder layer, counted from 1, and number of its first heads whose mean cross-attention steps can
     * return. Layer 0: none. */
    int attention_layer, attention_heads;
    int logits; /* 1: clf__session_logits() is called */
    /* Maximum shortlist size of a source (clf__session_set_shortlist()): `shortlist_base` plus
     * `shortlist_each` per token. Both 0: no shortlists. */
    int shortlist_base, shortlist_each;
};

/* Doubles a length until it is at least `needed` or the limit. Sessions and tables of positions grow by this
 * rule. */
int clf__grow_length(int length, int needed, int limit);

struct clf__session;

clf_status clf__session_create(struct clf__session **out, struct clf__transformer *transformer,
                               const struct clf__session_limits *limits);
void clf__session_free(struct clf__session *session);

/* Device memory that a session would use. */
struct clf__session_size {
    uint64_t bytes, largest_buffer;
};
clf_status clf__session_measure(struct clf__session_size *out, struct clf__transformer *transformer,
                                const struct clf__session_limits *limits);

/* Encodes a batch within the limits; ids must be inside the vocabulary. If ids and frames are both NULL,
 * reads the frames from clf__session_frames(). The output is valid until the next call that computes,
 * except clf__session_cache(). */
clf_status clf__session_encode(struct clf__session *session, const struct clf__sequences *sources);

/* Returns the device memory for the frames of the next batch, (limits.source_tokens, feature size) with
 * adjacent sequences, for ops that compute frames on the device. */
struct clf__tensor clf__session_frames(const struct clf__session *session);

/* Returns the number of encoder rows for a source with `length` tokens or frames. */
int clf__session_source_rows(const struct clf__session *session, int length);

/* Reads the encoder's output (rows, D) of the last encoded batch into target: clf__session_source_rows() rows
 * per source, in order. */
clf_status clf__session_encoded(const struct clf__session *session, float *target);

/* The memory holds the cross-attention keys and values of cached sources for every decoder layer. A
 * sequence slot holds one source, in adjacent rows. */

/* Reserves memory rows in a free slot for a source of `length` tokens or frames; returns 0 if there is no
 * free range of this size. This cannot happen in an empty memory. */
int clf__session_reserve(struct clf__session *session, int slot, int length);
/* Release a reserved slot, or all slots. */
void clf__session_release(struct clf__session *session, int slot);
void clf__session_release_all(struct clf__session *session);
/* Caches cross-attention keys and values of the last encoded sources: source b in slots[b], reserved at its
 * length. */
clf_status clf__session_cache(struct clf__session *session, const int *slots);

/* Sets the shortlist of a reserved slot: ascending ids without duplicates inside the vocabulary; kept until
 * the slot is released. Requires limits for shortlists. */
clf_status clf__session_set_shortlist(struct clf__session *session, int slot, const int32_t *ids, int count);

/* Encodes a batch and caches it as the whole memory: source b in slot b. */
clf_status clf__session_start(struct clf__session *session, const struct clf__sequences *sources);

/* Runs one decoding step of cached sources for a search. */
clf_status clf__session_step(struct clf__session *session, struct clf__step *step);

/* Runs the decoder over one input sequence per source (start token first), after clf__session_start(). */
clf_status clf__session_teacher_force(struct clf__session *session, const struct clf__sequences *inputs);

/* Reads logits (rows, V) of the last clf__session_teacher_force() into target, for input rows first to
 * first + count - 1. Requires limits.logits. */
clf_status clf__session_logits(struct clf__session *session, int first, int count, float *target);

/* Computes log softmax(logits)[label] for every row of the last clf__session_teacher_force(); labels must be
 * inside the vocabulary. */
clf_status clf__session_pick(struct clf__session *session, const int32_t *labels, float *log_probabilities);

/* A head of the decoder's cross-attention. */
struct clf__session_head {
    int layer, head;
};

/* Runs the decoder over one input sequence on the cached source of a slot and reads cross-attention weights
 * of some heads: (heads, count, rows of the source), each row a softmax over the source. Requires
 * limits.aligns. Afterwards clf__session_logits(), clf__session_pick() and clf__session_look() refer to these
 * inputs. */
clf_status clf__session_align(struct clf__session *session, int slot, const int32_t *inputs, int count,
                              const struct clf__session_head *heads, int head_count, float *weights);

/* Computes for every row of the last inputs the largest logit and log sum exp(x - largest) of ranges of
 * ids: statistics (rows, each, 2), ranges (rows, each, 2) as in struct clf__step, with `each` <=
 * limits.ranges. For a range of one id, this is the logit of the id. */
clf_status clf__session_look(struct clf__session *session, const int32_t *ranges, int each,
                             float *statistics);

/* Attention maps of one source and one target, as in clf_attention_maps. */
struct clf__session_maps {
    float *encoder; /* (layers, H, S, S) */
    float *decoder; /* (layers, H, T, T) */
    float *cross;   /* (layers, H, T, S) */
};
/* Encodes one source, runs the decoder over one target, and reads every attention map. Requires limits with
 * maps and sources = 1. */
clf_status clf__session_attend_source(struct clf__session *session, const struct clf__sequences *source,
                                      const struct clf__session_maps *maps);
clf_status clf__session_attend_target(struct clf__session *session, const struct clf__sequences *inputs,
                                      const struct clf__session_maps *maps);

#endif
