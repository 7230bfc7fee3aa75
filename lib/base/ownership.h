/* Ownership checks: folders and files that other users can write to are neither read nor written. A group
 * whose only member is this user does not count as another user. */
#ifndef CLF_BASE_OWNERSHIP_H
#define CLF_BASE_OWNERSHIP_H

#include <stddef.h>

#include "base/status.h"

/* Returns CLF_FILE, with the reason, if a user other than this one and root can redirect the path by
 * owning, or renaming entries in, a parent folder. The folder itself must belong to this user and be
 * writable only by this user. Missing folders are allowed. *out is the path with links resolved; the caller
 * frees it. */
clf_status clf__owned_folder_find(char **out, const char *path);

/* Like clf__owned_folder_find(), but creates missing folders, which only this user may access. */
clf_status clf__owned_folder_create(char **out, const char *path);

/* Like clf__file_read() and clf__file_write(), but the folder must pass clf__owned_folder_find(), and the
 * file must belong to this user and be writable only by this user. Writing creates the folder. */
clf_status clf__owned_file_read(char **out, size_t *size, const char *path, size_t max_bytes);
clf_status clf__owned_file_write(const char *path, const void *bytes, size_t size);

#endif
