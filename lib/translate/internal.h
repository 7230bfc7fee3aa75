/* What the files of the facade share, and training with them. */
#ifndef CLF_TRANSLATE_INTERNAL_H
#define CLF_TRANSLATE_INTERNAL_H

#include <clformer/translator.h>

#include <stdatomic.h>

#include "base/clock.h"
#include "infer/session.h"
#include "text/batch.h"
#include "text/shortlist.h"
#include "text/tokenizer.h"

struct clf_model {
    struct clf__transformer *transformer;
    struct clf__tokenizer *tokenizer;
    int is_borrowed; /* both */
    int is_lost;     /* its device failed while others beside it did not */
    char *folder;    /* as it was given: of a package, the file */
    int is_package;  /* whose folder is gone */
    struct clf_model_info info;
};

/* A model over what somebody else loaded, such as a transformer that is being trained. Transformer and
 * tokenizer are borrowed for the model's life; they are those of `folder`, or come from it. */
clf_status clf__model_borrow(struct clf_model **out, struct clf__transformer *transformer,
                             struct clf__tokenizer *tokenizer, const char *folder);

/* How fast a translator was: tokens that it did in seconds of work, of the last calls above all. */
struct clf__pace {
    double done, seconds;
};

struct clf_translator {
    struct clf_model *model;
    struct clf_translator *beside; /* the same on another device, for the same lines: team.h; NULL: none */
    struct clf__member *member;    /* what it is in the team that works; NULL: it does not */
    struct clf__pace pace;
    struct clf_translate_options options;
    struct clf__framing framing;       /* by the languages of the options */
    struct clf__search_options search; /* `suppressed` owned */
    struct clf__config task_config;    /* of the task that is chosen; lists of the search are its own */
    char *source_prefix;               /* what that task puts before each source; NULL: nothing */
    int decoder_start_id;
    int takes_start;                      /* the decoder starts with the first token of a line's prefix */
    struct clf__shortlist *shortlist;     /* NULL: translations are made of all words */
    int candidates_base, candidates_each; /* of it: how many words a line's are at most */
    int max_lines;                        /* under search at a time, or of a batch that is scored */
    int max_banned;                       /* ids of a row at one step */
    struct clf__session *session;         /* for searching; made at the first translation */
    struct clf__session *force_session;   /* for scoring; made at the first score */
    struct clf__session *align_session;   /* for alignments; made for the lengths that come */
    struct clf__session_limits align_limits;
    struct clf__frame_maker *frame_maker; /* of sources that are recordings; NULL: sources are text */
    struct clf_translator *starts;        /* gives the first tokens of alternatives; NULL: none are wanted */
    struct clf_stage_times times;
    struct clf_stage_times all_times; /* of the first of several: its own and those of all beside it */
    int warns_of_sentences;           /* a line of several sentences is warned of yet */
    atomic_int is_working;            /* in a call; its callbacks and other threads may try another */
};

/* One source that was read: ids or frames. */
struct clf__source {
    struct clf__ids ids;
    float *frames;
    int length;   /* tokens or frames; 0: nothing to do */
    int cut_from; /* as in struct clf_translation */
};
void clf__source_free(struct clf__source *source);

/* Reads a line into a source, cut at the model's limit. */
clf_status clf__source_read(struct clf__source *out, const struct clf_translator *translator,
                            const struct clf_line *line);

/* A line with what the task puts before it: the line itself, or *made, which the caller frees. */
clf_status clf__source_text(struct clf_line *out, char **made, const struct clf_translator *translator,
                            const struct clf_line *line);

/* Reads a given target: the token that is forced to be first, its own, the end token; cut at the model's
 * limit. *cut_from: as in struct clf_translation. */
clf_status clf__target_read(struct clf__ids *out, int *cut_from, const struct clf_translator *translator,
                            const struct clf_line *line);

/* CLF_BAD_ARGUMENT naming what is out of range among a translator's options, or does not go together. */
clf_status clf__translator_check_options(const struct clf_translator *translator);

/* Fails where nothing but a line's prefix says what the decoder starts with. */
clf_status clf__translator_check_start(const struct clf_translator *translator);

/* Reads what a target begins with: the token that is forced to be first, then its own, and no end token; none
 * where the line is empty. */
clf_status clf__prefix_read(struct clf__ids *out, const struct clf_translator *translator,
                            const struct clf_line *line);

/* Cuts ids to `limit`, keeping the last one (the end token). Returns the count before, or 0 where nothing was
 * cut. */
int clf__ids_cut(struct clf__ids *ids, int limit);

/* Sources order[0 .. count - 1], one after the other; freed with clf__joined_free(). */
struct clf__joined {
    struct clf__sequences sequences;
    int *first;
    int32_t *ids;
    float *frames;
};
clf_status clf__sources_join(struct clf__joined *out, const struct clf__source *sources, const int *order,
                             int count, int feature_size);
void clf__joined_free(struct clf__joined *joined);

/* A cross-attention: the first so many heads of a decoder layer, 1 the first one. Heads 0: all. */
struct clf__gaze {
    int layer, heads;
};
/* Which of the source's own tokens each id of a hypothesis looks at most, or -1 where there are none. The
 * caller frees *links (hypothesis->count), in any case. */
clf_status clf__links_find(int **links, struct clf_translator *translator, const struct clf__source *source,
                           const struct clf_hypothesis *hypothesis, struct clf__gaze gaze);

/* Makes a hypothesis' text anew, each unknown token the one of the source's line that it looks at most. */
clf_status clf__unknown_replace(struct clf_hypothesis *hypothesis, struct clf_translator *translator,
                                const struct clf__source *source, const struct clf_line *line);

/* Fills a hypothesis' alignment. */
clf_status clf__align(struct clf_hypothesis *hypothesis, struct clf_translator *translator,
                      const struct clf__source *source);

/* What the caller was told of a line's translation: size bytes of text. */
struct clf__told {
    char *text;
    size_t size;
};
/* Tells what is certain of a text that goes on, or is whole, and was not told before. */
clf_status clf__told_go_on(struct clf__told *told, const struct clf_translator *translator, int line,
                           const char *text, int is_whole);
void clf__told_free(struct clf__told *told, int count);

/* Moves a failure of one line, which the others survive, from `status` and the error sentence into the line's
 * fields (the caller frees *problem); returns what is left to return. */
clf_status clf__line_problem(clf_status status, clf_status *line_status, char **problem);

/* CLF_TEXT: the model computed NaN or infinity. The sentence names the likely cause and what to do. */
clf_status clf__model_fail_not_finite(const struct clf_model *model);

/* What a search over so many lines at a time needs. */
struct clf__session_limits clf__translator_limits(const struct clf_translator *translator, int lines);

/* The --batch-tokens that suit a number of compute units: 2048 for the CPU form, a power of two from 2048 to
 * 131072 for the GPU form. */
int clf__batch_tokens_wanted(clf_form form, unsigned compute_units);

/* Lines in a batch of that size: each reserves memory for the longest translation. */
int clf__batch_lines_wanted(int batch_tokens);

/* Sets max_lines, and options.batch_tokens where the caller leaves it to the device (0): the tuned or the
 * wanted number, halved until the session of a full batch fits the free memory. */
clf_status clf__translator_choose_batch(struct clf_translator *translator);

/* Every call that works begins and ends so: CLF_BAD_ARGUMENT for no translator, and for one whose callback
 * calls it. */
clf_status clf__translator_begin(struct clf_translator *translator);
void clf__translator_end(struct clf_translator *translator);

/* Frees what a hypothesis holds. */
void clf__hypothesis_free(struct clf_hypothesis *hypothesis);

/* Lines to translate, and what their targets begin with. */
struct clf__request {
    const struct clf_line *lines;    /* (count) */
    const struct clf_line *prefixes; /* (count) or NULL */
    const struct clf__ids *begun;    /* (count) ids in the place of prefixes, or NULL; the caller's */
    int count;
};

/* clf_translate_prefixed() of whole lines, within a call. */
clf_status clf__translate(struct clf_translation **out, struct clf_translator *translator,
                          const struct clf__request *request);

/* The same where alternatives are wanted. */
clf_status clf__translate_alternatives(struct clf_translation **out, struct clf_translator *translator,
                                       const struct clf__request *request);

/* CLF_BAD_ARGUMENT for what cannot be `count` lines. */
clf_status clf__translator_check_lines(const struct clf_line *lines, int count);

/* CLF_INTERRUPTED where the work is to stop. */
clf_status clf__translator_go_on(const struct clf_translator *translator);
/* CLF_INTERRUPTED where the caller asks to stop; on the caller's thread alone. */
clf_status clf__translator_ask(const struct clf_translator *translator);

/* Adds every member. */
void clf__times_add(struct clf_stage_times *sum, const struct clf_stage_times *times);

/* Fills all_times of the first of several. */
void clf__translator_sum_times(struct clf_translator *first);

#endif
