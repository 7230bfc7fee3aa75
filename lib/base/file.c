#define _XOPEN_SOURCE 700 /* sync() */

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

clf_status clf__file_fail(const char *path, const char *verb)
{
    char reason[128];
    if (strerror_r(errno, reason, sizeof reason) != 0) {
        snprintf(reason, sizeof reason, "error %d", errno);
    }
    return clf__fail(CLF_FILE, "%s: cannot be %s: %s", path, verb, reason);
}

clf_status clf__temporary_path(char **out, const char *path)
{
    static atomic_uint made;
    return clf__format(out, "%s.%ld-%u.tmp", path, (long)getpid(), atomic_fetch_add(&made, 1));
}

/* A name that is taken is another machine's or container's, or was left by a process that was killed. */
static clf_status create_temporary(struct clf__file_writer *writer, mode_t mode)
{
    enum { MOST_TRIES = 1000 };
    for (int i = 0; i < MOST_TRIES && writer->descriptor < 0; i++) {
        clf__free(writer->temporary);
        writer->temporary = NULL;
        CLF__TRY(clf__temporary_path(&writer->temporary, writer->path));
        writer->descriptor = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (writer->descriptor < 0 && errno != EEXIST) {
            break;
        }
    }
    return writer->descriptor >= 0 ? CLF_OK : clf__file_fail(writer->path, "created");
}

static clf_status open_writer(struct clf__file_writer *out, const char *path, mode_t mode)
{
    *out = (struct clf__file_writer){.descriptor = -1};
    struct clf__file_writer writer = {.descriptor = -1};
    clf_status status = clf__copy_string(&writer.path, path);
    if (status == CLF_OK) {
        status = create_temporary(&writer, mode);
    }
    if (status != CLF_OK) {
        clf__free(writer.temporary);
        clf__free(writer.path);
        return status;
    }
    *out = writer;
    return CLF_OK;
}

clf_status clf__file_writer_open(struct clf__file_writer *out, const char *path)
{
    return open_writer(out, path, 0666);
}

clf_status clf__file_writer_write(struct clf__file_writer *writer, const void *bytes, size_t size)
{
    const char *next = bytes;
    while (size > 0) {
        ssize_t put = write(writer->descriptor, next, size);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0) {
            return clf__file_fail(writer->path, "written");
        }
        next += put;
        size -= (size_t)put;
    }
    return CLF_OK;
}

/* The folder that holds a path, onto the disk: until then a rename may be forgotten. */
static clf_status sync_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = NULL;
    CLF__TRY(clf__copy_bytes(&folder, slash ? path : ".", slash ? (size_t)(slash - path) + 1 : 1));
    clf_status status = CLF_OK;
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) {
        if (errno == EACCES) { /* one that can be written and not read */
            sync();
        } else {
            status = clf__file_fail(folder, "opened, and may forget what was written");
        }
    } else if (fsync(descriptor) != 0 && errno != EINVAL) { /* not every file system can, and says so */
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
    /* On the disk before it has its name: a power cut must not leave a named, half-written file. */
    if (status == CLF_OK && fsync(writer->descriptor) != 0 && errno != EINVAL) {
        status = clf__file_fail(writer->path, "written");
    }
    if (close(writer->descriptor) != 0 && status == CLF_OK) {
        status = clf__file_fail(writer->path, "written");
    }
    if (status == CLF_OK && rename(writer->temporary, writer->path) != 0) {
        status = clf__file_fail(writer->path, "written");
    }
    if (status != CLF_OK) {
        unlink(writer->temporary);
    } else {
        status = sync_parent(writer->path);
    }
    clf__free(writer->temporary);
    clf__free(writer->path);
    *writer = (struct clf__file_writer){.descriptor = -1};
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

/* A clf__file_piece. */
static clf_status write_piece(void *user, const uint8_t *bytes, size_t size)
{
    return clf__file_writer_write(user, bytes, size);
}

clf_status clf__file_copy(const char *target, const char *source)
{
    struct clf__file file;
    struct clf__file_writer writer;
    CLF__TRY(clf__file_open_as_is(&file, source, 0)); /* a pointer, too: nobody needs what it says here */
    clf_status status = clf__file_writer_open(&writer, target);
    if (status == CLF_OK) {
        status = clf__file_writer_close(&writer, clf__file_each_piece(&file, write_piece, &writer));
    }
    clf__file_close(&file);
    return status;
}

clf_status clf__file_link(const char *target, const char *source)
{
    return link(source, target) == 0 ? CLF_OK : clf__file_copy(target, source);
}

int clf__file_exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

int clf__file_is_missing(const char *path)
{
    struct stat about;
    return lstat(path, &about) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

clf_status clf__file_find(int *out, const char *folder, const char *name)
{
    *out = 0;
    char *path = NULL;
    CLF__TRY(clf__path_join(&path, folder, name));
    clf_status status = CLF_OK;
    if (!clf__file_is_missing(path)) {
        struct clf__file file;
        status = clf__file_open_as_is(&file, path, 0);
        if (status == CLF_OK) {
            clf__file_close(&file);
            *out = 1;
        } else if (!clf__file_exists(path)) { /* a link that leads nowhere, or what is no file */
            clf__fail(status, "%s; put the file in its place, or remove it", clf_last_error());
        }
    }
    clf__free(path);
    return status;
}

clf_status clf__file_exists_in(int *out, const char *folder, const char *name)
{
    char *path = NULL;
    CLF__TRY(clf__path_join(&path, folder, name));
    *out = clf__file_exists(path);
    clf__free(path);
    return CLF_OK;
}

int clf__folder_exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

int clf__folder_is(const char *path, const char *other)
{
    struct stat about, others;
    return stat(path, &about) == 0 && stat(other, &others) == 0 && S_ISDIR(about.st_mode) &&
           about.st_dev == others.st_dev && about.st_ino == others.st_ino;
}

static clf_status create_folder(const char *path, mode_t mode)
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
        if (mkdir(partial, mode) != 0) {
            int reason = errno;
            if (!clf__folder_exists(partial)) {
                errno = reason;
                status = clf__file_fail(partial, "created");
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

size_t clf__folder_missing(const char *path)
{
    char part[PATH_MAX];
    size_t length = strlen(path);
    for (size_t i = 1; i <= length && length < sizeof part; i++) {
        if (path[i] == '/' || path[i] == '\0') {
            snprintf(part, sizeof part, "%.*s", (int)i, path);
            if (!clf__folder_exists(part)) {
                return i;
            }
        }
    }
    return 0;
}

void clf__folder_remove_empty(char *path, size_t missing)
{
    for (size_t i = strlen(path); missing > 0 && i >= missing; i--) {
        if (path[i] == '/' || path[i] == '\0') {
            char kept = path[i];
            path[i] = '\0';
            rmdir(path); /* the system refuses what is not empty */
            path[i] = kept;
        }
    }
}

clf_status clf__folder_create(const char *path)
{
    return create_folder(path, 0777);
}

clf_status clf__folder_create_owned(const char *path)
{
    return create_folder(path, 0700);
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static clf_status add_name(struct clf__names *names, const char *name)
{
    /* Room grows at each power of two. */
    if ((names->count & (names->count - 1)) == 0) {
        int capacity = names->count > 0 ? 2 * names->count : 1;
        CLF__TRY(clf__resize(&names->items, (size_t)capacity, sizeof *names->items));
    }
    CLF__TRY(clf__copy_string(&names->items[names->count], name));
    names->count++;
    return CLF_OK;
}

clf_status clf__folder_list(struct clf__names *out, const char *path)
{
    *out = (struct clf__names){0};
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return clf__file_fail(path, "opened");
    }
    struct clf__names names = {0};
    clf_status status = CLF_OK;
    for (struct dirent *entry = readdir(folder); entry != NULL && status == CLF_OK; entry = readdir(folder)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            status = add_name(&names, entry->d_name);
        }
    }
    closedir(folder);
    if (status != CLF_OK) {
        clf__names_free(&names);
        return status;
    }
    if (names.count > 0) {
        qsort(names.items, (size_t)names.count, sizeof *names.items, by_name);
    }
    *out = names;
    return CLF_OK;
}

void clf__names_free(struct clf__names *names)
{
    for (int i = 0; i < names->count; i++) {
        clf__free(names->items[i]);
    }
    clf__free(names->items);
    *names = (struct clf__names){0};
}

static int is_folder_itself(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

clf_status clf__folder_remove(const char *path)
{
    if (!is_folder_itself(path)) {
        return unlink(path) == 0 || errno == ENOENT ? CLF_OK : clf__file_fail(path, "removed");
    }
    struct clf__names names;
    CLF__TRY(clf__folder_list(&names, path));
    clf_status status = CLF_OK;
    for (int i = 0; i < names.count && status == CLF_OK; i++) {
        char *inside = NULL;
        status = clf__path_join(&inside, path, names.items[i]);
        if (status == CLF_OK) {
            status = clf__folder_remove(inside);
        }
        clf__free(inside);
    }
    clf__names_free(&names);
    if (status == CLF_OK && rmdir(path) != 0) {
        status = clf__file_fail(path, "removed");
    }
    return status;
}

clf_status clf__folder_discard(const char *path, clf_status status)
{
    struct clf__failure first = clf__failure_keep(status);
    clf__folder_remove(path);
    return clf__failure_again(&first);
}

clf_status clf__folder_rename(const char *from, const char *to)
{
    if (clf__folder_exists(to)) { /* rename() would replace an empty one */
        return clf__fail(CLF_FILE, "%s: exists already", to);
    }
    if (rename(from, to) != 0) {
        return clf__file_fail(to, "created");
    }
    return sync_parent(to);
}

clf_status clf__path_join(char **out, const char *folder, const char *name)
{
    size_t length = strlen(folder);
    int has_slash = length > 0 && folder[length - 1] == '/';
    return clf__format(out, "%s%s%s", folder, length == 0 || has_slash ? "" : "/", name);
}
