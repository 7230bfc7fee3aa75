/* Shared by the files of this folder. */
#ifndef CLF_TRANSLATE_INTERNAL_H
#define CLF_TRANSLATE_INTERNAL_H

#include <clformer/translator.h>

#include <stdatomic.h>

#include "base/clock.h"
#include "model/infer/session.h"
#include "model/model.h"
#include "text/batch.h"
#include "translate/batch_size.h"
#include "translate/settings.h"
#include "translate/times.h"

/* Speed of a translator: tokens and seconds, weighted towards recent calls. */
struct clf__throughput {
    double done, seconds;
};

struct clf_translator {
    struct clf_model *model;
    struct clf_translator *next; /* next translator of the pool, on another device; NULL: none */
    struct clf__worker *worker;  /* the translator's worker during a call; otherwise NULL */
    struct clf__throughput pace;
    struct clf__settings *settings;     /* owned by the first translator of a pool */
    int batch_tokens;                   /* maximum source tokens in a batch */
    int max_lines;                      /* maximum lines under search, or in a scored batch */
    int source_length, target_length;   /* maximum lengths in the sessions, which grow with the lines */
    struct clf__session *session;       /* for searching; created at the first translation */
    struct clf__session *force_session; /* for scoring; created at the first score */
    struct clf__session *align_session; /* for alignments; created for the lengths that occur */
    struct clf__session_limits align_limits;
    struct clf__frame_maker *frame_maker; /* for recordings; NULL: sources are text */
    struct clf_translator *starts;        /* finds the first tokens of alternatives; NULL: not requested */
    struct clf_stage_times times;
    struct clf_translator_device described; /* result of clf_translator_device_at() */
    struct clf_stage_times all_times;       /* in the first translator of a pool: the sum over all */
    atomic_int is_working; /* set during a call, to detect calls from callbacks and other threads */
};

/* An encoded source: ids or frames. */
struct clf__source {
    struct clf__ids ids;
    float *frames;
    int length;   /* tokens or frames; 0: empty */
    int cut_from; /* as in struct clf_translation */
};
void clf__source_free(struct clf__source *source);

/* Reads a line into a source, truncated to the model's limit. `frame_maker` is for recordings; NULL for text.
 */
clf_status clf__source_read(struct clf__source *out, const struct clf__settings *settings,
                            struct clf__frame_maker *frame_maker, const struct clf_line *line);

/* Prepends the task prefix to a line: returns the line itself, or *made, which the caller frees. */
clf_status clf__source_text(struct clf_line *out, char **made, const struct clf__settings *settings,
                            const struct clf_line *line);

/* Reads a given target: the forced first token, the tokens of the line and the end token, truncated to the
 * model's limit. *cut_from: as in struct clf_translation. */
clf_status clf__target_read(struct clf__ids *out, int *cut_from, const struct clf__settings *settings,
                            const struct clf_line *line);

/* Reads a target prefix: the forced first token, then the tokens of the line, without the end token; empty
 * for an empty line. */
clf_status clf__prefix_read(struct clf__ids *out, const struct clf__settings *settings,
                            const struct clf_line *line);

/* Truncates ids to `limit`, keeping the last one (the end token). Returns the count before, or 0 if
 * unchanged. */
int clf__ids_cut(struct clf__ids *ids, int limit);

/* Sources order[0 .. count - 1], concatenated; freed with clf__joined_free(). */
struct clf__joined {
    struct clf__sequences sequences;
    int *first;
    int32_t *ids;
    float *frames;
};
clf_status clf__sources_join(struct clf__joined *out, const struct clf__source *sources, const int *order,
                             int count, int feature_size);
void clf__joined_free(struct clf__joined *joined);

/* A selection of cross-attention heads: the first `heads` heads of a decoder layer, counted from 1. Heads 0:
   all. */
struct clf__attention_heads {
    int layer, heads;
};
/* Finds the source token with the most attention for each id of a hypothesis, or -1 if there is none. The
 * caller frees *links (hypothesis->count), even on failure. */
clf_status clf__links_find(int **links, struct clf_translator *translator, const struct clf__source *source,
                           const struct clf_hypothesis *hypothesis, struct clf__attention_heads selection);

/* Rebuilds a hypothesis' text with each unknown token replaced by the aligned source token. */
clf_status clf__unknown_replace(struct clf_hypothesis *hypothesis, struct clf_translator *translator,
                                const struct clf__source *source, const struct clf_line *line);

/* Fills a hypothesis' alignment. */
clf_status clf__align(struct clf_hypothesis *hypothesis, struct clf_translator *translator,
                      const struct clf__source *source);

/* The part of a line's translation already streamed: size bytes of text. */
struct clf__streamed {
    char *text;
    size_t size;
};
/* Streams the certain part of a growing or finished text that was not streamed before. */
clf_status clf__streamed_continue(struct clf__streamed *streamed, const struct clf_translator *translator,
                                  int line, const char *text, int is_whole);
void clf__streamed_free(struct clf__streamed *streamed, int count);

/* Stores the failure of a single line in the line's fields (the caller frees *problem) and returns CLF_OK, so
 * that other lines continue; returns any other failure. */
clf_status clf__line_problem(clf_status status, clf_status *line_status, char **problem);

/* Returns the session limits for a search over `lines` lines. */
struct clf__session_limits clf__translator_limits(const struct clf_translator *translator, int lines);

/* Grows the sessions of all translators of the list to a source and a target of these lengths; sessions start
 * with usual lengths, because a model may allow far longer ones. Call between the batches of a call. */
clf_status clf__translator_ensure_lengths(struct clf_translator *first, int source, int target);

/* Sets max_lines, and batch_tokens if the option is 0: the tuned or computed number, halved until the session
 * of a full batch fits the free memory. */
clf_status clf__translator_choose_batch(struct clf_translator *translator);

/* Create and free a translator for one device; the settings are borrowed. */
clf_status clf__translator_create(struct clf_translator **out, struct clf_model *model,
                                  struct clf__settings *settings);
void clf__translator_free(struct clf_translator *translator);

/* Begin and end a call that uses a translator. Beginning fails with CLF_BAD_ARGUMENT for a missing
 * translator, or for a call from the translator's own callback. */
clf_status clf__translator_begin(struct clf_translator *translator);
void clf__translator_end(struct clf_translator *translator);

/* Frees the members of a hypothesis. */
void clf__hypothesis_free(struct clf_hypothesis *hypothesis);

/* Called on the calling thread when all lines of a request before `to` are translated; lines before `from`
 * were emitted earlier. `results` is the array that the call returns. */
typedef clf_status clf__emit(void *user, struct clf_translation *results, int from, int to);

/* Lines to translate and their target prefixes. */
struct clf__request {
    const struct clf_line *lines;    /* (count) */
    const struct clf_line *prefixes; /* (count) or NULL */
    const struct clf__ids *begun;    /* (count) ids that replace prefixes, or NULL; owned by the caller */
    int count;
    clf__emit *emit; /* may be NULL */
    void *user;      /* first argument of `emit` */
};

/* clf_translate_prefixed() for unsplit lines, within a call. */
clf_status clf__translate(struct clf_translation **out, struct clf_translator *translator,
                          const struct clf__request *request);

/* clf__translate() for options with alternatives. */
clf_status clf__translate_alternatives(struct clf_translation **out, struct clf_translator *translator,
                                       const struct clf__request *request);

/* Returns CLF_BAD_ARGUMENT for an invalid array of `count` lines. */
clf_status clf__translator_check_lines(const struct clf_line *lines, int count);

/* Returns CLF_INTERRUPTED if the call must stop. */
clf_status clf__translator_go_on(const struct clf_translator *translator);
/* Returns CLF_INTERRUPTED if the caller asks to stop; only on the caller's thread. */
clf_status clf__translator_ask(const struct clf_translator *translator);

/* Fills all_times of the first translator of a pool. */
void clf__translator_sum_times(struct clf_translator *first);

#endif
