#include "shared/sink.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
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
        return clf__fail(CLF_FILE, "%s: cannot be written: it is a pipe without a reader", sink->path);
    }
    return clf__file_fail(sink->is_part ? sink->part.path : sink->path, "written");
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
    out->is_part = 1;
    return part_open(&out->part, path);
}

clf_status sink_begin_part(struct sink *sink, json_t *made_of, int inputs, int resumes,
                           struct part_state *state)
{
    clf_status status = part_begin(&sink->part, made_of, inputs, resumes, state);
    sink->file = sink->part.file;
    return status;
}

clf_status sink_flush(struct sink *sink, const struct part_state *state)
{
    int has_failed = ferror(sink->file) != 0 || fflush(sink->file) != 0;
    if (has_failed) {
        return sink->path == NULL ? CLF_OK : fail(sink);
    }
    return sink->is_part ? part_advance(&sink->part, state) : CLF_OK;
}

clf_status sink_close(struct sink *sink, const struct part_state *state, clf_status status, long long *kept)
{
    if (sink->is_part) {
        status = part_close(&sink->part, state, status, kept);
    } else if (sink->path != NULL && sink->file != NULL) {
        int has_failed = ferror(sink->file) != 0;
        has_failed |= fclose(sink->file) != 0;
        status = has_failed && status == CLF_OK ? fail(sink) : status;
    }
    *sink = (struct sink){.file = NULL};
    return status;
}
