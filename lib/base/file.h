/* File access: reads whole files or chunks, and writes files atomically (completely or not at all). */
#ifndef CLF_BASE_FILE_H
#define CLF_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* A regular file that is read in chunks instead of being mapped: if another process truncates the file, a
 * read fails, but access to a mapping would raise a signal. */
struct clf__file {
    const char *path; /* borrowed; NULL: closed */
    int descriptor;
    uint64_t size; /* size when the file was opened */
};

/* Opens a file; rejects Git LFS pointers. Error messages of the functions below name the path. `path` must
 * outlive *out. A zeroed struct is a closed file, and closing it does nothing. */
clf_status clf__file_open(struct clf__file *out, const char *path);
/* Like clf__file_open(), but accepts Git LFS pointers and adds `flags` to the flags of open(2). */
clf_status clf__file_open_as_is(struct clf__file *out, const char *path, int flags);
void clf__file_close(struct clf__file *file);
/* Reads exactly `size` bytes at `offset`; a short read is an error. */
clf_status clf__file_read_at(const struct clf__file *file, uint64_t offset, void *target, size_t size);

/* Receives a chunk of a file. */
typedef clf_status clf__file_block(void *user, const uint8_t *bytes, size_t size);
/* Passes the whole file to `take` in order, in chunks of a fixed power-of-two size; the last may be
 * shorter. */
clf_status clf__file_each_block(const struct clf__file *file, clf__file_block *take, void *user);

/* Computes clf__checksum() of the whole file. */
clf_status clf__file_checksum(uint64_t *out, const struct clf__file *file);

/* Sets *out to whether `size` bytes of two files are equal. */
clf_status clf__file_same(int *out, const struct clf__file *a, uint64_t a_offset, const struct clf__file *b,
                          uint64_t b_offset, uint64_t size);

/* Fails with "PATH: cannot be VERB: <strerror(errno)>". */
clf_status clf__file_fail(const char *path, const char *verb);

/* Reads a whole file of at most max_bytes bytes and appends a NUL, which is not counted in *size. The
 * caller frees *out. */
clf_status clf__file_read(char **out, size_t *size, const char *path, size_t max_bytes);

/* Like clf__file_read(), for an open file. */
clf_status clf__file_read_open(char **out, size_t *size, const struct clf__file *file, size_t max_bytes);

/* Writes to a temporary file in the folder of path and renames it. */
clf_status clf__file_write(const char *path, const void *bytes, size_t size);
/* Like clf__file_write(), but only this user may read or write the file. */
clf_status clf__file_write_owned(const char *path, const void *bytes, size_t size);

/* Generates the name of a temporary file that is later renamed to `path`: in the same folder, and unique
 * among threads and processes. The caller frees *out. */
clf_status clf__temporary_path(char **out, const char *path);

/* Writes a file in chunks, atomically like clf__file_write(). Where the file system supports unnamed
 * files, the file gets a name only at the end, so a killed process leaves nothing behind. */
struct clf__file_writer {
    char *path, *temporary; /* temporary NULL: the file has no name yet */
    int descriptor;
    int asks;        /* 1: writes call clf__interrupt_check(); 0 after opening */
    size_t unsynced; /* bytes since the last sync to disk */
};
clf_status clf__file_writer_open(struct clf__file_writer *out, const char *path);
clf_status clf__file_writer_write(struct clf__file_writer *writer, const void *bytes, size_t size);
/* Closes the file. If `status` is CLF_OK, syncs the file to disk and renames it to its final path.
 * Otherwise discards the file and returns `status`. Returns CLF_FILE if syncing the folder fails; the file
 * exists even then. */
clf_status clf__file_writer_close(struct clf__file_writer *writer, clf_status status);

clf_status clf__file_copy(const char *target, const char *source); /* atomic */
/* Creates a hard link to a file that is never modified in place, or a copy if linking
 * fails. */
clf_status clf__file_link(const char *target, const char *source);

int clf__file_exists(const char *path);
/* Returns whether nothing exists at this path. A broken link, and a path that lstat() cannot access, count
 * as existing. */
int clf__file_is_missing(const char *path);
/* Sets *out to whether an optional file exists in a folder. Fails if the file exists but cannot be read. */
clf_status clf__file_find(int *out, const char *folder, const char *name);
clf_status clf__file_exists_in(int *out, const char *folder, const char *name);
int clf__folder_exists(const char *path);
int clf__folder_is(const char *path, const char *other); /* same folder, even by different paths */
int clf__file_is(const char *path, const char *other);   /* same regular file */
clf_status clf__folder_create(const char *path);         /* with missing parents; may already exist */
clf_status clf__folder_create_owned(const char *path);   /* only this user may access the new folders */
/* Returns the length of the prefix of `path` that names the first folder that clf__folder_create() would
 * create; 0: all folders exist. */
size_t clf__folder_missing(const char *path);
/* Removes the folders that clf__folder_create() created, deepest first, if they are empty. `missing`: the
 * result of clf__folder_missing() before the call. */
void clf__folder_remove_empty(const char *path, size_t missing);

/* A growable list that owns its strings. A zeroed list is empty. */
struct clf__names {
    char **items;
    int count;
};
clf_status clf__names_add(struct clf__names *names, const char *name);
void clf__names_free(struct clf__names *names);
/* Lists the names in a folder, sorted, without "." and "..". */
clf_status clf__folder_list(struct clf__names *out, const char *path);

/* Removes a folder with its contents; a missing folder is not an error. Links are removed, not followed. */
clf_status clf__folder_remove(const char *path);
/* Removes a folder after a failure; returns `status` and preserves its error message. */
clf_status clf__folder_discard(const char *path, clf_status status);
/* Renames a synced file; replaces an existing file. */
clf_status clf__file_rename(const char *from, const char *to);
/* Renames a folder of synced files; the new name must not exist. */
clf_status clf__folder_rename(const char *from, const char *to);

clf_status clf__path_join(char **out, const char *folder, const char *name);

#endif
