/* Running a model: encode sources, remember them, then decode step by step or over given targets.
 *
 * A session owns every activation, sized once; nothing is allocated while it runs, but for tables of
 * positions that grow when a sequence is longer than all before. Batches are ragged: all tokens of a batch
 * lie one after the other, and padding does not exist. */
#ifndef CLF_INFER_SESSION_H
#define CLF_INFER_SESSION_H

#include "model/transformer.h"
#include "model/upload.h"
#include "search/search.h"

/* The largest batch that a session takes. */
struct clf__session_limits {
    int sources;       /* sequence slots: sources that are remembered at a time */
    int source_tokens; /* tokens or frames of all of them together, and of a batch that is encoded */
    int source_length; /* of one source */
    int cache_rows;    /* hypotheses that are kept at a time: sources * beams; 0: no steps */
    int positions;     /* generated tokens a hypothesis, at most */
    int candidates;    /* k of a step */
    int given;         /* tokens that are given before those of a step, all rows together; 0: none are */
    int banned;        /* banned ids of a step, all rows together */
    int ranges;        /* ranges of ids that a row of a step looks at; 0: none, and none where steps narrow */
    int draws;         /* tokens that a step draws, with ranges; 0: none */
    int target_tokens; /* of given targets, all together; 0: none are given */
    int target_length; /* of one of them */
    int maps;          /* attention maps are wanted */
    int aligns;        /* clf__session_align() is called */
    /* Steps may tell where they look at their sources, by the cross-attention of this decoder layer, 1 the
     * first one, in the mean of its first so many heads. Layer 0: none does. */
    int attention_layer, attention_heads;
    int logits; /* logits are wanted */
    /* Steps choose among some words of each source (clf__session_narrow()), at most `narrow_base` and
     * `narrow_each` for each of its tokens. Both 0: among all. */
    int narrow_base, narrow_each;
};

struct clf__session;

clf_status clf__session_create(struct clf__session **out, struct clf__transformer *transformer,
                               const struct clf__session_limits *limits);
void clf__session_free(struct clf__session *session);

/* What a session would take of the device. */
struct clf__session_size {
    uint64_t bytes, largest_buffer;
};
clf_status clf__session_measure(struct clf__session_size *out, struct clf__transformer *transformer,
                                const struct clf__session_limits *limits);

/* The encoder over a batch within the limits; ids are inside the vocabulary. Without ids and frames the
 * frames are those that clf__session_frames() gives the place of. What comes out is there until the next call
 * that computes anything but clf__session_remember(). */
clf_status clf__session_encode(struct clf__session *session, const struct clf__sequences *sources);

/* Where the frames of the next batch lie on the device, (limits.source_tokens, feature size), one sequence
 * after the other: for ops that make them there. */
struct clf__tensor clf__session_frames(const struct clf__session *session);

/* How many rows the encoder makes of a source of so many tokens or frames. */
int clf__session_source_rows(const struct clf__session *session, int length);

/* The encoder's output (rows, D) of the batch that was encoded last, one source after the other, into
 * target: clf__session_source_rows() of each. */
clf_status clf__session_encoded(const struct clf__session *session, float *target);

/* The memory is what the decoder looks at: of each remembered source the keys and values that every decoder
 * layer makes of the encoder's output. A sequence slot holds one source; its rows lie one
 * after the other, anywhere in the memory. */

/* Takes a free slot and sets aside the rows of a source of `length` tokens or frames; 0 where no run of free
 * rows is that long. In an empty memory there always is one. */
int clf__session_reserve(struct clf__session *session, int slot, int length);
/* Frees a slot that was reserved, remembered or not; or all of them. */
void clf__session_release(struct clf__session *session, int slot);
void clf__session_release_all(struct clf__session *session);
/* Puts the sources that were just encoded into the memory: source b at slots[b], reserved at its length. */
clf_status clf__session_remember(struct clf__session *session, const int *slots);

/* Says among which words steps of a reserved slot choose: ascending ids, none twice, inside the vocabulary.
 * The session's limits ask for it; a slot keeps them until it is released. */
clf_status clf__session_narrow(struct clf__session *session, int slot, const int32_t *ids, int count);

/* Encodes a batch and remembers it, and nothing else: source b is at slot b. */
clf_status clf__session_start(struct clf__session *session, const struct clf__sequences *sources);

/* One decoding step of remembered sources, as search asks for it. */
clf_status clf__session_step(struct clf__session *session, struct clf__step *step);

/* Runs the decoder over one given sequence of inputs a source (start token first), after
 * clf__session_start(). */
clf_status clf__session_teacher_force(struct clf__session *session, const struct clf__sequences *inputs);

/* Logits (rows, V) of the last clf__session_teacher_force(), rows first .. first + count - 1 of the inputs,
 * into target; the session's limits ask for them. */
clf_status clf__session_logits(struct clf__session *session, int first, int count, float *target);

/* log softmax(logits)[label] of every row of the last clf__session_teacher_force(); labels are inside the
 * vocabulary.
 */
clf_status clf__session_pick(struct clf__session *session, const int32_t *labels, float *log_probabilities);

/* A head of the decoder's cross-attention. */
struct clf__session_head {
    int layer, head;
};

/* Runs the decoder over one given sequence of inputs on the remembered source at a slot, whatever else is
 * remembered, and reads where some heads of its cross-attention looked: weights (heads, count, rows of the
 * source), softmaxes over the source. The session's limits ask for it. clf__session_logits(),
 * clf__session_pick() and clf__session_look() are of these inputs afterwards. */
clf_status clf__session_align(struct clf__session *session, int slot, const int32_t *inputs, int count,
                              const struct clf__session_head *heads, int head_count, float *weights);

/* Of every row of the last inputs that were given, the largest logit and log sum exp(x - largest) of ranges
 * of ids: statistics (rows, each, 2), ranges (rows, each, 2) as struct clf__step has them, `each` of a row as
 * the limits say. A range of one id has its logit. */
clf_status clf__session_look(struct clf__session *session, const int32_t *ranges, int each,
                             float *statistics);

/* Attention maps of one source and one target, as clf_attention_maps has them. */
struct clf__session_maps {
    float *encoder; /* (layers, H, S, S) */
    float *decoder; /* (layers, H, T, T) */
    float *cross;   /* (layers, H, T, S) */
};
/* Encodes one source, then forces one target on it, and reads every map; the session's limits ask for maps
 * and sources = 1. */
clf_status clf__session_attend_source(struct clf__session *session, const struct clf__sequences *source,
                                      const struct clf__session_maps *maps);
clf_status clf__session_attend_target(struct clf__session *session, const struct clf__sequences *inputs,
                                      const struct clf__session_maps *maps);

#endif
