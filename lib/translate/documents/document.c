#include <clformer/document.h>

#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/utf8.h"
#include "text/markup/markup.h"
#include "text/sentences/sentences.h"
#include "translate/documents/format.h"
#include "translate/documents/inlines.h"

enum { USUAL_WIDTH = 42 };
static const double usual_speed = 21; /* characters per second */

static struct clf_document_options default_options(void)
{
    return (struct clf_document_options){.size = sizeof(struct clf_document_options),
                                         .subtitle_width = USUAL_WIDTH,
                                         .reading_speed = usual_speed};
}

void clf_document_options_init_sized(struct clf_document_options *options, size_t size)
{
    const struct clf_document_options defaults = default_options();
    clf__options_init(options, size, &defaults);
}

const struct clf_document_format *clf_document_format_at(int index)
{
    const struct clf__format *format = clf__format_at(index);
    return format != NULL ? &format->shown : NULL;
}

const struct clf_document_format *clf_document_format_of(const struct clf_document *document)
{
    return &document->format->shown;
}

static clf_status take_options(struct clf_document_options *out, const struct clf_document_options *given)
{
    *out = default_options();
    CLF__TRY(clf__options_take(out, sizeof *out, given, "clf_document_options"));
    if (out->subtitle_width < 0 || !(out->reading_speed >= 0) || out->most_segments < 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "the options of a document are invalid: subtitle_width, "
                                           "reading_speed and most_segments must be 0 or more");
    }
    return CLF_OK;
}

static clf_status check_text(const char *bytes, size_t size)
{
    const char *encoding = clf__utf16_name(bytes, size);
    if (encoding != NULL) {
        return clf__fail(CLF_TEXT, "is %s without a byte order mark; name its encoding, %sLE or %sBE",
                         encoding, encoding, encoding);
    }
    const char *nul = memchr(bytes, '\0', size);
    size_t valid = clf__utf8_valid_prefix(bytes, size), at = nul != NULL ? (size_t)(nul - bytes) : size;
    if (at < valid) {
        return clf__fail(CLF_TEXT, "line %d: contains a NUL byte; this is not a text",
                         clf__text_line_of(bytes, at));
    }
    if (valid < size) {
        return clf__fail(CLF_TEXT,
                         "line %d: is not UTF-8; name the encoding of the file, such as windows-1252",
                         clf__text_line_of(bytes, valid));
    }
    return CLF_OK;
}

static clf_status open_document(struct clf_document *document, const void *bytes, size_t size,
                                const struct clf_document_options *given)
{
    CLF__TRY(take_options(&document->options, given));
    const char *name = document->options.name != NULL ? document->options.name : "document";
    CLF__TRY(clf__copy_string(&document->name, name));
    if (size > CLF__DOCUMENT_MOST_BYTES) {
        return clf__fail(CLF_UNSUPPORTED, "%s: has more than %d MiB; divide it", name,
                         CLF__DOCUMENT_MOST_BYTES >> 20);
    }
    CLF__TRY(clf__copy_bytes(&document->bytes, bytes, size));
    document->size = size;
    document->segments.most = document->options.most_segments;
    CLF__TRY(clf__kept_terms_read(&document->segments.terms, document->options.kept_terms));
    clf_status status = clf__document_decode(document);
    if (status == CLF_OK) {
        status = clf__format_find(&document->format, &document->options, document->bytes, document->size);
    }
    if (status == CLF_OK && document->format->is_binary && document->encoding != NULL) {
        status = clf__fail(CLF_UNSUPPORTED, "this format has no text encoding; remove the encoding");
    }
    if (status == CLF_OK && !document->format->is_binary) {
        status = check_text(document->bytes, document->size);
    }
    if (status == CLF_OK) {
        status = document->format->read(document);
    }
    document->options.name = document->options.format = NULL;
    document->options.ignored = document->options.encoding = document->options.kept_terms = NULL;
    document->options.elements = document->options.inline_elements = NULL;
    return status == CLF_OK ? CLF_OK : clf__fail_in(status, "%s", document->name);
}

clf_status clf_document_open(struct clf_document **out, const void *bytes, size_t size,
                             const struct clf_document_options *options)
{
    struct clf_document *document;
    *out = NULL;
    if (bytes == NULL && size > 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "the bytes of a document are NULL");
    }
    CLF__TRY(clf__allocate(&document, 1, sizeof *document));
    clf_status status = open_document(document, bytes, size, options);
    if (status != CLF_OK) {
        clf_document_free(document);
        return status;
    }
    *out = document;
    return CLF_OK;
}

static void clear_warnings(struct clf_document *document)
{
    for (int i = 0; i < document->warning_count; i++) {
        clf__free(document->warnings[i]);
    }
    document->warning_count = 0;
}

void clf_document_free(struct clf_document *document)
{
    if (document == NULL) {
        return;
    }
    if (document->format != NULL && document->format->close != NULL) {
        document->format->close(document);
    }
    clear_warnings(document);
    clf__free((void *)document->warnings);
    clf__segments_free(&document->segments);
    clf__free(document->name);
    clf__free(document->bytes);
    clf__free(document->encoding);
    clf__free(document->original);
    clf__free(document);
}

int clf_document_count(const struct clf_document *document)
{
    return document->segments.count;
}

const struct clf_document_segment *clf_document_segment_at(const struct clf_document *document, int index)
{
    return index >= 0 && index < document->segments.count ? &document->segments.items[index].shown : NULL;
}

static int is_text_of(const struct clf__segment *segment, const char *text, size_t size)
{
    return size == segment->shown.text_size && memcmp(text, segment->text, size) == 0;
}

/* Trims white space around a translation, unless it equals the text of the segment. */
static struct clf__part part_of(const struct clf__segment *segment, const char *text, size_t size)
{
    return is_text_of(segment, text, size) ? (struct clf__part){0, size} : clf__part_trim(text, 0, size);
}

/* Copies a part of a translation, with line breaks replaced by spaces. */
static clf_status copy_line(char **out, const char *text, struct clf__part part)
{
    CLF__TRY(clf__copy_bytes(out, text + part.start, part.size));
    for (size_t i = 0; i < part.size; i++) {
        (*out)[i] = (char)((*out)[i] == '\n' || (*out)[i] == '\r' ? ' ' : (*out)[i]);
    }
    return CLF_OK;
}

static int is_inside(size_t start, size_t part, size_t size)
{
    return start <= size && part <= size - start;
}

static clf_status check_links(const struct clf__markup_pair *pair)
{
    for (int i = 0; i < pair->link_count; i++) {
        const struct clf_alignment_link *link = &pair->links[i];
        if (!is_inside(link->source, link->source_size, pair->source_size) || link->source_size == 0 ||
            !is_inside(link->text, link->text_size, pair->text_size)) {
            return clf__fail(CLF_BAD_ARGUMENT, "link %d is not in the text or in its translation", i);
        }
    }
    return CLF_OK;
}

/* Adjusts links after the first `removed` bytes of a text are removed, and drops links outside the rest. */
static clf_status shift_links(struct clf_alignment_link **out, int *count,
                              const struct clf__markup_pair *pair, size_t removed, size_t size)
{
    CLF__TRY(clf__allocate(out, (size_t)pair->link_count, sizeof **out));
    *count = 0;
    for (int i = 0; i < pair->link_count; i++) {
        struct clf_alignment_link link = pair->links[i];
        size_t start = link.text > removed ? link.text - removed : 0;
        size_t end = link.text + link.text_size > removed ? link.text + link.text_size - removed : 0;
        end = end < size ? end : size;
        if (start < end) {
            link.text = start;
            link.text_size = end - start;
            (*out)[(*count)++] = link;
        }
    }
    return CLF_OK;
}

static clf_status set_line(struct clf__segment *segment, const char *line, size_t size, size_t removed,
                           const struct clf__markup_pair *given)
{
    struct clf_alignment_link *links = NULL;
    struct clf_mark *moved = NULL;
    struct clf__markup_pair pair = {segment->text, line, segment->shown.text_size, size, NULL, 0};
    clf_status status = shift_links(&links, &pair.link_count, given, removed, size);
    pair.links = links;
    if (status == CLF_OK) {
        status = clf__allocate(&moved, (size_t)segment->shown.mark_count, sizeof *moved);
    }
    if (status == CLF_OK) {
        status = clf__markup_move(moved, segment->marks, segment->shown.mark_count, &pair);
    }
    if (status == CLF_OK) {
        status = clf__segment_set(segment, line, size, moved);
    }
    clf__free(links);
    clf__free(moved);
    return status;
}

clf_status clf_document_set(struct clf_document *document, int index, const char *text, size_t size,
                            const struct clf_alignment_link *links, int link_count)
{
    if (document == NULL || text == NULL || index < 0 || index >= document->segments.count ||
        link_count < 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "segment %d does not exist, or an argument is NULL", index);
    }
    if (clf__utf8_valid_prefix(text, size) != size || memchr(text, '\0', size) != NULL) {
        return clf__fail(CLF_TEXT, "the translation of segment %d is not UTF-8 text", index);
    }
    struct clf__segment *segment = &document->segments.items[index];
    const struct clf__markup_pair given = {segment->text, text,  segment->shown.text_size,
                                           size,          links, links != NULL ? link_count : 0};
    CLF__TRY(check_links(&given));
    char *line;
    struct clf__part part = part_of(segment, text, size);
    CLF__TRY(copy_line(&line, text, part));
    clf_status status = set_line(segment, line, part.size, part.start, &given);
    clf__free(line);
    return status;
}

static clf_status warn_of_terms(struct clf_document *document)
{
    int count = document->segments.terms.overfull;
    return count == 0 ? CLF_OK
                      : clf__document_warn(document,
                                           "%d text%s more than %d terms, tags and placeholders; the other "
                                           "terms are translated",
                                           count, count == 1 ? " has" : "s have", CLF__MOST_INLINES);
}

clf_status clf_document_write(char **out, size_t *size, struct clf_document *document)
{
    struct clf__output output = {.bytes = NULL};
    *out = NULL;
    *size = 0;
    clear_warnings(document);
    clf__output_add(&output, "", 0);
    clf_status status = document->format->write(&output, document);
    if (status == CLF_OK) {
        status = warn_of_terms(document);
    }
    if (status == CLF_OK) {
        status = clf__document_encode(&output, document);
        status = status != CLF_OK ? clf__fail_in(status, "%s", document->name) : CLF_OK;
    }
    if (status != CLF_OK) {
        clf__free(output.bytes);
        return status;
    }
    *out = output.bytes;
    *size = output.size;
    return CLF_OK;
}

const char *clf_document_warning(const struct clf_document *document, int index)
{
    return index >= 0 && index < document->warning_count ? document->warnings[index] : NULL;
}
