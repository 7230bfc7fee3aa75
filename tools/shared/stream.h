/* Working through one or two inputs window by window: what translate and score share. */
#ifndef CLF_TOOLS_STREAM_H
#define CLF_TOOLS_STREAM_H

#include "shared/command.h"
#include "shared/lines.h"
#include "shared/progress.h"

enum { STREAM_SIDES = 2 };

struct stream {
    struct line_reader readers[STREAM_SIDES];
    struct window windows[STREAM_SIDES]; /* of equally many lines */
    int sides;                           /* 1, or 2 where line i of one belongs to line i of the other */
    int quiet;
    const struct clf_model_info *info; /* borrowed; of frames, which are large, windows are small */
    struct clf_translator *translator;
    struct progress progress;
    int failed_lines; /* that could not be used */
    long long lines_printed;
};

/* Creates stream->translator as the flags say, told of interrupts. Returns an exit status; stream_free()
 * frees it. */
int stream_begin(struct stream *stream, struct flags *flags, const struct setup *setup);

/* Works on the windows that were read and prints their results in order. */
typedef clf_status stream_function(void *context);

/* Reads and works until the end, an interrupt, or a failure, which it reports. Returns an exit status: failed
 * where a line could not be used. */
int stream_run(struct stream *stream, stream_function *work, void *context);
/* With --verbose: the time of each stage, and of each kernel. Returns `status`, or the exit status of its own
 * failure. */
int stream_report_times(const struct stream *stream, const struct setup *setup, const struct flags *flags,
                        int status);
void stream_free(struct stream *stream); /* with its readers */

/* What was cut off a line: of so many tokens or frames (0: nothing) of its source or target. */
struct stream_cut {
    int from, is_target;
};
/* Says on stderr what became of a line: why it could not be used, or that it was cut. */
void stream_report_line(struct stream *stream, int index, clf_status status, const char *problem,
                        struct stream_cut cut);

#endif
