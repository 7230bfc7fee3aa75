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

int documents_are_utf8(const char *format)
{
    const struct clf__format *found;
    for (int i = 0; (found = clf__format_at(i)) != NULL; i++) {
        if (strcmp(found->shown.name, format) == 0) {
            return !found->is_binary && !found->has_references;
        }
    }
    return 1;
}

static clf_status no_memory(void)
{
    return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for the documents in a request");
}

/* Adds the texts of a document, except those whose translation is known. */
static clf_status add_texts(struct documents *documents, const struct clf_document *document, size_t most)
{
    const struct clf_document_segment *segment;
    if ((size_t)clf_document_count(document) > most - json_array_size(documents->texts)) {
        return clf__fail(CLF_UNSUPPORTED, "the documents have more than %zu texts to translate", most);
    }
    for (int i = 0; (segment = clf_document_segment_at(document, i)) != NULL; i++) {
        if (document->segments.items[i].is_known) {
            continue;
        }
        if (json_array_append_new(documents->texts, json_stringn(segment->text, segment->text_size)) != 0 ||
            !marks_add(&documents->marks, segment->marks, segment->mark_count)) {
            return no_memory();
        }
    }
    return CLF_OK;
}

/* Opens a document and adds its texts. */
static clf_status add_document(struct documents *documents, const void *bytes, size_t size,
                               const struct clf_document_options *options)
{
    struct clf_document **document = &documents->items[documents->count];
    CLF__TRY(clf_document_open(document, bytes, size, options));
    documents->count++;
    return add_texts(documents, *document, (size_t)options->most_segments);
}

static clf_status create(struct documents **out, size_t count)
{
    struct documents *documents = *out = calloc(1, sizeof *documents);
    if (documents == NULL) {
        return no_memory();
    }
    documents->items = calloc(count + 1, sizeof *documents->items);
    documents->texts = json_array();
    return documents->items != NULL && documents->texts != NULL ? CLF_OK : no_memory();
}

static struct clf_document_options options_of(const char *format, size_t most)
{
    struct clf_document_options options;
    clf_document_options_init(&options);
    options.name = "file"; /* in messages */
    options.format = format;
    options.most_segments = (int)most;
    return options;
}

/* Frees the documents after a failure. */
static clf_status finish(struct documents **out, clf_status status)
{
    if (status != CLF_OK) {
        documents_free(*out);
        *out = NULL;
    }
    return status;
}

/* Takes translations from a translation memory. */
static clf_status recall(struct clf_document *document, const struct documents_file *file)
{
    const struct clf_memory_options options = {
        .size = sizeof options, .source_language = file->source, .target_language = file->target};
    struct clf_memory *memory;
    CLF__TRY(clf_memory_open(&memory, file->memory, file->memory_size, &options));
    clf_status status = clf_document_recall(document, memory, NULL);
    clf_memory_free(memory);
    return status;
}

static clf_status add_file(struct documents *documents, const void *bytes, size_t size,
                           const struct documents_file *file, size_t most)
{
    struct clf_document_options options = options_of(file->format, most);
    options.encoding = file->encoding;
    options.kept_terms = file->kept_terms;
    options.source_language = file->source;
    options.target_language = file->target;
    CLF__TRY(clf_document_open(&documents->items[0], bytes, size, &options));
    documents->count++;
    if (file->memory != NULL) {
        CLF__TRY(recall(documents->items[0], file));
    }
    return add_texts(documents, documents->items[0], most);
}

clf_status documents_read_file(struct documents **out, const void *bytes, size_t size,
                               const struct documents_file *file, size_t most)
{
    clf_status status = create(out, 1);
    return finish(out, status == CLF_OK ? add_file(*out, bytes, size, file, most) : status);
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
    struct clf_document_options options = options_of(format, most);
    char *names = join_names(ignored);
    clf_status status = create(out, json_array_size(strings));
    status = names != NULL ? status : no_memory();
    options.ignored = names;
    options.encoding = "UTF-8"; /* of JSON and forms, whatever the document names */
    for (size_t i = 0; i < json_array_size(strings) && status == CLF_OK; i++) {
        const json_t *string = json_array_get(strings, i);
        status = add_document(*out, json_string_value(string), json_string_length(string), &options);
    }
    free(names);
    return finish(out, status);
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

/* Writes a document with its translations; *next is the index of its first text. */
static clf_status write_document(char **bytes, size_t *size, struct clf_document *document,
                                 const json_t *translations, const struct marks *marks, size_t *next)
{
    *bytes = NULL;
    *size = 0;
    for (int i = 0; i < document->segments.count; i++) {
        if (document->segments.items[i].is_known) {
            continue;
        }
        const json_t *text = json_array_get(translations, *next);
        CLF__TRY(clf__segment_set(&document->segments.items[i], json_string_value(text),
                                  json_string_length(text), marks->texts[*next].elements));
        (*next)++;
    }
    return clf_document_write(bytes, size, document);
}

clf_status documents_write_file(char **bytes, size_t *size, struct documents *documents,
                                const json_t *translations, const struct marks *marks)
{
    size_t next = 0;
    return write_document(bytes, size, documents->items[0], translations, marks, &next);
}

json_t *documents_join(struct documents *documents, const json_t *translations, const struct marks *marks)
{
    json_t *result = json_array();
    size_t next = 0;
    for (size_t i = 0; i < documents->count && result != NULL; i++) {
        char *bytes;
        size_t size;
        clf_status status = write_document(&bytes, &size, documents->items[i], translations, marks, &next);
        json_t *text = status == CLF_OK ? json_stringn(bytes, size) : NULL;
        clf_string_free(bytes);
        if (json_array_append_new(result, text) != 0) {
            json_decref(result);
            result = NULL;
        }
    }
    return result;
}
