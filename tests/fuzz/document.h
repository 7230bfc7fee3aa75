/* Any text as a document: unchanged translations give the same bytes, and other translations give a document
 * of the same format with the same lines of times. */
#ifndef CLF_TESTS_FUZZ_DOCUMENT_H
#define CLF_TESTS_FUZZ_DOCUMENT_H

#include <stdlib.h>
#include <string.h>

#include <clformer/document.h>
#include <clformer/inspect.h>

static inline struct clf_document *document_read(const char *format, const char *bytes, size_t size)
{
    struct clf_document *document;
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.format = format;
    return clf_document_open(&document, bytes, size, &options) == CLF_OK ? document : NULL;
}

/* Sets all translations: `text`, or the same text if it is NULL. Returns the written document. */
static inline char *document_write_with(size_t *size, struct clf_document *document, const char *text)
{
    char *written;
    for (int i = 0; i < clf_document_count(document); i++) {
        const struct clf_document_segment *segment = clf_document_segment_at(document, i);
        const char *translation = text != NULL ? text : segment->text;
        size_t length = text != NULL ? strlen(text) : segment->text_size;
        const struct clf_alignment_link link = {0, segment->text_size, 0, length};
        if (clf_document_set(document, i, translation, length, &link, i % 2) != CLF_OK) {
            abort();
        }
    }
    if (clf_document_write(&written, size, document) != CLF_OK) {
        abort();
    }
    return written;
}

/* @param count returns what must not change in the bytes, such as the number of lines of times. */
static inline void document_fuzz(const char *format, const uint8_t *data, size_t size,
                                 int (*count)(const char *bytes, size_t size))
{
    const char *bytes = (const char *)data;
    struct clf_document *document = document_read(format, bytes, size);
    size_t same_size, changed_size;
    if (document == NULL) {
        return;
    }
    char *same = document_write_with(&same_size, document, NULL);
    if (same_size != size || memcmp(same, bytes, size) != 0) {
        abort();
    }
    char *changed = document_write_with(&changed_size, document, "Z & <b> --> z. One\n\n2\n, more --->");
    struct clf_document *again = document_read(format, changed, changed_size);
    if (again == NULL || count(changed, changed_size) != count(bytes, size)) {
        abort();
    }
    clf_document_free(again);
    clf_document_free(document);
    clf_string_free(changed);
    clf_string_free(same);
}

#endif
