/* Files: reads of the whole and of pieces, writes that appear whole or not at all. */
#ifndef CLF_BASE_FILE_H
#define CLF_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* A regular file that is read piece by piece. Where it becomes shorter meanwhile, that is a failure like any
 * other; with a mapped file it would be a signal. */
struct clf__file {
    const char *path; /* borrowed; NULL: closed */
    int descriptor;
    uint64_t size; /* when it was opened */
};

/* Every function below names the path in its failure. `path` must live as long as *out; a struct of zeros
 * is a closed file, and closing that does nothing. A git-LFS pointer in a file's place is refused. */
clf_status clf__file_open(struct clf__file *out, const char *path);
/* Whatever file it is, with more of open(2)'s flags. */
clf_status clf__file_open_as_is(struct clf__file *out, const char *path, int flags);
void clf__file_close(struct clf__file *file);
/* Reads `size` bytes from `offset` on: all of them or a failure. */
clf_status clf__file_read_at(const struct clf__file *file, uint64_t offset, void *target, size_t size);

/* Where a piece of a file goes. */
typedef clf_status clf__file_piece(void *user, const uint8_t *bytes, size_t size);
/* Gives the whole file to `take`, in order, in pieces whose sizes, except the last one's, are a power of two.
 */
clf_status clf__file_each_piece(const struct clf__file *file, clf__file_piece *take, void *user);

/* clf__checksum() of the whole file. */
clf_status clf__file_checksum(uint64_t *out, const struct clf__file *file);

/* Whether `size` bytes of two files are the same. */
clf_status clf__file_same(int *out, const struct clf__file *a, uint64_t a_offset, const struct clf__file *b,
                          uint64_t b_offset, uint64_t size);

/* Fails with "PATH: cannot be VERB: what errno says". */
clf_status clf__file_fail(const char *path, const char *verb);

/* Reads a whole file of at most max_bytes; NUL-terminated beyond size; the caller frees *out. */
clf_status clf__file_read(char **out, size_t *size, const char *path, size_t max_bytes);

/* The same of one that is open. */
clf_status clf__file_read_open(char **out, size_t *size, const struct clf__file *file, size_t max_bytes);

/* Writes to a temporary file in the folder of path and renames it. */
clf_status clf__file_write(const char *path, const void *bytes, size_t size);
/* The same for a file that nobody else may read or write. */
clf_status clf__file_write_owned(const char *path, const void *bytes, size_t size);

/* A name beside path for what will be renamed to it: unique among the threads and processes that may write
 * the same path. The caller frees *out. */
clf_status clf__temporary_path(char **out, const char *path);

/* The same piece by piece. Where the file system has files without names, it is one until it ends: a process
 * that is killed leaves nothing. */
struct clf__file_writer {
    char *path, *temporary; /* temporary NULL: without a name */
    int descriptor;
    int asks;        /* 1: writing asks clf__interrupt_check(); 0 when the file is opened */
    size_t unsynced; /* bytes since the last that were brought to the disk */
};
clf_status clf__file_writer_open(struct clf__file_writer *out, const char *path);
clf_status clf__file_writer_write(struct clf__file_writer *writer, const void *bytes, size_t size);
/* Ends it. With CLF_OK the file is brought to the disk, then takes its name. Any other status is returned,
 * and leaves nothing. Where the folder's own change does not reach the disk the file is there and CLF_FILE
 * says so. */
clf_status clf__file_writer_close(struct clf__file_writer *writer, clf_status status);

clf_status clf__file_copy(const char *target, const char *source); /* whole or not at all */
/* A second name for a file that nobody changes in place, or a copy where there cannot be one. */
clf_status clf__file_link(const char *target, const char *source);

int clf__file_exists(const char *path);
/* Whether nothing has this name. A broken link has it; what cannot be looked at is taken to have it, too. */
int clf__file_is_missing(const char *path);
/* Whether a file that a folder may do without is in it. What has its name and cannot be read as a file is a
 * failure: somebody meant it to be there. */
clf_status clf__file_find(int *out, const char *folder, const char *name);
clf_status clf__file_exists_in(int *out, const char *folder, const char *name);
int clf__folder_exists(const char *path);
int clf__folder_is(const char *path, const char *other); /* one folder, however the paths are written */
int clf__file_is(const char *path, const char *other);   /* one file, likewise; not a pipe or a device */
clf_status clf__folder_create(const char *path);         /* with its parents; one that exists is fine */
clf_status clf__folder_create_owned(const char *path);   /* the same; what it makes is this user's alone */
/* How much of a path names the first folder that clf__folder_create() would make; 0: all are there. */
size_t clf__folder_missing(const char *path);
/* Removes the folders that were missing then, the lowest first, each only where it is empty. */
void clf__folder_remove_empty(const char *path, size_t missing);

/* A growing list of names, or of any strings: owned copies. One that is zeroed is empty. */
struct clf__names {
    char **items;
    int count;
};
clf_status clf__names_add(struct clf__names *names, const char *name);
void clf__names_free(struct clf__names *names);
/* Names in a folder, sorted; without "." and "..". */
clf_status clf__folder_list(struct clf__names *out, const char *path);

/* Removes a folder with all that is in it; one that is missing is fine. Links are removed, not followed. */
clf_status clf__folder_remove(const char *path);
/* The same after a failure: returns its status, with its sentence kept. */
clf_status clf__folder_discard(const char *path, clf_status status);
/* Gives a file, which is on the disk, another name, in place of what had it. */
clf_status clf__file_rename(const char *from, const char *to);
/* Gives a folder, whose files are on the disk, its name; a folder of that name must not exist. */
clf_status clf__folder_rename(const char *from, const char *to);

clf_status clf__path_join(char **out, const char *folder, const char *name);

#endif
