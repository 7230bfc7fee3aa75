/* Processes one or two inputs window by window, for translate and score. */
#ifndef CLF_TOOLS_STREAM_H
#define CLF_TOOLS_STREAM_H

#include "shared/command.h"
#include "shared/progress.h"
#include "shared/ranks.h"
#include "shared/sink.h"
#include "shared/work_scheduler.h"

enum { STREAM_SIDES = BATCH_SIDES };

struct stream;

/* Processes the lines of a batch: writes the output of each line to answers->file and calls answers_add(). */
typedef clf_status stream_function(struct stream *stream, const struct batch *batch, struct answers *answers);

struct stream {
    const char *verb;
    struct flags flags;
    struct setup setup;
    struct line_reader readers[STREAM_SIDES];
    struct window windows[STREAM_SIDES]; /* with equal line counts */
    int sides;                           /* number of inputs: 1, or 2 with paired lines */
    struct clf_translator *translator;
    void (*streamed)(int line, const char *text, size_t size,
                     void *payload); /* callback of clf_translate_options */
    void (*sentence_translated)(int line, const struct clf_sentence *sentence,
                                void *payload); /* callback of clf_translate_options */
    void (*translated)(int line, const struct clf_translation *translation,
                       void *payload); /* callback of clf_translate_options */
    const struct batch *batch;         /* the current batch, for these callbacks */
    struct answers *answers;           /* for the current batch */
    struct json_t *sentences; /* one JSON array per line of the batch, if sentence_translated is set */
    struct progress progress;
    struct sink sink;        /* used by rank 0 */
    int window_printed;      /* lines of the window that were printed */
    struct part_state done;  /* printed lines, including the lines of the run that --resume continues */
    long long failed_before; /* lines that failed in the run that --resume continues */
    long long kept;          /* finished lines if the output is incomplete */
    struct clf_ranks *ranks;
    struct scheduler scheduler;
    stream_function *work;
    int is_quiet;                /* --quiet, on every rank */
    int is_stopped;              /* another rank asks to stop */
    struct clf__failure failure; /* the first failure */
};

/* Joins the other ranks after the flags are parsed. Returns an exit status. */
int stream_join(struct stream *stream);
/* Returns whether this rank reads the input and prints the output. */
int stream_is_first(const struct stream *stream);

/* Opens the devices and the model that the flags name, and processes the input until it ends, an interrupt or
 * a failure, which is reported. Ranks share the lines, and rank 0 prints the results in order. --verbose
 * prints the time of each stage and kernel.
 *
 * takes: the groups of flags. status: EXIT_DONE if the caller opened the readers, else its exit status.
 *
 * Returns an exit status: EXIT_FAILED if a line failed, EXIT_CUT if a line was truncated and none failed. */
int stream_run(struct stream *stream, stream_function *function, int takes, int status);
void stream_free(
    struct stream *stream); /* frees the readers and the flags, and closes the model and the devices */

#endif
