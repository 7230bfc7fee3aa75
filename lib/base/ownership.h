/* Ownership checks: folders and files that other users can write to are neither read nor written. A group
 * whose only member is this user does not count as another user. */
#ifndef CLF_BASE_OWNERSHIP_H
#define CLF_BASE_OWNERSHIP_H

#include <stddef.h>

#include "base/status.h"

/* CLF_FILE, with the reason, if a user other than this one and root can change the target of the path: by
 * owning a parent folder, or by writing and renaming in it. The folder itself must belong to this user and
 * be writable only by this user; others may read it. Missing folders are fine. *out receives the path
 * without links, which the caller frees. */
clf_status clf__owned_folder_find(char **out, const char *path);

/* The same; also creates missing folders, for this user only. */
clf_status clf__owned_folder_create(char **out, const char *path);

/* Like clf__file_read() and clf__file_write(), for a file in such a folder that belongs to this user and
 * is writable only by this user. Writing creates the folder. */
clf_status clf__owned_file_read(char **out, size_t *size, const char *path, size_t max_bytes);
clf_status clf__owned_file_write(const char *path, const void *bytes, size_t size);

#endif
