/* Where lines go: standard output, a pipe or a device, or a file that has its name once it is whole. */
#ifndef CLF_TOOLS_SINK_H
#define CLF_TOOLS_SINK_H

#include <stdio.h>

#include "base/file.h"

struct sink {
    FILE *file;                    /* to print to */
    const char *path;              /* NULL: standard output, which output_finish() looks after */
    struct clf__file_writer whole; /* of a file */
    int is_whole;
};

/* Whether a path names a file, or is to name one: neither standard output nor a device or a pipe, and no
 * /dev/stdout, a link that no file must take the place of. */
int sink_is_file(const char *path);

/* NULL or "-" is standard output. The path is the caller's, who keeps it. Ended by sink_close(), also after a
 * failure. */
clf_status sink_open(struct sink *out, const char *path);
/* Fails where what was printed until now, the last of it just now, could not be written; standard output
 * never does. */
clf_status sink_flush(struct sink *sink);
/* With CLF_OK a file gets its name. Any other status is returned, and leaves what had the name before.
 * Closing it again does nothing. */
clf_status sink_close(struct sink *sink, clf_status status);

#endif
