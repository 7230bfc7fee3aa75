/* Working through one or two inputs window by window: what translate and score share. */
#ifndef CLF_TOOLS_STREAM_H
#define CLF_TOOLS_STREAM_H

#include "shared/command.h"
#include "shared/lines.h"
#include "shared/progress.h"

enum { STREAM_SIDES = 2 };

struct stream {
    struct flags flags;
    struct setup setup;
    struct line_reader readers[STREAM_SIDES];
    struct window windows[STREAM_SIDES]; /* of equally many lines */
    int sides;                           /* 1, or 2 where line i of one belongs to line i of the other */
    struct clf_translator *translator;
    void (*streamed)(void *user, int line, const char *text, size_t size); /* of clf_translate_options */
    struct progress progress;
    long long failed_lines, cut_lines; /* that could not be used, or only a part of them */
    long long lines_printed;
};

/* Works on the windows that were read and prints their results in order. */
typedef clf_status stream_function(struct stream *stream);

/* Opens what the flags name, then reads and works until the end, an interrupt, or a failure, which it
 * reports. With --verbose it tells the time of each stage, and of each kernel. Returns an exit status: failed
 * where a line could not be used, EXIT_CUT where all could but a line was cut. */
int stream_run(struct stream *stream, stream_function *work);
void stream_free(struct stream *stream); /* with the readers, the flags and what was opened */

/* What was cut off a line: of so many tokens or frames (0: nothing) of its source or target. */
struct stream_cut {
    int from, is_target;
};
/* Says on stderr what became of a line: why it could not be used, or that it was cut. */
void stream_report_line(struct stream *stream, int index, clf_status status, const char *problem,
                        struct stream_cut cut);

#endif
