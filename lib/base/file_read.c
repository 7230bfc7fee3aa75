/* Reading files. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"

enum { BLOCK = 1 << 18 };

static clf_status fail_open(const char *path, int flags)
{
    int reason = errno;
    if (reason == ELOOP && (flags & O_NOFOLLOW)) {
        return clf__fail(CLF_FILE, "%s: is a symbolic link, not a file", path);
    }
    if (reason == ELOOP || (reason == ENOENT && !clf__file_is_missing(path))) {
        return clf__fail(CLF_FILE, "%s: is a symbolic link to a missing file", path);
    }
    errno = reason;
    return clf__file_fail(path, "opened");
}

clf_status clf__file_open_as_is(struct clf__file *out, const char *path, int flags)
{
    *out = (struct clf__file){.path = NULL};
    /* O_NONBLOCK: opening a pipe must not block; the check below rejects it. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
    if (descriptor < 0) {
        return fail_open(path, flags);
    }
    struct stat about;
    if (fstat(descriptor, &about) != 0) {
        clf_status status = clf__file_fail(path, "opened");
        close(descriptor);
        return status;
    }
    if (!S_ISREG(about.st_mode)) {
        close(descriptor);
        return clf__fail(CLF_FILE, "%s: is %s, not a file", path,
                         S_ISDIR(about.st_mode) ? "a folder" : "a device or a pipe");
    }
    *out = (struct clf__file){.path = path, .descriptor = descriptor, .size = (uint64_t)about.st_size};
    return CLF_OK;
}

/* Rejects the pointer file that git stores until git-lfs fetches the real file. */
static clf_status refuse_pointer(const struct clf__file *file)
{
    static const char start[] = "version https://git-lfs.github.com/spec/";
    char bytes[sizeof start - 1];
    if (file->size < sizeof start) {
        return CLF_OK;
    }
    CLF__TRY(clf__file_read_at(file, 0, bytes, sizeof bytes));
    if (memcmp(bytes, start, sizeof bytes) != 0) {
        return CLF_OK;
    }
    return clf__fail(CLF_FORMAT,
                     "%s: is a Git LFS pointer, not the file itself; run `git lfs pull` in its folder",
                     file->path);
}

clf_status clf__file_open(struct clf__file *out, const char *path)
{
    CLF__TRY(clf__file_open_as_is(out, path, 0));
    clf_status status = refuse_pointer(out);
    if (status != CLF_OK) {
        clf__file_close(out);
    }
    return status;
}

void clf__file_close(struct clf__file *file)
{
    if (file->path != NULL) {
        close(file->descriptor);
    }
    *file = (struct clf__file){.path = NULL};
}

clf_status clf__file_read_at(const struct clf__file *file, uint64_t offset, void *target, size_t size)
{
    char *next = target;
    while (size > 0) {
        ssize_t got = pread(file->descriptor, next, size, (off_t)offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return clf__file_fail(file->path, "read");
        }
        if (got == 0) {
            return clf__fail(CLF_FILE, "%s: was truncated while it was being read; try again", file->path);
        }
        next += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return CLF_OK;
}

static size_t block_of(uint64_t left)
{
    return left < BLOCK ? (size_t)left : BLOCK;
}

clf_status clf__file_each_block(const struct clf__file *file, clf__file_block *take, void *user)
{
    uint8_t *bytes = NULL;
    CLF__TRY(clf__allocate(&bytes, block_of(file->size), 1));
    clf_status status = CLF_OK;
    for (uint64_t at = 0; at < file->size && status == CLF_OK; at += BLOCK) {
        size_t size = block_of(file->size - at);
        status = clf__file_read_at(file, at, bytes, size);
        if (status == CLF_OK) {
            status = take(user, bytes, size);
        }
    }
    clf__free(bytes);
    return status;
}

/* Implements clf__file_block. */
static clf_status add_block(void *user, const uint8_t *bytes, size_t size)
{
    uint64_t *sum = user;
    *sum = clf__checksum_add(*sum, bytes, size);
    return CLF_OK;
}

clf_status clf__file_checksum(uint64_t *out, const struct clf__file *file)
{
    *out = clf__checksum_begin(file->size);
    return clf__file_each_block(file, add_block, out);
}

clf_status clf__file_same(int *out, const struct clf__file *a, uint64_t a_offset, const struct clf__file *b,
                          uint64_t b_offset, uint64_t size)
{
    uint8_t *bytes = NULL;
    *out = 1;
    CLF__TRY(clf__allocate(&bytes, 2, BLOCK));
    clf_status status = CLF_OK;
    for (uint64_t at = 0; at < size && status == CLF_OK && *out; at += BLOCK) {
        size_t block = block_of(size - at);
        status = clf__file_read_at(a, a_offset + at, bytes, block);
        if (status == CLF_OK) {
            status = clf__file_read_at(b, b_offset + at, bytes + BLOCK, block);
        }
        *out = status == CLF_OK && memcmp(bytes, bytes + BLOCK, block) == 0;
    }
    clf__free(bytes);
    return status;
}

clf_status clf__file_read_open(char **out, size_t *size, const struct clf__file *file, size_t max_bytes)
{
    *out = NULL;
    *size = 0;
    if (file->size > max_bytes) {
        return clf__fail(CLF_FORMAT, "%s: has %llu bytes, more than the limit of %zu for such files",
                         file->path, (unsigned long long)file->size, max_bytes);
    }
    CLF__TRY(clf__allocate(out, (size_t)file->size + 1, 1));
    clf_status status = clf__file_read_at(file, 0, *out, (size_t)file->size);
    if (status != CLF_OK) {
        clf__free(*out);
        *out = NULL;
        return status;
    }
    *size = (size_t)file->size;
    return CLF_OK;
}

clf_status clf__file_read(char **out, size_t *size, const char *path, size_t max_bytes)
{
    *out = NULL;
    *size = 0;
    struct clf__file file;
    CLF__TRY(clf__file_open(&file, path));
    clf_status status = clf__file_read_open(out, size, &file, max_bytes);
    clf__file_close(&file);
    return status;
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
        } else if (!clf__file_exists(path)) { /* a broken link, or not a file */
            clf__fail(status, "%s; replace or remove it", clf_last_error());
        }
    }
    clf__free(path);
    return status;
}
