/* DOCX and PPTX (Office Open XML): the parts with text are those of certain content types. */
#include "translate/documents/office/runs.h"

#ifdef CLF_HAS_LIBZIP

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* A part with text. */
struct part {
    char *name;
    int rank; /* of its content type */
};

struct parts {
    struct part *items; /* (count) */
    int count, capacity;
};

/* Ends of the content types of parts with text, in the order of translation. */
static const char *const word_types[] = {".document.main+xml",
                                         ".document.macroEnabled.main+xml",
                                         ".template.main+xml",
                                         ".wordprocessingml.header+xml",
                                         ".wordprocessingml.footer+xml",
                                         ".wordprocessingml.footnotes+xml",
                                         ".wordprocessingml.endnotes+xml",
                                         ".wordprocessingml.comments+xml",
                                         NULL};
static const char *const drawing_types[] = {".presentationml.slide+xml", ".presentationml.notesSlide+xml",
                                            ".drawingml.diagramData+xml",
                                            ".ms-office.drawingml.diagramDrawing+xml", NULL};

static int ends_with(const char *text, size_t size, const char *end)
{
    size_t length = strlen(end);
    return size >= length && memcmp(text + size - length, end, length) == 0;
}

/* Returns the rank of a content type; -1: the part has no text. */
static int rank_of(const char *const *types, const char *type, size_t size)
{
    for (int i = 0; types[i] != NULL; i++) {
        if (ends_with(type, size, types[i])) {
            return i;
        }
    }
    return -1;
}

static clf_status add_part(struct parts *parts, const char *name, size_t size, int rank)
{
    CLF__TRY(clf__grow(&parts->items, parts->count, &parts->capacity, sizeof *parts->items));
    CLF__TRY(clf__copy_bytes(&parts->items[parts->count].name, name, size));
    parts->items[parts->count++].rank = rank;
    return CLF_OK;
}

/* Reads the list of the parts. */
static clf_status read_types(struct parts *parts, const char *bytes, size_t size, const char *const *types)
{
    struct clf__xml_tokens tokens = clf__xml_begin(bytes, size);
    struct clf__xml_token token;
    while (clf__xml_next(&token, &tokens)) {
        struct clf__xml_range name, type;
        if (token.kind == CLF__XML_END || !clf__xml_is_tag(&token) ||
            !clf__xml_is_named(&token, bytes, "Override") ||
            !clf__xml_attribute(&type, bytes, &token, "ContentType") ||
            !clf__xml_attribute(&name, bytes, &token, "PartName")) {
            continue;
        }
        int rank = rank_of(types, bytes + type.start, type.end - type.start);
        name.start += name.start < name.end && bytes[name.start] == '/';
        if (rank >= 0) {
            CLF__TRY(add_part(parts, bytes + name.start, name.end - name.start, rank));
        }
    }
    return CLF_OK;
}

/* Sorts by rank, then by name; shorter names first: slide2.xml comes before slide10.xml. */
static int compare(const void *one, const void *other)
{
    const struct part *a = one, *b = other;
    if (a->rank != b->rank) {
        return a->rank - b->rank;
    }
    size_t size = strlen(a->name), other_size = strlen(b->name);
    return size != other_size ? (size < other_size ? -1 : 1) : strcmp(a->name, b->name);
}

static clf_status add_parts(struct clf__container *container, struct clf__archive *archive,
                            const struct parts *parts)
{
    for (int i = 0; i < parts->count; i++) {
        int is_repeated = i > 0 && compare(&parts->items[i], &parts->items[i - 1]) == 0;
        if (!is_repeated && clf__archive_has(archive, parts->items[i].name)) {
            CLF__TRY(clf__container_add(container, archive, parts->items[i].name));
        }
    }
    return CLF_OK;
}

/* A format of Office Open XML. */
struct ooxml {
    const char *const *types; /* ends of the content types of parts with text */
    const struct clf__run_language *language;
};

static clf_status read_archive(struct clf__container *container, struct clf__archive *archive,
                               const void *user)
{
    const struct ooxml *format = user;
    struct clf__output list = {.bytes = NULL};
    struct parts parts = {.count = 0};
    clf_status status = clf__container_read(&list, archive, "[Content_Types].xml");
    if (status == CLF_OK) {
        status = read_types(&parts, list.bytes, list.size, format->types);
    }
    if (status == CLF_OK && parts.count == 0) {
        status = clf__fail(CLF_FORMAT, "contains no text of this format");
    }
    if (status == CLF_OK) {
        qsort(parts.items, (size_t)parts.count, sizeof *parts.items, compare);
        status = add_parts(container, archive, &parts);
    }
    for (int i = 0; i < parts.count; i++) {
        clf__free(parts.items[i].name);
    }
    clf__free(parts.items);
    clf__free(list.bytes);
    return status;
}

static clf_status collect(struct clf_document *document, struct clf__container *container, const void *user)
{
    (void)container;
    return clf__runs_collect(document, ((const struct ooxml *)user)->language);
}

static clf_status read_docx(struct clf_document *document)
{
    static const struct ooxml docx = {word_types, &clf__run_word};
    return clf__container_read_document(document, read_archive, collect, &docx);
}

static clf_status read_pptx(struct clf_document *document)
{
    static const struct ooxml pptx = {drawing_types, &clf__run_drawing};
    return clf__container_read_document(document, read_archive, collect, &pptx);
}

static clf_status write_runs(struct clf__output *out, struct clf_document *document)
{
    return clf__container_write(out, document, clf__runs_write);
}

static int is_docx(const char *bytes, size_t size)
{
    return clf__container_contains(bytes, size, "word/document.xml");
}

static int is_pptx(const char *bytes, size_t size)
{
    return clf__container_contains(bytes, size, "ppt/presentation.xml");
}

const struct clf__format clf__format_docx = {
    .shown = {sizeof(struct clf_document_format), "docx", ".docx .docm .dotx",
              "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "Word"},
    .is_binary = 1,
    .is = is_docx,
    .read = read_docx,
    .write = write_runs,
    .close = clf__runs_close,
};

const struct clf__format clf__format_pptx = {
    .shown = {sizeof(struct clf_document_format), "pptx", ".pptx .pptm .potx",
              "application/vnd.openxmlformats-officedocument.presentationml.presentation", "PowerPoint"},
    .is_binary = 1,
    .is = is_pptx,
    .read = read_pptx,
    .write = write_runs,
    .close = clf__runs_close,
};

#endif
