/* Line output: standard output, a pipe, a device, or a file that is renamed when it is complete. */
#ifndef CLF_TOOLS_SINK_H
#define CLF_TOOLS_SINK_H

#include <stdio.h>

#include "shared/part.h"

struct sink {
    FILE *file;       /* the stream for the lines; NULL for a file before sink_begin_part() */
    const char *path; /* NULL: standard output, whose errors output_finish() reports */
    struct part part; /* the incomplete file */
    int is_part;
};

/* Returns 1 if a path names an existing or a new regular file, and 0 for standard output, a device, a pipe or
 * a link such as /dev/stdout, which must not be replaced by a file. */
int sink_is_file(const char *path);

/* Opens the output. NULL or "-" is standard output. The path is borrowed. Close with sink_close(), also after
 * a failure. */
clf_status sink_open(struct sink *out, const char *path);
/* Calls part_begin() for a file. */
clf_status sink_begin_part(struct sink *sink, json_t *made_of, int inputs, int resumes,
                           struct part_state *state);
/* Flushes the output. `state` counts the printed lines. Fails if the lines cannot be written, except on
 * standard output. */
clf_status sink_flush(struct sink *sink, const struct part_state *state);
/* Closes the output. With CLF_OK, a file gets its final name. Any other status is returned, and an existing
 * file of that name is unchanged. *kept: see part_close(). Closing again does nothing. */
clf_status sink_close(struct sink *sink, const struct part_state *state, clf_status status, long long *kept);

#endif
