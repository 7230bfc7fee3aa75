/* Atomic writes of files and renames of folders. */
#define _GNU_SOURCE /* O_TMPFILE, and sync() */

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/memory.h"

enum { MOST_AT_ONCE = 1 << 22, SYNC_BYTES = 1 << 26 };

clf_status clf__temporary_path(char **out, const char *path)
{
    static atomic_uint made;
    return clf__format(out, "%s.%ld-%u.tmp", path, (long)getpid(), atomic_fetch_add(&made, 1));
}

/* Sets *out to the parent folder of a path; the caller frees it. */
static clf_status parent_of(char **out, const char *path)
{
    const char *slash = strrchr(path, '/');
    return clf__copy_bytes(out, slash ? path : ".", slash ? (size_t)(slash - path) + 1 : 1);
}

/* The /proc path of an open unnamed file. */
struct shown {
    char path[32];
};

static struct shown shown_at(int descriptor)
{
    struct shown shown;
    snprintf(shown.path, sizeof shown.path, "/proc/self/fd/%d", descriptor);
    return shown;
}

/* Creates an unnamed file, which the system removes if the process dies. The descriptor stays -1 if the
 * system or file system does not support unnamed files. */
static clf_status create_nameless(struct clf__file_writer *writer, mode_t mode)
{
#ifdef O_TMPFILE
    char *folder = NULL;
    CLF__TRY(parent_of(&folder, writer->path));
    writer->descriptor = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
    clf__free(folder);
    if (writer->descriptor >= 0 && access(shown_at(writer->descriptor).path, F_OK) != 0) { /* no /proc */
        close(writer->descriptor);
        writer->descriptor = -1;
    }
#else
    (void)writer, (void)mode;
#endif
    return CLF_OK;
}

/* Links the open file to a temporary name, or creates a file with that name. A name that exists belongs to
 * another machine or container or to a killed process; the next name is tried. */
static clf_status take_temporary(struct clf__file_writer *writer, mode_t mode)
{
    enum { MOST_TRIES = 1000 };
    int is_open = writer->descriptor >= 0, has_name = 0;
    for (int i = 0; i < MOST_TRIES && !has_name; i++) {
        clf__free(writer->temporary);
        writer->temporary = NULL;
        CLF__TRY(clf__temporary_path(&writer->temporary, writer->path));
        if (is_open) {
            has_name = linkat(AT_FDCWD, shown_at(writer->descriptor).path, AT_FDCWD, writer->temporary,
                              AT_SYMLINK_FOLLOW) == 0;
        } else {
            writer->descriptor = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
            has_name = writer->descriptor >= 0;
        }
        if (!has_name && errno != EEXIST) {
            break;
        }
    }
    if (!has_name) {
        clf_status status = clf__file_fail(writer->path, "created");
        clf__free(writer->temporary); /* created by another process */
        writer->temporary = NULL;
        return status;
    }
    return CLF_OK;
}

static void free_writer(struct clf__file_writer *writer)
{
    clf__free(writer->temporary);
    clf__free(writer->path);
    *writer = (struct clf__file_writer){.descriptor = -1};
}

static clf_status open_writer(struct clf__file_writer *out, const char *path, mode_t mode)
{
    *out = (struct clf__file_writer){.descriptor = -1};
    clf_status status = clf__copy_string(&out->path, path);
    if (status == CLF_OK) {
        status = create_nameless(out, mode);
    }
    if (status == CLF_OK && out->descriptor < 0) {
        status = take_temporary(out, mode);
    }
    if (status != CLF_OK) {
        free_writer(out);
    }
    return status;
}

clf_status clf__file_writer_open(struct clf__file_writer *out, const char *path)
{
    return open_writer(out, path, 0666);
}

/* Syncs a large file in parts, because one fsync() of the whole file cannot be interrupted. */
static clf_status sync_some(struct clf__file_writer *writer, size_t written)
{
    writer->unsynced += written;
    if (writer->unsynced < SYNC_BYTES) {
        return CLF_OK;
    }
    writer->unsynced = 0;
    return fdatasync(writer->descriptor) == 0 || errno == EINVAL ? CLF_OK
                                                                 : clf__file_fail(writer->path, "written");
}

clf_status clf__file_writer_write(struct clf__file_writer *writer, const void *bytes, size_t size)
{
    const char *next = bytes;
    while (size > 0) {
        CLF__TRY(writer->asks ? clf__interrupt_check() : CLF_OK);
        ssize_t put = write(writer->descriptor, next, size < MOST_AT_ONCE ? size : MOST_AT_ONCE);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0) {
            return clf__file_fail(writer->path, "written");
        }
        next += put;
        size -= (size_t)put;
        CLF__TRY(sync_some(writer, (size_t)put));
    }
    return CLF_OK;
}

/* Syncs the folder of a path; otherwise a crash may undo the rename. */
static clf_status sync_parent(const char *path)
{
    char *folder = NULL;
    CLF__TRY(parent_of(&folder, path));
    clf_status status = CLF_OK;
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) {
        if (errno == EACCES) { /* the folder is writable but not readable */
            sync();
        } else {
            status = clf__file_fail(folder, "opened, and may lose the last writes");
        }
    } else if (fsync(descriptor) != 0 && errno != EINVAL) { /* some file systems cannot sync folders and
                                                             * report EINVAL */
        status = clf__file_fail(folder, "written");
    }
    if (descriptor >= 0) {
        close(descriptor);
    }
    clf__free(folder);
    return status;
}

clf_status clf__file_writer_close(struct clf__file_writer *writer, clf_status status)
{
    /* Sync before the rename: a power failure must not leave a half-written file under the final name. */
    if (status == CLF_OK && fsync(writer->descriptor) != 0 && errno != EINVAL) {
        status = clf__file_fail(writer->path, "written");
    }
    if (status == CLF_OK && writer->temporary == NULL) {
        status = take_temporary(writer, 0);
    }
    if (close(writer->descriptor) != 0 && status == CLF_OK) {
        status = clf__file_fail(writer->path, "written");
    }
    if (status == CLF_OK && rename(writer->temporary, writer->path) != 0) {
        status = clf__file_fail(writer->path, "written");
    }
    if (status != CLF_OK && writer->temporary != NULL) {
        unlink(writer->temporary);
    } else if (status == CLF_OK) {
        status = sync_parent(writer->path);
    }
    free_writer(writer);
    return status;
}

static clf_status write_with_mode(const char *path, const void *bytes, size_t size, mode_t mode)
{
    struct clf__file_writer writer;
    CLF__TRY(open_writer(&writer, path, mode));
    return clf__file_writer_close(&writer, clf__file_writer_write(&writer, bytes, size));
}

clf_status clf__file_write(const char *path, const void *bytes, size_t size)
{
    return write_with_mode(path, bytes, size, 0666);
}

clf_status clf__file_write_owned(const char *path, const void *bytes, size_t size)
{
    return write_with_mode(path, bytes, size, 0600);
}

/* Implements clf__file_block. */
static clf_status write_block(void *user, const uint8_t *bytes, size_t size)
{
    return clf__file_writer_write(user, bytes, size);
}

clf_status clf__file_copy(const char *target, const char *source)
{
    struct clf__file file;
    struct clf__file_writer writer;
    CLF__TRY(clf__file_open_as_is(&file, source, 0)); /* Git LFS pointers are copied unchanged */
    clf_status status = clf__file_writer_open(&writer, target);
    if (status == CLF_OK) {
        status = clf__file_writer_close(&writer, clf__file_each_block(&file, write_block, &writer));
    }
    clf__file_close(&file);
    return status;
}

clf_status clf__file_link(const char *target, const char *source)
{
    return link(source, target) == 0 ? CLF_OK : clf__file_copy(target, source);
}

clf_status clf__file_rename(const char *from, const char *to)
{
    return rename(from, to) == 0 ? sync_parent(to) : clf__file_fail(to, "written");
}

clf_status clf__folder_rename(const char *from, const char *to)
{
    if (clf__folder_exists(to)) { /* rename() would replace an empty folder */
        return clf__fail(CLF_FILE, "%s: already exists", to);
    }
    if (rename(from, to) != 0) {
        return clf__file_fail(to, "created");
    }
    return sync_parent(to);
}
