#include "audio/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/file.h"
#include "base/memory.h"

enum { BLOCK = 1 << 16 };

/* Creates an unnamed temporary file, which is removed when closed. */
static clf_status create_spool(int *spool, const char *name)
{
    char *path = NULL;
    CLF__TRY(clf__path_join(&path, clf__environment_temporary_folder(), "clformer-XXXXXX"));
    *spool = mkstemp(path);
    clf_status status = CLF_OK;
    if (*spool < 0) {
        status = clf__fail(CLF_FILE,
                           "%s: a pipe is copied to a temporary file, but %s cannot be created: %s; set "
                           "TMPDIR to a writable folder",
                           name, path, strerror(errno));
    } else {
        unlink(path);
    }
    clf__free(path);
    return status;
}

static clf_status write_all(int spool, const uint8_t *bytes, size_t size, const char *name)
{
    while (size > 0) {
        ssize_t written = write(spool, bytes, size);
        if (written < 0 && errno != EINTR) {
            return clf__fail(CLF_FILE,
                             "%s: a pipe is copied to a temporary file, but the file in %s cannot be "
                             "written: %s; set TMPDIR to a folder with more space",
                             name, clf__environment_temporary_folder(), strerror(errno));
        }
        bytes += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return CLF_OK;
}

static clf_status copy_pipe(int spool, int pipe, const char *name)
{
    uint8_t bytes[BLOCK];
    ssize_t size;
    while ((size = read(pipe, bytes, sizeof bytes)) != 0) {
        if (size < 0 && errno != EINTR) {
            return clf__file_fail(name, "read");
        }
        if (size > 0) {
            CLF__TRY(write_all(spool, bytes, (size_t)size, name));
        }
    }
    return lseek(spool, 0, SEEK_SET) == 0 ? CLF_OK : clf__file_fail(name, "read");
}

static clf_status spool_pipe(int *descriptor, int pipe, const char *name)
{
    CLF__TRY(create_spool(descriptor, name));
    clf_status status = copy_pipe(*descriptor, pipe, name);
    if (status != CLF_OK) {
        close(*descriptor);
        *descriptor = -1;
    }
    return status;
}

clf_status clf__spool_open(int *descriptor, const char *path, const char *name)
{
    int opened = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (opened < 0) {
        return clf__file_fail(name, "opened");
    }
    if (fstat(opened, &status) != 0) {
        close(opened);
        return clf__file_fail(name, "opened");
    }
    if (S_ISREG(status.st_mode)) {
        *descriptor = opened;
        return CLF_OK;
    }
    clf_status result = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)
                            ? spool_pipe(descriptor, opened, name)
                            : clf__fail(CLF_FILE, "%s: neither a file nor a pipe; pass a recording", name);
    close(opened);
    return result;
}
