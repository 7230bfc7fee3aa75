#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

/* "PATH: cannot be VERB: what the system says". */
static clf_status fail_errno(const char *path, const char *verb)
{
    char reason[128];
    if (strerror_r(errno, reason, sizeof reason) != 0) {
        snprintf(reason, sizeof reason, "error %d", errno);
    }
    return clf__fail(CLF_FILE, "%s: cannot be %s: %s", path, verb, reason);
}

/* Opens a regular file and says how long it is. */
static clf_status open_regular(int *out, size_t *size, const char *path)
{
    /* O_NONBLOCK: a pipe in place of a file is refused below, not waited for. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        return fail_errno(path, "opened");
    }
    struct stat about;
    if (fstat(descriptor, &about) != 0) {
        clf_status status = fail_errno(path, "opened");
        close(descriptor);
        return status;
    }
    if (!S_ISREG(about.st_mode)) {
        close(descriptor);
        return clf__fail(CLF_FILE, "%s: is %s, not a file", path,
                         S_ISDIR(about.st_mode) ? "a folder" : "a device or a pipe");
    }
    *out = descriptor;
    *size = (size_t)about.st_size;
    return CLF_OK;
}

clf_status clf__file_map_open(struct clf__file_map *out, const char *path)
{
    *out = (struct clf__file_map){0};
    int descriptor;
    size_t size;
    CLF__TRY(open_regular(&descriptor, &size, path));
    clf_status status = CLF_OK;
    if (size > 0) { /* mmap refuses empty maps */
        void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (bytes == MAP_FAILED) {
            status = fail_errno(path, "mapped into memory");
        } else {
            *out = (struct clf__file_map){.bytes = bytes, .size = size};
        }
    }
    close(descriptor);
    return status;
}

void clf__file_map_close(struct clf__file_map *map)
{
    if (map->size > 0) {
        munmap((void *)map->bytes, map->size);
    }
    *map = (struct clf__file_map){0};
}

static clf_status read_all(int descriptor, char *bytes, size_t size, const char *path)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = read(descriptor, bytes + done, size - done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return fail_errno(path, "read");
        }
        if (got == 0) {
            return clf__fail(CLF_FILE, "%s: became shorter while it was read", path);
        }
        done += (size_t)got;
    }
    return CLF_OK;
}

clf_status clf__file_read(char **out, size_t *size, const char *path, size_t max_bytes)
{
    *out = NULL;
    *size = 0;
    int descriptor;
    size_t length;
    CLF__TRY(open_regular(&descriptor, &length, path));
    char *bytes = NULL;
    clf_status status = CLF_OK;
    if (length > max_bytes) {
        status = clf__fail(CLF_FORMAT, "%s: has %zu bytes, more than the %zu expected of such a file", path,
                           length, max_bytes);
    }
    if (status == CLF_OK) {
        status = clf__allocate(&bytes, length + 1, 1);
    }
    if (status == CLF_OK) {
        status = read_all(descriptor, bytes, length, path);
    }
    close(descriptor);
    if (status != CLF_OK) {
        clf__free(bytes);
        return status;
    }
    *out = bytes;
    *size = length;
    return CLF_OK;
}

static clf_status write_all(int descriptor, const char *bytes, size_t size, const char *path)
{
    size_t done = 0;
    while (done < size) {
        ssize_t put = write(descriptor, bytes + done, size - done);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0) {
            return fail_errno(path, "written");
        }
        done += (size_t)put;
    }
    return CLF_OK;
}

clf_status clf__file_write(const char *path, const void *bytes, size_t size)
{
    /* Unique among the threads and processes that may write the same path. */
    static atomic_uint writes;
    char *temporary = NULL;
    CLF__TRY(clf__format(&temporary, "%s.%ld-%u.tmp", path, (long)getpid(), atomic_fetch_add(&writes, 1)));
    int descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) {
        clf_status status = fail_errno(path, "created");
        clf__free(temporary);
        return status;
    }
    clf_status status = write_all(descriptor, bytes, size, path);
    /* On the disk before it has its name: a power cut must not leave a named, half-written file. */
    if (status == CLF_OK && fsync(descriptor) != 0 && errno != EINVAL) {
        status = fail_errno(path, "written");
    }
    if (close(descriptor) != 0 && status == CLF_OK) {
        status = fail_errno(path, "written");
    }
    if (status == CLF_OK && rename(temporary, path) != 0) {
        status = fail_errno(path, "written");
    }
    if (status != CLF_OK) {
        unlink(temporary);
    }
    clf__free(temporary);
    return status;
}

int clf__file_exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

int clf__folder_exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

clf_status clf__folder_create(const char *path)
{
    char *partial = NULL;
    CLF__TRY(clf__copy_string(&partial, path));
    clf_status status = CLF_OK;
    size_t length = strlen(path);
    for (size_t i = 1; i <= length && status == CLF_OK; i++) {
        if (path[i] != '/' && path[i] != '\0') {
            continue;
        }
        partial[i] = '\0';
        /* Another program may make the same folder at the same time: whether it is there is what counts. */
        if (mkdir(partial, 0777) != 0) {
            int reason = errno;
            if (!clf__folder_exists(partial)) {
                errno = reason;
                status = fail_errno(partial, "created");
            }
        }
        partial[i] = path[i];
    }
    if (length == 0) {
        status = clf__fail(CLF_FILE, "a folder without a name cannot be created");
    }
    clf__free(partial);
    return status;
}

clf_status clf__path_join(char **out, const char *folder, const char *name)
{
    size_t length = strlen(folder);
    int has_slash = length > 0 && folder[length - 1] == '/';
    return clf__format(out, "%s%s%s", folder, length == 0 || has_slash ? "" : "/", name);
}
