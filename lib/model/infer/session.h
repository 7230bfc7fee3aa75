/* An inference session encodes sources, caches their cross-attention keys and values, and decodes step by
 * step or with given targets. All device memory is allocated once, except for position tables, which grow.
 * Batches are ragged: sequences are adjacent, without padding. */
#ifndef CLF_INFER_SESSION_H
#define CLF_INFER_SESSION_H

#include "model/transformer.h"
#include "model/upload.h"
#include "search/types.h"

/* The largest batches of a session. */
struct clf__session_limits {
    int sources;       /* slots: maximum number of cached sources */
    int source_tokens; /* maximum total tokens or frames, of cached sources and of an encoded batch */
    int source_length; /* maximum tokens or frames of a source */
    int pipelined;     /* 1: a step may be enqueued before the previous one has ended */
    int cache_rows;    /* maximum number of hypotheses: sources * beams; 0: no decoding steps */
    int positions;     /* maximum number of generated tokens */
    int candidates;    /* k of a step */
    int chain;         /* maximum rows of a step that is a chain; 0: none */
    int prefill;       /* maximum total prefix tokens of a step; 0: no prefill */
    int banned;        /* maximum total banned ids of a step */
    int ranges;        /* ranges of ids per row of a step; 0: none; cannot be combined with shortlists */
    int draws;         /* sampled tokens per step, with ranges; 0: none */
    int picks;         /* ids per row whose logits a step wants; 0: none */
    int target_tokens; /* maximum total tokens of given targets; 0: no given targets */
    int target_length; /* maximum tokens of a given target */
    int maps;          /* 1: attention maps are requested */
    int aligns;        /* 1: clf__session_align() is called */
    /* Steps can return the mean cross-attention of the first `attention_heads` heads of this decoder layer
     * (counted from 1; 0: none). */
    int attention_layer, attention_heads;
    int logits; /* 1: clf__session_logits() is called */
    /* The maximum shortlist size of a source is `shortlist_base` plus `shortlist_each` per token. Both 0: no
     * shortlists. */
    int shortlist_base, shortlist_each;
};

/* Doubles a length until it is at least `needed` or reaches the limit. Sessions and position tables grow by
 * this rule. */
int clf__grow_length(int length, int needed, int limit);

struct clf__session;

clf_status clf__session_create(struct clf__session **out, struct clf__transformer *transformer,
                               const struct clf__session_limits *limits);
void clf__session_free(struct clf__session *session);

/* The device memory that a session needs. */
struct clf__session_size {
    uint64_t bytes, largest_buffer;
};
clf_status clf__session_measure(struct clf__session_size *out, struct clf__transformer *transformer,
                                const struct clf__session_limits *limits);

/* Encodes a batch; ids must be in the vocabulary. If ids and frames are both NULL, encodes the frames in
 * clf__session_frames(). The result is valid until the next computation other than clf__session_cache(). */
clf_status clf__session_encode(struct clf__session *session, const struct clf__sequences *sources);

/* Returns the device tensor for the frames of the next batch, for ops that compute frames on the device:
 * (limits.source_tokens, feature size), sequences adjacent. */
struct clf__tensor clf__session_frames(const struct clf__session *session);

/* Returns the number of encoder rows for a source of `length` tokens or frames. */
int clf__session_source_rows(const struct clf__session *session, int length);

/* Reads the result (rows, D) of the last clf__session_encode() into target. Each source has
 * clf__session_source_rows() rows. */
clf_status clf__session_encoded(const struct clf__session *session, float *target);

/* Encoded rows (rows, D) that outlive the batch, on the device that computed them. */
struct clf__encoding {
    struct clf__arena arena;
    struct clf__tensor rows; /* buffer NULL: none */
};
/* Copies source `index` of the last encoded batch into `encoding`, and frees its previous rows. */
clf_status clf__encoding_save(struct clf__encoding *encoding, struct clf__session *session, int index);
/* Copies rows from the host to a device. */
clf_status clf__encoding_write(struct clf__encoding *encoding, struct clf_device *device, const float *source,
                               int rows, int columns);
/* Reads the rows. */
clf_status clf__encoding_read(const struct clf__encoding *encoding, float *target);
void clf__encoding_free(struct clf__encoding *encoding);
/* Loads encoded rows as the last encoded batch; rows on another device are copied through the host. */
clf_status clf__session_load(struct clf__session *session, struct clf__encoding *const *sources, int count);

/* The memory holds the cross-attention keys and values of cached sources, for every decoder layer. Each
 * source has a slot and adjacent rows. */

/* Reserves rows for a source of `length` tokens or frames in a free slot. Returns 0 if there is no free range
 * of this size, which cannot happen while all slots are free. */
int clf__session_reserve(struct clf__session *session, int slot, int length);
/* Sets the number of encoder rows of a slot that was reserved for a longer source. */
void clf__session_shorten(struct clf__session *session, int slot, int rows);
/* Returns the number of encoder rows of the source in a slot. */
int clf__session_slot_rows(const struct clf__session *session, int slot);
/* Release a reserved slot, or all slots. */
void clf__session_release(struct clf__session *session, int slot);
void clf__session_release_all(struct clf__session *session);
/* Caches the last encoded batch: source b in slots[b], which is reserved for its length. */
clf_status clf__session_cache(struct clf__session *session, const int *slots);

/* Sets the shortlist of a reserved slot until it is released: ascending ids in the vocabulary without
 * duplicates. Requires limits for shortlists. */
clf_status clf__session_set_shortlist(struct clf__session *session, int slot, const int32_t *ids, int count);

/* Encodes a batch and caches it as the only content of the memory, source b in slot b. */
clf_status clf__session_start(struct clf__session *session, const struct clf__sequences *sources);

/* Returns whether steps can be chains: the decoder's layers have self-attention. */
int clf__session_can_chain(const struct clf__transformer *transformer);

/* Runs one decoding step of a search. */
clf_status clf__session_step(struct clf__session *session, struct clf__step *step);

/* clf__session_step() in two parts. Enqueues a step, and the copy of its results to the host; the arrays of
 * the step may then change. A step with token_rows requires that the previous step is enqueued. After a
 * failure, no step is enqueued. */
clf_status clf__session_enqueue(struct clf__session *session, struct clf__step *step);
/* Returns 1 if the step after the enqueued one may be enqueued now. */
int clf__session_can_enqueue(const struct clf__session *session);
/* Waits for the oldest enqueued step, and fills in its results. *is_void receives 1 if the device could not
 * run the step in a persistent launch while another step was enqueued: then the step has no results, no step
 * is enqueued any more, and the caller must enqueue the step again, with its tokens. After a failure, no step
 * is enqueued. */
clf_status clf__session_finish(struct clf__session *session, struct clf__step *step, int *is_void);
/* Waits for the enqueued steps and drops their results, as if they had not been enqueued; with a recurrent
 * decoder, hypotheses continue only if at most one step was enqueued. */
void clf__session_drop(struct clf__session *session);

/* Runs the decoder over one target per source (start token first), after clf__session_start(). */
clf_status clf__session_teacher_force(struct clf__session *session, const struct clf__sequences *inputs);

/* Reads logits (count, V) of rows first to first + count - 1 of the last targets into target. Requires
 * limits.logits. */
clf_status clf__session_logits(struct clf__session *session, int first, int count, float *target);

/* Computes log softmax(logits)[label] for every row of the last targets; labels must be in the vocabulary. */
clf_status clf__session_pick(struct clf__session *session, const int32_t *labels, float *log_probabilities);

/* A head of cross-attention in the decoder. */
struct clf__session_head {
    int layer, head;
};

/* Runs the decoder over a target on the source in a slot and reads cross-attention weights of some heads:
 * (heads, count, rows of the source), each row a softmax. clf__session_logits(), clf__session_pick() and
 * clf__session_look() then apply to this target. Requires limits.aligns. */
clf_status clf__session_align(struct clf__session *session, int slot, const int32_t *inputs, int count,
                              const struct clf__session_head *heads, int head_count, float *weights);

/* Computes the largest logit and log sum exp(logit - largest) of ranges of ids for every row of the last
 * targets: statistics (rows, each, 2), ranges (rows, each, 2) as in struct clf__step, `each` <=
 * limits.ranges. For a range of a single id, the largest logit is the logit of this id. */
clf_status clf__session_look(struct clf__session *session, const int32_t *ranges, int each,
                             float *statistics);

/* Attention maps of a source and a target, as in clf_attention_maps. */
struct clf__session_maps {
    float *encoder; /* (layers, H, S, S) */
    float *decoder; /* (layers, H, T, T) */
    float *cross;   /* (layers, H, T, S) */
};
/* Encodes a source, runs the decoder over a target, and reads all attention maps. Requires limits.maps and
 * limits.sources = 1. */
clf_status clf__session_attend_source(struct clf__session *session, const struct clf__sequences *source,
                                      const struct clf__session_maps *maps);
clf_status clf__session_attend_target(struct clf__session *session, const struct clf__sequences *inputs,
                                      const struct clf__session_maps *maps);

#endif
