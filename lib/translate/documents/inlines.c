#include "translate/documents/inlines.h"

#include <string.h>

#include "translate/documents/html/elements.h"
#include "translate/documents/html/tokens.h"

static void extend(struct clf__inlines *inlines, size_t start, size_t end)
{
    inlines->start = inlines->start == inlines->end ? start : inlines->start;
    inlines->end = end;
}

/* Removes a space that only a mark separated from the following punctuation mark. */
static void join_punctuation(struct clf__inlines *inlines, char next)
{
    struct clf__output *text = &inlines->text;
    int last = inlines->count - 1;
    if (last >= 0 && inlines->marks[last].start == text->size && inlines->marks[last].end == text->size &&
        text->size > 0 && text->bytes[text->size - 1] == ' ' && strchr(",.;:!?)", next) != NULL) {
        text->size--;
        for (int i = last; i >= 0 && inlines->marks[i].end > text->size; i--) {
            inlines->marks[i].end = text->size;
            inlines->marks[i].start =
                inlines->marks[i].start < text->size ? inlines->marks[i].start : text->size;
        }
    }
}

void clf__inlines_text(struct clf__inlines *inlines, const char *text, size_t size, size_t start, size_t end)
{
    struct clf__output *out = &inlines->text;
    for (size_t i = 0; i < size; i++) {
        if (!clf__html_is_space(text[i])) {
            join_punctuation(inlines, text[i]);
            extend(inlines, start, end);
            clf__output_add(out, text + i, 1);
        } else if (out->size > 0 && out->bytes[out->size - 1] != ' ') {
            clf__output_add(out, " ", 1);
        }
    }
}

static struct clf__tags *add_mark(struct clf__inlines *inlines, const char *bytes, size_t start, size_t end)
{
    int parent = inlines->depth > 0 ? inlines->open[inlines->depth - 1] : -1;
    int spaces = (start > 0 && clf__html_is_space(bytes[start - 1]) ? CLF__SPACE_BEFORE : 0) |
                 (clf__html_is_space(bytes[end]) ? CLF__SPACE_AFTER : 0);
    struct clf__tags *tags = &inlines->tags[inlines->count];
    inlines->marks[inlines->count++] = (struct clf_mark){inlines->text.size, inlines->text.size, parent};
    *tags = (struct clf__tags){start, end, end, end, spaces, 0, 0};
    extend(inlines, start, end);
    return tags;
}

void clf__inlines_single(struct clf__inlines *inlines, const char *bytes, size_t start, size_t end)
{
    add_mark(inlines, bytes, start, end);
}

void clf__inlines_separator(struct clf__inlines *inlines, const char *bytes, size_t start, size_t end)
{
    clf__inlines_text(inlines, " ", 1, start, start);
    clf__inlines_single(inlines, bytes, start, end);
}

void clf__inlines_open(struct clf__inlines *inlines, const char *bytes, unsigned name, size_t start,
                       size_t end)
{
    inlines->names[inlines->count] = name;
    add_mark(inlines, bytes, start, end);
    inlines->open[inlines->depth++] = inlines->count - 1;
}

/* Turns open marks deeper than `depth` into single tags. */
static void abandon(struct clf__inlines *inlines, int depth)
{
    while (inlines->depth > depth) {
        int mark = inlines->open[--inlines->depth], parent = inlines->marks[mark].parent;
        inlines->marks[mark].end = inlines->marks[mark].start;
        for (int i = mark + 1; i < inlines->count; i++) {
            inlines->marks[i].parent = inlines->marks[i].parent == mark ? parent : inlines->marks[i].parent;
        }
    }
}

void clf__inlines_close(struct clf__inlines *inlines, const char *bytes, unsigned name, size_t start,
                        size_t end)
{
    int found = inlines->depth - 1;
    while (found >= 0 && inlines->names[inlines->open[found]] != name) {
        found--;
    }
    if (found < 0) {
        add_mark(inlines, bytes, start, end);
        return;
    }
    abandon(inlines, found + 1);
    int mark = inlines->open[--inlines->depth];
    inlines->marks[mark].end = inlines->text.size;
    inlines->tags[mark].end = start;
    inlines->tags[mark].end_end = end;
    inlines->tags[mark].spaces &= CLF__SPACE_BEFORE;
    inlines->tags[mark].spaces |= clf__html_is_space(bytes[end]) ? CLF__SPACE_AFTER : 0;
    extend(inlines, start, end);
}

int clf__inlines_are_full(const struct clf__inlines *inlines)
{
    return inlines->count == CLF__MOST_INLINES;
}

/* Removes white space around the content of marks and of the text. */
static void trim(struct clf__inlines *inlines)
{
    struct clf__output *text = &inlines->text;
    text->size -= text->size > 0 && text->bytes[text->size - 1] == ' ';
    for (int i = 0; i < inlines->count; i++) {
        struct clf_mark *mark = &inlines->marks[i];
        mark->end = mark->end < text->size ? mark->end : text->size;
        mark->start = mark->start < mark->end ? mark->start : mark->end;
        mark->start += mark->start < mark->end && text->bytes[mark->start] == ' ';
        mark->end -= mark->start < mark->end && text->bytes[mark->end - 1] == ' ';
    }
}

void clf__inlines_clear(struct clf__inlines *inlines)
{
    inlines->text.size = 0;
    inlines->count = inlines->depth = 0;
    inlines->start = inlines->end = 0;
}

clf_status clf__inlines_end_at(struct clf__inlines *inlines, struct clf_document *document, int line,
                               size_t start, size_t end)
{
    clf_status status = inlines->text.status;
    abandon(inlines, 0);
    trim(inlines);
    const struct clf__new_segment segment = {.text = inlines->text.bytes,
                                             .size = inlines->text.size,
                                             .marks = inlines->marks,
                                             .tags = inlines->tags,
                                             .count = inlines->count,
                                             .start = start,
                                             .end = end,
                                             .line = line,
                                             .kind = inlines->kind};
    if (status == CLF_OK && clf__text_has_letter(segment.text, segment.size)) {
        status = clf__segments_add(&document->segments, &segment);
    }
    clf__inlines_clear(inlines);
    return status;
}

clf_status clf__inlines_end(struct clf__inlines *inlines, struct clf_document *document, int line)
{
    return clf__inlines_end_at(inlines, document, line, inlines->start, inlines->end);
}

static int is_name(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '_' || byte == '.' || byte == '-';
}

/* Returns the size of "{name}" with one or two braces. */
static size_t braces_size(const char *text, size_t size)
{
    size_t braces = size > 1 && text[1] == '{' ? 2 : 1, at = braces;
    while (at < size && (is_name(text[at]) || text[at] == ' ')) {
        at++;
    }
    size_t end = at;
    while (end < size && text[end] == '}' && end - at < braces) {
        end++;
    }
    return end - at == braces && at < size ? end : 0;
}

/* Returns the size of "%s", "%-5.2f", "%1$s", "%ld" or "%(name)s". */
static size_t percent_size(const char *text, size_t size)
{
    size_t at = 1;
    if (at < size && text[at] == '(') {
        while (at < size && text[at] != ')' && !clf__html_is_space(text[at])) {
            at++;
        }
        at += at < size && text[at] == ')';
    }
    while (at < size && strchr("0123456789$.+-#*'", text[at]) != NULL && text[at] != '\0') {
        at++;
    }
    while (at < size && strchr("hlqjzt", text[at]) != NULL && text[at] != '\0') {
        at++;
    }
    int is_conversion = at < size && strchr("sdiufFeEgGxXocpr@", text[at]) != NULL && text[at] != '\0';
    return is_conversion &&
                   (at + 1 == size || !is_name(text[at + 1]) || text[at + 1] == '.' || text[at + 1] == '-')
               ? at + 1
               : 0;
}

/* A longer placeholder is text, so that a hostile text costs little time. */
enum { MOST_PLACEHOLDER = 100 };

size_t clf__placeholder_size(const char *text, size_t size)
{
    size = size < MOST_PLACEHOLDER ? size : MOST_PLACEHOLDER;
    if (size < 2) {
        return 0;
    }
    if ((*text == '$' || *text == '%') && text[1] == '{') {
        size_t braces = braces_size(text + 1, size - 1);
        return braces > 0 ? braces + 1 : 0;
    }
    return *text == '{' ? braces_size(text, size) : *text == '%' ? percent_size(text, size) : 0;
}

/* Reads an HTML tag at the start of a text, such as <b>, </b> or <br/>. Returns its size; 0: there is none.
 *
 * @param kind receives 1 for a start tag, -1 for an end tag, 0 for an element without content.
 * @param name receives the hash of the name. */
static size_t read_tag(int *kind, unsigned *name, const char *text, size_t size)
{
    size = size < CLF__MOST_TAG ? size : CLF__MOST_TAG;
    struct clf__html_tokens tokens = {.bytes = text, .size = size};
    struct clf__html_token token;
    if (size < 3 || *text != '<' || memchr(text, '>', size) == NULL || !clf__html_next(&token, &tokens) ||
        (token.kind != CLF__HTML_START_TAG && token.kind != CLF__HTML_END_TAG)) {
        return 0;
    }
    *name = clf__html_hash(text + token.name, token.name_size);
    int is_void = (clf__html_kind_of(text + token.name, token.name_size) & CLF__HTML_IS_VOID) != 0;
    *kind = is_void ? 0 : token.kind == CLF__HTML_END_TAG ? -1 : !token.is_self_closing;
    return token.end;
}

size_t clf__inlines_markup(struct clf__inlines *inlines, const char *bytes, size_t at, size_t end)
{
    unsigned name;
    int kind;
    size_t size = clf__placeholder_size(bytes + at, end - at);
    if (size > 0) {
        clf__inlines_single(inlines, bytes, at, at + size);
        return size;
    }
    size = read_tag(&kind, &name, bytes + at, end - at);
    if (size > 0 && kind > 0) {
        clf__inlines_open(inlines, bytes, name, at, at + size);
    } else if (size > 0 && kind < 0) {
        clf__inlines_close(inlines, bytes, name, at, at + size);
    } else if (size > 0) {
        clf__inlines_separator(inlines, bytes, at, at + size);
    }
    return size;
}
