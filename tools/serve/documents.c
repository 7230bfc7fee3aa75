#include "serve/documents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "translate/documents/format.h"

enum { MOST_IGNORED = 64 };

struct documents {
    struct clf_document **items; /* (count) owned */
    size_t count;
    json_t *texts; /* owned */
    struct marks marks;
};

int documents_has_format(const char *format)
{
    const struct clf_document_format *found;
    for (int i = 0; (found = clf_document_format_at(i)) != NULL; i++) {
        if (strcmp(found->name, format) == 0) {
            return 1;
        }
    }
    return 0;
}

static clf_status no_memory(void)
{
    return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for the documents in a request");
}

/* Adds the texts of a document. */
static clf_status add_texts(struct documents *documents, const struct clf_document *document, size_t most)
{
    const struct clf_document_segment *segment;
    if ((size_t)clf_document_count(document) > most - json_array_size(documents->texts)) {
        return clf__fail(CLF_UNSUPPORTED, "the documents have more than %zu texts to translate", most);
    }
    for (int i = 0; (segment = clf_document_segment_at(document, i)) != NULL; i++) {
        if (json_array_append_new(documents->texts, json_stringn(segment->text, segment->text_size)) != 0 ||
            !marks_add(&documents->marks, segment->marks, segment->mark_count)) {
            return no_memory();
        }
    }
    return CLF_OK;
}

/* Opens each string as a document. */
static clf_status read_all(struct documents *documents, const json_t *strings,
                           const struct clf_document_options *options)
{
    documents->items = calloc(json_array_size(strings) + 1, sizeof *documents->items);
    documents->texts = json_array();
    if (documents->items == NULL || documents->texts == NULL) {
        return no_memory();
    }
    for (size_t i = 0; i < json_array_size(strings); i++) {
        const json_t *string = json_array_get(strings, i);
        struct clf_document **document = &documents->items[documents->count];
        CLF__TRY(clf_document_open(document, json_string_value(string), json_string_length(string), options));
        documents->count++;
        CLF__TRY(add_texts(documents, *document, (size_t)options->most_segments));
    }
    return CLF_OK;
}

/* Returns names separated by spaces, which the caller frees; NULL if out of memory. */
static char *join_names(const json_t *names)
{
    char *joined = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&joined, &size);
    for (size_t i = 0; file != NULL && i < json_array_size(names) && i < MOST_IGNORED; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        fprintf(file, "%s ", name != NULL ? name : "");
    }
    if (file == NULL || fclose(file) != 0) {
        free(joined);
        return NULL;
    }
    return joined;
}

clf_status documents_read(struct documents **out, const json_t *strings, const char *format, size_t most,
                          const json_t *ignored)
{
    struct documents *documents = *out = calloc(1, sizeof *documents);
    char *names = join_names(ignored);
    clf_status status = documents != NULL && names != NULL ? CLF_OK : no_memory();
    if (status == CLF_OK) {
        struct clf_document_options options;
        clf_document_options_init(&options);
        options.name = "file"; /* in messages */
        options.format = format;
        options.ignored = names;
        options.most_segments = (int)most;
        status = read_all(documents, strings, &options);
    }
    free(names);
    if (status != CLF_OK) {
        documents_free(documents);
        *out = NULL;
    }
    return status;
}

void documents_free(struct documents *documents)
{
    for (size_t i = 0; documents != NULL && i < documents->count; i++) {
        clf_document_free(documents->items[i]);
    }
    if (documents != NULL) {
        free((void *)documents->items);
        json_decref(documents->texts);
        marks_free(&documents->marks);
    }
    free(documents);
}

const json_t *documents_texts(const struct documents *documents)
{
    return documents->texts;
}

const struct marks *documents_marks(const struct documents *documents)
{
    return &documents->marks;
}

/* Returns a document with its translations; *next is the index of its first text. */
static json_t *join(struct clf_document *document, const json_t *translations, const struct marks *marks,
                    size_t *next)
{
    char *bytes = NULL;
    size_t size;
    clf_status status = CLF_OK;
    for (int i = 0; i < document->segments.count && status == CLF_OK; i++, (*next)++) {
        const json_t *text = json_array_get(translations, *next);
        status = clf__segment_set(&document->segments.items[i], json_string_value(text),
                                  json_string_length(text), marks->texts[*next].elements);
    }
    if (status == CLF_OK) {
        status = clf_document_write(&bytes, &size, document);
    }
    json_t *result = status == CLF_OK ? json_stringn(bytes, size) : NULL;
    clf_string_free(bytes);
    return result;
}

json_t *documents_join(struct documents *documents, const json_t *translations, const struct marks *marks)
{
    json_t *result = json_array();
    size_t next = 0;
    for (size_t i = 0; i < documents->count && result != NULL; i++) {
        if (json_array_append_new(result, join(documents->items[i], translations, marks, &next)) != 0) {
            json_decref(result);
            result = NULL;
        }
    }
    return result;
}
