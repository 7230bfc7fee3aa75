#include "shared/sink.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"
#include "shared/input.h"

int sink_is_file(const char *path)
{
    struct stat status;
    if (strncmp(path, "/dev/", strlen("/dev/")) == 0 && lstat(path, &status) == 0 &&
        S_ISLNK(status.st_mode)) {
        return 0;
    }
    return strcmp(path, "-") != 0 && (stat(path, &status) != 0 || S_ISREG(status.st_mode));
}

static clf_status fail(const struct sink *sink)
{
    if (errno == ENXIO) {
        return clf__fail(CLF_FILE, "%s cannot be written: it is a pipe that nobody reads", sink->path);
    }
    return clf__file_fail(sink->path, "written");
}

clf_status sink_open(struct sink *out, const char *path)
{
    *out = (struct sink){.file = stdout};
    if (path == NULL || strcmp(path, "-") == 0) {
        return CLF_OK;
    }
    *out = (struct sink){.path = path};
    if (!sink_is_file(path)) {
        out->file = input_open_sink(path);
        return out->file != NULL ? CLF_OK : fail(out);
    }
    CLF__TRY(clf__file_writer_open(&out->whole, path));
    out->is_whole = 1;
    /* A copy of the descriptor: closing that tells of a full disk, and the writer ends its own. */
    int copy = dup(out->whole.descriptor);
    out->file = copy >= 0 ? fdopen(copy, "w") : NULL;
    if (out->file == NULL && copy >= 0) {
        close(copy);
    }
    return out->file != NULL ? CLF_OK : fail(out);
}

clf_status sink_flush(struct sink *sink)
{
    int has_failed = ferror(sink->file) != 0 || fflush(sink->file) != 0;
    return !has_failed || sink->path == NULL ? CLF_OK : fail(sink);
}

clf_status sink_close(struct sink *sink, clf_status status)
{
    if (sink->path != NULL && sink->file != NULL) {
        int has_failed = ferror(sink->file) != 0;
        has_failed |= fclose(sink->file) != 0;
        status = has_failed && status == CLF_OK ? fail(sink) : status;
    }
    if (sink->is_whole) {
        status = clf__file_writer_close(&sink->whole, status);
    }
    *sink = (struct sink){.file = NULL};
    return status;
}
