/* Files: reads of whole files and of chunks, and writes that either appear completely or not at all. */
#ifndef CLF_BASE_FILE_H
#define CLF_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* A regular file that is read in chunks. If the file becomes shorter meanwhile, the read fails; a mapped
 * file would raise a signal. */
struct clf__file {
    const char *path; /* borrowed; NULL: closed */
    int descriptor;
    uint64_t size; /* when it was opened */
};

/* The failures of every function below name the path. `path` must live as long as *out; a zeroed struct is
 * a closed file, and closing it does nothing. A git-LFS pointer is refused. */
clf_status clf__file_open(struct clf__file *out, const char *path);
/* The same without the check for a git-LFS pointer, and with more flags of open(2). */
clf_status clf__file_open_as_is(struct clf__file *out, const char *path, int flags);
void clf__file_close(struct clf__file *file);
/* Reads `size` bytes from `offset` on: all of them or a failure. */
clf_status clf__file_read_at(const struct clf__file *file, uint64_t offset, void *target, size_t size);

/* Receives a chunk of a file. */
typedef clf_status clf__file_piece(void *user, const uint8_t *bytes, size_t size);
/* Passes the whole file to `take`, in order, in chunks whose sizes, except for the last one, are a power
 * of two. */
clf_status clf__file_each_piece(const struct clf__file *file, clf__file_piece *take, void *user);

/* clf__checksum() of the whole file. */
clf_status clf__file_checksum(uint64_t *out, const struct clf__file *file);

/* Compares `size` bytes of two files. */
clf_status clf__file_same(int *out, const struct clf__file *a, uint64_t a_offset, const struct clf__file *b,
                          uint64_t b_offset, uint64_t size);

/* Fails with "PATH: cannot be VERB: what errno says". */
clf_status clf__file_fail(const char *path, const char *verb);

/* Reads a whole file of at most max_bytes; NUL-terminated beyond size; the caller frees *out. */
clf_status clf__file_read(char **out, size_t *size, const char *path, size_t max_bytes);

/* The same for an open file. */
clf_status clf__file_read_open(char **out, size_t *size, const struct clf__file *file, size_t max_bytes);

/* Writes to a temporary file in the folder of path and renames it. */
clf_status clf__file_write(const char *path, const void *bytes, size_t size);
/* The same for a file that nobody else may read or write. */
clf_status clf__file_write_owned(const char *path, const void *bytes, size_t size);

/* A temporary name beside path, unique among the threads and processes that may write the same path, for a
 * file that is then renamed. The caller frees *out. */
clf_status clf__temporary_path(char **out, const char *path);

/* Writes in chunks, like clf__file_write(). On file systems with unnamed files the file has no name until
 * the end, so that a killed process leaves nothing. */
struct clf__file_writer {
    char *path, *temporary; /* temporary NULL: without a name */
    int descriptor;
    int asks;        /* 1: writing asks clf__interrupt_check(); 0 when the file is opened */
    size_t unsynced; /* bytes since the last sync to disk */
};
clf_status clf__file_writer_open(struct clf__file_writer *out, const char *path);
clf_status clf__file_writer_write(struct clf__file_writer *writer, const void *bytes, size_t size);
/* Ends the file. With CLF_OK the file is synced to disk and then receives its name. Any other status is
 * returned, and no file remains. CLF_FILE if syncing the folder fails; the file then exists. */
clf_status clf__file_writer_close(struct clf__file_writer *writer, clf_status status);

clf_status clf__file_copy(const char *target, const char *source); /* whole or not at all */
/* Makes a hard link to a file that nobody changes in place, or a copy if links are not possible. */
clf_status clf__file_link(const char *target, const char *source);

int clf__file_exists(const char *path);
/* Returns whether no file has this name. A broken link has the name; so does a file whose status cannot be
 * read. */
int clf__file_is_missing(const char *path);
/* Returns whether an optional file of a folder exists. A file that exists and cannot be read is a failure. */
clf_status clf__file_find(int *out, const char *folder, const char *name);
clf_status clf__file_exists_in(int *out, const char *folder, const char *name);
int clf__folder_exists(const char *path);
int clf__folder_is(const char *path, const char *other); /* the same folder, in any spelling of the paths */
int clf__file_is(const char *path, const char *other);   /* the same file, likewise; not a pipe or a device */
clf_status clf__folder_create(const char *path);         /* with its parents; an existing folder is fine */
clf_status clf__folder_create_owned(const char *path);   /* the same; only this user may access the new
                                                          * folders */
/* The length of the prefix of a path that names the first folder that clf__folder_create() would make; 0:
 * all exist. */
size_t clf__folder_missing(const char *path);
/* Removes the folders that were missing then, the lowest first, if they are empty. */
void clf__folder_remove_empty(const char *path, size_t missing);

/* A growing list of names, or of any strings: owned copies. A zeroed list is empty. */
struct clf__names {
    char **items;
    int count;
};
clf_status clf__names_add(struct clf__names *names, const char *name);
void clf__names_free(struct clf__names *names);
/* Names in a folder, sorted; without "." and "..". */
clf_status clf__folder_list(struct clf__names *out, const char *path);

/* Removes a folder with its contents; a missing folder is fine. Links are removed, not followed. */
clf_status clf__folder_remove(const char *path);
/* The same after a failure: returns its status and keeps its message. */
clf_status clf__folder_discard(const char *path, clf_status status);
/* Renames a folder, whose files are synced, to its final name; a folder of that name must not exist. */
clf_status clf__folder_rename(const char *from, const char *to);

clf_status clf__path_join(char **out, const char *folder, const char *name);

#endif
