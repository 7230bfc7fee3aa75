/* Translates documents of a request: extracts the texts, and replaces them with their translations. All other
 * bytes are unchanged. */
#ifndef CLF_TOOLS_SERVE_DOCUMENTS_H
#define CLF_TOOLS_SERVE_DOCUMENTS_H

#include <jansson.h>

#include <clformer/clformer.h>

#include "serve/marks.h"

struct documents;

/* Returns 0 if the program was built without support for a format. */
int documents_has_format(const char *format);

/* Returns 1 if files of a format are UTF-8 text; 0: they are zip archives, or HTML or XML, which can name
 * their encoding. */
int documents_are_utf8(const char *format);

/* Finds the texts of documents.
 *
 * @param out receives the texts; documents_free() frees them.
 * @param strings an array of strings: the documents.
 * @param format name of their format.
 * @param most maximum number of texts of all documents, at least 1.
 * @param ignored HTML: an array of the names of additional elements that are not translated, or
 * NULL; only the first 64 are used.
 * @return the errors of clf_document_open(): CLF_UNSUPPORTED for more than `most` texts. */
clf_status documents_read(struct documents **out, const json_t *strings, const char *format, size_t most,
                          const json_t *ignored);

/* How a file is read; zeroed fields are defaults. */
struct documents_file {
    const char *format;
    const char *encoding, *kept_terms; /* as in clf_document_options */
    const void *memory;                /* (memory_size) a translation memory; NULL: none */
    size_t memory_size;
    const char *source, *target; /* languages of the memory and of TMX; NULL: unknown */
};
/* Finds the texts of a file, which need not be text, except those in the memory.
 *
 * @param bytes (size) the file. */
clf_status documents_read_file(struct documents **out, const void *bytes, size_t size,
                               const struct documents_file *file, size_t most);
void documents_free(struct documents *documents);

/* Returns the texts of all documents; borrowed. */
const json_t *documents_texts(const struct documents *documents);
/* Returns the inline elements of documents_texts(); borrowed. */
const struct marks *documents_marks(const struct documents *documents);

/* Returns the documents with a translation for each of documents_texts(); NULL if out of memory. A text that
 * is equal to its translation keeps its bytes.
 *
 * @param marks the inline elements of the translations. */
json_t *documents_join(struct documents *documents, const json_t *translations, const struct marks *marks);
/* Writes the file of documents_read_file() with its translations.
 *
 * @param bytes receives the file; clf_string_free() frees it. */
clf_status documents_write_file(char **bytes, size_t *size, struct documents *documents,
                                const json_t *translations, const struct marks *marks);

#endif
