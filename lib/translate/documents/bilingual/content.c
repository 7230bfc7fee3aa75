/* The content of sources, and the edits of a bilingual document. */
#include <ctype.h>
#include <string.h>

#include "base/memory.h"
#include "translate/documents/bilingual/bilingual.h"
#include "translate/documents/html/elements.h"
#include "translate/documents/html/tokens.h"

/* --- Elements. --- */

struct clf__bilingual_content clf__bilingual_read(struct clf__xml_tokens *tokens,
                                                  const struct clf__xml_token *tag)
{
    struct clf__bilingual_content content = {
        .tag = *tag, .start = tag->end, .end = tag->end, .end_tag = tag->end};
    struct clf__xml_token token = *tag;
    int depth = tag->kind == CLF__XML_START;
    while (depth > 0 && clf__xml_next(&token, tokens)) {
        depth += token.kind == CLF__XML_START;
        depth -= token.kind == CLF__XML_END;
        content.end = token.start;
        content.end_tag = token.end;
    }
    return content;
}

int clf__bilingual_has_text(const char *bytes, const struct clf__bilingual_content *content)
{
    for (size_t at = content->start; at < content->end; at++) {
        if (!clf__html_is_space(bytes[at])) {
            return 1;
        }
    }
    return 0;
}

int clf__bilingual_is_root(const char *bytes, size_t size, const char *name)
{
    struct clf__xml_tokens tokens = clf__xml_begin(bytes, size);
    struct clf__xml_token token;
    if (size == 0 || *bytes != '<') {
        return 0;
    }
    while (clf__xml_next(&token, &tokens)) {
        if (token.kind != CLF__XML_OTHER && token.kind != CLF__XML_TEXT) {
            return clf__xml_is_tag(&token) && clf__xml_is_named(&token, bytes, name);
        }
    }
    return 0;
}

/* --- Segments. --- */

/* State of reading the content of a source. */
struct reader {
    struct clf_document *document;
    const char *bytes;
    struct clf__xml_tokens tokens;
    struct clf__inlines inlines;
    int keeps_lines;
    int is_full; /* too many marks */
};

/* Adds a mark without content. */
static void add_single(struct reader *reader, size_t start, size_t end)
{
    reader->is_full |= clf__inlines_are_full(&reader->inlines);
    if (!reader->is_full) {
        clf__inlines_single(&reader->inlines, reader->bytes, start, end);
    }
}

/* Adds a mark without content that separates words. */
static void add_separator(struct reader *reader, size_t start, size_t end)
{
    reader->is_full |= clf__inlines_are_full(&reader->inlines);
    if (!reader->is_full) {
        clf__inlines_separator(&reader->inlines, reader->bytes, start, end);
    }
}

/* Returns the end of an HTML tag with escaped brackets, such as &lt;b&gt;, whose name ends at a position; 0:
 * it is text. */
static size_t escaped_tag_end(const char *bytes, size_t at, size_t end)
{
    size_t most = end - at < CLF__MOST_TAG ? end : at + CLF__MOST_TAG;
    if (at < end && strchr(" /&>\t\r\n", bytes[at]) == NULL) {
        return 0;
    }
    for (; at < most && !clf__text_begins(bytes + at, most - at, "&lt;"); at++) {
        if (bytes[at] == '>' || clf__text_begins(bytes + at, most - at, "&gt;")) {
            return at + (bytes[at] == '>' ? 1 : strlen("&gt;"));
        }
    }
    return 0;
}

/* Adds the HTML tag with escaped brackets at a position; returns its size, or 0 if there is none. */
static size_t add_escaped_tag(struct reader *reader, size_t at, size_t end)
{
    const char *bytes = reader->bytes;
    size_t name = at + strlen("&lt;"), size = 0;
    if (!clf__text_begins(bytes + at, end - at, "&lt;") || name >= end) {
        return 0;
    }
    int is_end = bytes[name] == '/';
    name += (size_t)is_end;
    while (name + size < end && isalnum((unsigned char)bytes[name + size])) {
        size++;
    }
    size_t tag_end =
        size > 0 && isalpha((unsigned char)bytes[name]) ? escaped_tag_end(bytes, name + size, end) : 0;
    if (tag_end == 0) {
        return 0;
    }
    unsigned hash = clf__html_hash(bytes + name, size);
    int is_empty = (clf__html_kind_of(bytes + name, size) & CLF__HTML_IS_VOID) != 0;
    is_empty |= bytes[tag_end - (bytes[tag_end - 1] == '>' ? 2 : 5)] == '/';
    reader->is_full |= clf__inlines_are_full(&reader->inlines);
    if (is_empty) {
        add_separator(reader, at, tag_end);
    } else if (!reader->is_full && is_end) {
        clf__inlines_close(&reader->inlines, bytes, hash, at, tag_end);
    } else if (!reader->is_full) {
        clf__inlines_open(&reader->inlines, bytes, hash, at, tag_end);
    }
    return tag_end - at;
}

/* Adds the text [at, end), whose placeholders, HTML tags with escaped brackets, and line breaks that are
 * kept, are marks. */
static void add_text(struct reader *reader, size_t at, size_t end)
{
    const char *bytes = reader->bytes;
    while (at < end && !reader->is_full) {
        size_t size = clf__placeholder_size(bytes + at, end - at), next = at;
        if (size > 0) {
            add_single(reader, at, at + size);
            at += size;
        } else if (reader->keeps_lines && bytes[at] == '\n') {
            add_separator(reader, at, at + 1);
            at++;
        } else if ((size = add_escaped_tag(reader, at, end)) > 0) {
            at += size;
        } else {
            const char *end_of = bytes[at] == '&' ? memchr(bytes + at, ';', end - at) : NULL;
            next = end_of != NULL ? (size_t)(end_of - bytes) + 1 : at + 1;
            clf__xml_add_text(&reader->inlines, bytes, at, next);
            at = next;
        }
    }
}

/* Returns whether the content of an inline element is text of the sentence. */
static int is_text_element(const char *bytes, const struct clf__xml_token *tag)
{
    static const char *const names[] = {"g", "pc", "mrk", "hi"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (clf__xml_is_named(tag, bytes, names[i])) {
            return !clf__xml_has_value(bytes, tag, "translate", "no") &&
                   !clf__xml_has_value(bytes, tag, "mtype", "protected");
        }
    }
    return 0;
}

static void take(struct reader *reader, const struct clf__xml_token *token)
{
    struct clf__inlines *inlines = &reader->inlines;
    unsigned name = clf__html_hash(reader->bytes + token->name, token->name_size);
    struct clf__xml_range inner;
    switch (token->kind) {
    case CLF__XML_TEXT:
        add_text(reader, token->start, token->end);
        return;
    case CLF__XML_CDATA:
        inner = clf__xml_cdata(token);
        clf__inlines_text(inlines, reader->bytes + inner.start, inner.end - inner.start, token->start,
                          token->end);
        return;
    case CLF__XML_START:
        reader->is_full |= clf__inlines_are_full(inlines);
        if (!is_text_element(reader->bytes, token)) {
            add_single(reader, token->start, clf__xml_skip(&reader->tokens, token));
        } else if (!reader->is_full) {
            clf__inlines_open(inlines, reader->bytes, name, token->start, token->end);
        }
        return;
    case CLF__XML_END:
        reader->is_full |= clf__inlines_are_full(inlines) && inlines->depth == 0;
        if (!reader->is_full) {
            clf__inlines_close(inlines, reader->bytes, name, token->start, token->end);
        }
        return;
    case CLF__XML_EMPTY:
    case CLF__XML_REFERENCE:
        add_single(reader, token->start, token->end);
        return;
    default:
        return;
    }
}

static clf_status read_content(int *segment, struct reader *reader,
                               const struct clf__bilingual_content *source)
{
    struct clf_document *document = reader->document;
    struct clf__bilingual *state = document->state;
    struct clf__xml_token token;
    while (!reader->is_full && clf__xml_next(&token, &reader->tokens)) {
        take(reader, &token);
    }
    CLF__TRY(reader->inlines.text.status);
    if (reader->is_full) {
        state->skipped++;
        return CLF_OK;
    }
    int count = document->segments.count;
    CLF__TRY(clf__inlines_end_at(&reader->inlines, document, source->tag.line, source->start, source->end));
    *segment = document->segments.count > count ? count : -1;
    return CLF_OK;
}

clf_status clf__bilingual_add(int *segment, struct clf_document *document,
                              const struct clf__bilingual_content *source)
{
    struct reader *reader;
    *segment = -1;
    CLF__TRY(clf__allocate(&reader, 1, sizeof *reader));
    reader->document = document;
    reader->bytes = document->bytes;
    reader->keeps_lines = source->keeps_lines;
    reader->tokens = (struct clf__xml_tokens){
        .bytes = document->bytes, .size = source->end, .at = source->start, .line = source->tag.line};
    clf_status status = read_content(segment, reader, source);
    clf__free(reader->inlines.text.bytes);
    clf__free(reader);
    return status;
}

/* --- Edits. --- */

static clf_status add_edit(struct clf_document *document, struct clf__bilingual_edit edit)
{
    struct clf__bilingual *state = document->state;
    CLF__TRY(clf__grow(&state->edits, state->count, &state->capacity, sizeof *state->edits));
    state->edits[state->count++] = edit;
    return state->strings.status;
}

clf_status clf__bilingual_insert(struct clf_document *document, int segment,
                                 const struct clf__bilingual_content *source, size_t start, size_t end,
                                 const char *before, const char *after)
{
    struct clf__output *strings = &((struct clf__bilingual *)document->state)->strings;
    const char *bytes = document->bytes;
    struct clf__bilingual_edit edit = {start, end, segment, 1, strings->size, 0, 0};
    size_t lead = source->start, tail = source->end;
    while (lead < tail && clf__html_is_space(bytes[lead])) {
        lead++;
    }
    while (tail > lead && clf__html_is_space(bytes[tail - 1])) {
        tail--;
    }
    clf__output_add_string(strings, before);
    clf__output_add(strings, bytes + source->start, lead - source->start);
    edit.after = strings->size;
    clf__output_add(strings, bytes + tail, source->end - tail);
    clf__output_add_string(strings, after);
    edit.after_end = strings->size;
    return add_edit(document, edit);
}

clf_status clf__bilingual_replace(struct clf_document *document, int segment, size_t start, size_t end,
                                  const char *text)
{
    struct clf__output *strings = &((struct clf__bilingual *)document->state)->strings;
    struct clf__bilingual_edit edit = {start, end, segment, 0, strings->size, 0, 0};
    clf__output_add_string(strings, text);
    edit.after = edit.after_end = strings->size;
    return add_edit(document, edit);
}

clf_status clf__bilingual_indentation(char **out, const char *bytes, size_t at)
{
    size_t start = at;
    while (start > 0 && (bytes[start - 1] == ' ' || bytes[start - 1] == '\t')) {
        start--;
    }
    if (start == 0 || bytes[start - 1] != '\n') {
        return clf__copy_string(out, "");
    }
    start -= start > 1 && bytes[start - 2] == '\r' ? 2 : 1;
    return clf__copy_bytes(out, bytes + start, at - start);
}

/* --- The document. --- */

clf_status clf__bilingual_create(struct clf_document *document)
{
    struct clf__bilingual *state;
    CLF__TRY(clf__allocate(&state, 1, sizeof *state));
    document->state = state;
    return CLF_OK;
}

void clf__bilingual_close(struct clf_document *document)
{
    struct clf__bilingual *state = document->state;
    if (state != NULL) {
        clf__free(state->edits);
        clf__free(state->strings.bytes);
    }
    clf__free(state);
    document->state = NULL;
}

static void add_escaped(void *user, const char *text, size_t size)
{
    clf__xml_escape(user, text, size);
}

clf_status clf__bilingual_write(struct clf__output *out, struct clf_document *document)
{
    const struct clf__bilingual *state = document->state;
    const struct clf__segment_writer writer = {document->bytes, add_escaped, clf__document_add_bytes, out};
    size_t at = 0;
    for (int i = 0; i < state->count; i++) {
        const struct clf__bilingual_edit *edit = &state->edits[i];
        const struct clf__segment *segment = &document->segments.items[edit->segment];
        if (!clf__segment_is_changed(segment)) {
            continue;
        }
        clf__output_add(out, document->bytes + at, edit->start - at);
        clf__output_add(out, state->strings.bytes + edit->before, edit->after - edit->before);
        if (edit->is_text) {
            CLF__TRY(clf__segment_write(&writer, segment, 0, segment->translation_size));
        }
        clf__output_add(out, state->strings.bytes + edit->after, edit->after_end - edit->after);
        at = edit->end;
    }
    clf__output_add(out, document->bytes + at, document->size - at);
    return state->skipped == 0
               ? CLF_OK
               : clf__document_warn(document,
                                    "%d text%s not translated, because of more than %d tags and placeholders",
                                    state->skipped, state->skipped == 1 ? "" : "s", CLF__MOST_INLINES - 1);
}
