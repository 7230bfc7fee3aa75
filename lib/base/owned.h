/* Folders and files that are this user's own: where somebody else can have written nothing is read, and
 * nothing is written. A group whose only member is this user does not count as somebody else. */
#ifndef CLF_BASE_OWNED_H
#define CLF_BASE_OWNED_H

#include <stddef.h>

#include "base/status.h"

/* CLF_FILE, with the reason, where another user than this one and root may change what the path leads to: a
 * folder on the way that is theirs, or that they may write to and rename in. The folder itself must be this
 * user's, and nobody else's to write to; others may read it. What is missing is fine. The path without its
 * links goes to *out, which the caller frees. */
clf_status clf__owned_folder_find(char **out, const char *path);

/* The same, having made what is missing, for this user alone. */
clf_status clf__owned_folder_create(char **out, const char *path);

/* As clf__file_read() and clf__file_write(), of a file that is this user's, and nobody else's to write to, in
 * such a folder. The folder is made for what is written. */
clf_status clf__owned_file_read(char **out, size_t *size, const char *path, size_t max_bytes);
clf_status clf__owned_file_write(const char *path, const void *bytes, size_t size);

#endif
