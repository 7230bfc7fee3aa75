/* Files: whole reads, read-only maps, writes that appear whole or not at all. */
#ifndef CLF_BASE_FILE_H
#define CLF_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* A file mapped read-only. */
struct clf__file_map {
    const uint8_t *bytes;
    size_t size;
};

/* Every function below names the path in its failure. */
clf_status clf__file_map_open(struct clf__file_map *out, const char *path); /* an empty file gives size 0 */
void clf__file_map_close(struct clf__file_map *map);

/* Reads a whole file of at most max_bytes; NUL-terminated beyond size; the caller frees *out. */
clf_status clf__file_read(char **out, size_t *size, const char *path, size_t max_bytes);

/* Writes to a temporary file beside path and renames it. */
clf_status clf__file_write(const char *path, const void *bytes, size_t size);

int clf__file_exists(const char *path);
int clf__folder_exists(const char *path);
clf_status clf__folder_create(const char *path); /* with its parents; one that exists is fine */
clf_status clf__path_join(char **out, const char *folder, const char *name);

#endif
