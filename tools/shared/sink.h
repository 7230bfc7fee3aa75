/* Where lines go: standard output, a pipe or a device, or a file that has its name once it is whole. */
#ifndef CLF_TOOLS_SINK_H
#define CLF_TOOLS_SINK_H

#include <stdio.h>

#include "shared/part.h"

struct sink {
    FILE *file;       /* to print to; of a part NULL before part_begin() */
    const char *path; /* NULL: standard output, which output_finish() looks after */
    struct part part; /* of a file */
    int is_part;
};

/* Whether a path names a file, or is to name one: neither standard output nor a device or a pipe, and no
 * /dev/stdout, a link that no file must take the place of. */
int sink_is_file(const char *path);

/* NULL or "-" is standard output. The path is the caller's, who keeps it. Ended by sink_close(), also after a
 * failure. */
clf_status sink_open(struct sink *out, const char *path);
/* part_begin(); the sink has its file then. */
clf_status sink_begin_part(struct sink *sink, json_t *made_of, int inputs, int resumes,
                           struct part_state *state);
/* `state` is how far the output is with what was printed until now. Fails where that could not be written;
 * standard output never does. */
clf_status sink_flush(struct sink *sink, const struct part_state *state);
/* With CLF_OK a file gets its name. Any other status is returned, and leaves what had the name before. *kept
 * as in part_close(). Closing it again does nothing. */
clf_status sink_close(struct sink *sink, const struct part_state *state, clf_status status, long long *kept);

#endif
