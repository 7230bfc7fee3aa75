/* Translated files, which clients download. Any number of threads may call these functions. */
#ifndef CLF_TOOLS_SERVE_FILES_H
#define CLF_TOOLS_SERVE_FILES_H

#include <stddef.h>

#include <clformer/clformer.h>

/* A file is kept for an hour, unless more files or bytes follow than the store holds. */
enum { FILES_MOST = 256, FILES_MOST_BYTES = 256 << 20, FILE_NAME_BYTES = 300 };

struct files;

clf_status files_create(struct files **out);
void files_free(struct files *files); /* NULL is ignored */

/* Keeps a file.
 *
 * @param path receives "ID.NAME", which nobody can guess.
 * @param name shown to the client that downloads the file.
 * @param text owned by the store, also after a failure.
 * @return CLF_TEXT: the file is larger than the store. */
clf_status files_add(char path[FILE_NAME_BYTES], struct files *files, const char *name, char *text,
                     size_t size);

/* Returns a copy of the text, which the caller frees, or NULL: the file does not exist, or not any more. */
char *files_get(size_t *size, struct files *files, const char *path);

#endif
