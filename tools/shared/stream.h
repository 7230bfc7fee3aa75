/* Working through one or two inputs window by window: what translate and score share. */
#ifndef CLF_TOOLS_STREAM_H
#define CLF_TOOLS_STREAM_H

#include "shared/command.h"
#include "shared/deal.h"
#include "shared/progress.h"
#include "shared/ranks.h"
#include "shared/sink.h"

enum { STREAM_SIDES = BATCH_SIDES };

struct stream;

/* Works on lines: writes to answers->file what is to be printed of each, and answers_add(). */
typedef clf_status stream_function(struct stream *stream, const struct batch *batch, struct answers *answers);

struct stream {
    const char *verb;
    struct flags flags;
    struct setup setup;
    struct line_reader readers[STREAM_SIDES];
    struct window windows[STREAM_SIDES]; /* of equally many lines */
    int sides;                           /* 1, or 2 where line i of one belongs to line i of the other */
    struct clf_translator *translator;
    void (*streamed)(void *user, int line, const char *text, size_t size); /* of clf_translate_options */
    void (*sentence_translated)(void *user, int line, const struct clf_sentence *sentence); /* likewise */
    void (*translated)(void *user, int line, const struct clf_translation *translation);    /* likewise */
    const struct batch *batch; /* that is being worked on, for these */
    struct answers *answers;   /* of it */
    struct json_t *sentences;  /* an array for each line of a batch, where sentence_translated is set */
    struct progress progress;
    struct sink sink;        /* of rank 0 */
    int window_printed;      /* lines of the window that were printed */
    struct part_state done;  /* what was printed, also by the run that this one continues */
    long long failed_before; /* lines that failed in that run */
    long long kept;          /* lines to continue from, where the output is not whole */
    struct clf_ranks *ranks;
    struct deal deal;
    stream_function *work;
    int is_quiet;                /* by the flags, on every rank */
    struct clf__failure failure; /* the first one */
};

/* Joins the other ranks, once the flags are known. Returns an exit status. */
int stream_join(struct stream *stream);
/* Whether this rank is the one that reads and prints: the readers are its affair. */
int stream_is_first(const struct stream *stream);

/* Opens what the flags name, which `takes` says, where `status`, an exit status, says that the readers are
 * open; then reads and works until the end, an interrupt, or a failure, which it reports. Ranks share the
 * lines, and rank 0 prints the results in order. With --verbose it tells the time of each stage, and of each
 * kernel. Returns an exit status: failed where a line could not be used, EXIT_CUT where all could but a line
 * was cut. */
int stream_run(struct stream *stream, stream_function *function, int takes, int status);
void stream_free(struct stream *stream); /* with the readers, the flags and what was opened */

#endif
