/* gettext PO: each untranslated message is a segment, and so is its plural form. Existing translations,
 * comments, obsolete messages and the header are kept. Placeholders, line breaks and HTML tags are marks. */
#include <ctype.h>
#include <string.h>

#include "base/memory.h"
#include "translate/documents/inlines.h"

/* The literals of a string: bytes between the quotation marks. */
struct string {
    struct range {
        size_t start, end;
    } * items; /* (count) */
    int count, capacity;
    int line; /* line of the first literal */
};

/* The kind of the last keyword. */
enum keyword { NONE, CONTEXT, ID, PLURAL, TRANSLATION };

/* State of reading a document. */
struct reader {
    struct clf_document *document;
    const char *bytes;
    struct string id, plural, translation;
    enum keyword last;
    int index; /* index of the translation, as in msgstr[1] */
    struct clf__inlines inlines;
    int skipped; /* messages with too many marks, or with comments between the strings of their translation */
};

static clf_status fail(int line, const char *what)
{
    return clf__fail(CLF_FORMAT, "line %d: %s; correct it, for example with msgfmt --check", line, what);
}

static int is_space(char byte)
{
    return byte == ' ' || byte == '\t';
}

/* Reads the literal at the end of a line and adds it to a string. */
static clf_status add_literal(struct string *string, const char *bytes, size_t at,
                              const struct clf__text_line *line)
{
    while (at < line->end && is_space(bytes[at])) {
        at++;
    }
    if (at == line->end || bytes[at] != '"') {
        return fail(line->number, "a string in quotation marks is missing");
    }
    size_t start = ++at;
    while (at < line->end && bytes[at] != '"') {
        at += bytes[at] == '\\' && at + 1 < line->end ? 2 : 1;
    }
    size_t end = at;
    for (at++; at < line->end && is_space(bytes[at]); at++) {
    }
    if (end >= line->end || at < line->end) {
        return fail(line->number, "a string is not closed, or text follows it");
    }
    CLF__TRY(clf__grow(&string->items, string->count, &string->capacity, sizeof *string->items));
    string->line = string->count == 0 ? line->number : string->line;
    string->items[string->count++] = (struct range){start, end};
    return CLF_OK;
}

static int is_empty(const struct string *string)
{
    for (int i = 0; i < string->count; i++) {
        if (string->items[i].start < string->items[i].end) {
            return 0;
        }
    }
    return 1;
}

/* Returns the size of an escape of a byte by its number, such as \\101 or \\x41; 0: there is none. */
static size_t number_size(const char *text, size_t size)
{
    size_t at = 1, start;
    if (size < 2 || text[0] != '\\') {
        return 0;
    }
    at += text[1] == 'x';
    for (start = at; at < size && (text[1] == 'x' ? isxdigit((unsigned char)text[at])
                                                  : at < 4 && text[at] >= '0' && text[at] <= '7');) {
        at++;
    }
    return at > start ? at : 0;
}

/* Adds the part of a literal at a position; returns its size. */
static size_t add_part(struct reader *reader, size_t at, size_t end)
{
    static const char from[] = "\"\\tabfv'?", to[] = "\"\\\t\a\b\f\v'?";
    const char *bytes = reader->bytes;
    size_t size = clf__inlines_markup(&reader->inlines, bytes, at, end);
    if (size > 0) {
        return size;
    }
    size = number_size(bytes + at, end - at);
    if (size > 0) {
        clf__inlines_single(&reader->inlines, bytes, at, at + size);
        return size;
    }
    if (end - at > 1 && bytes[at] == '\\' && (bytes[at + 1] == 'n' || bytes[at + 1] == 'r')) {
        clf__inlines_separator(&reader->inlines, bytes, at, at + 2);
        return 2;
    }
    const char *escape = bytes[at] == '\\' && end - at > 1 ? strchr(from, bytes[at + 1]) : NULL;
    size = escape != NULL && *escape != '\0' ? 2 : 1;
    clf__inlines_text(&reader->inlines, size == 2 ? &to[escape - from] : bytes + at, 1, at, at + size);
    return size;
}

/* Adds a string as the segment whose translation replaces bytes [start, end) in one or more literals. */
static clf_status add_segment(struct reader *reader, const struct string *string, size_t start, size_t end)
{
    int is_full = 0;
    for (int i = 0; i < string->count && !is_full; i++) {
        for (size_t at = string->items[i].start; at < string->items[i].end && !is_full;) {
            at += add_part(reader, at, string->items[i].end);
            is_full = clf__inlines_are_full(&reader->inlines);
        }
    }
    if (is_full) {
        reader->skipped++;
        clf__inlines_clear(&reader->inlines);
        return CLF_OK;
    }
    return clf__inlines_end_at(&reader->inlines, reader->document, string->line, start, end);
}

/* Finds the bytes of the strings that a translation replaces: nothing at the start of empty strings,
 * otherwise from the first string to the last one. Returns 0 if there are comments between these. */
static int find_target(struct range *out, const struct reader *reader)
{
    const struct string *strings = &reader->translation;
    const char *bytes = reader->document->bytes;
    *out = (struct range){strings->items[0].start, strings->items[0].start};
    if (is_empty(strings)) {
        return 1;
    }
    out->end = strings->items[strings->count - 1].end;
    for (int i = 1; i < strings->count; i++) {
        for (size_t at = strings->items[i - 1].end; at < strings->items[i].start; at++) {
            if (bytes[at] != '"' && bytes[at] != '\r' && bytes[at] != '\n' && !is_space(bytes[at])) {
                return 0;
            }
        }
    }
    return 1;
}

/* Ends the string of the last keyword. */
static clf_status end_string(struct reader *reader)
{
    const struct string *translation = &reader->translation;
    struct range target;
    int is_kept = !is_empty(translation) && !reader->document->options.all;
    if (reader->last != TRANSLATION || is_empty(&reader->id) || is_kept) {
        return CLF_OK; /* not a translation, the header, or translated */
    }
    const struct string *string =
        reader->index > 0 && reader->plural.count > 0 ? &reader->plural : &reader->id;
    if (!find_target(&target, reader)) {
        reader->skipped++;
        return CLF_OK;
    }
    return add_segment(reader, string, target.start, target.end);
}

/* Reads "msgstr[1]" up to the string; returns its size, or 0 if it is malformed. */
static size_t read_index(int *index, const char *text, size_t size)
{
    size_t at = strlen("msgstr");
    *index = 0;
    if (at < size && text[at] == '[') {
        if (at + 2 >= size || text[at + 1] < '0' || text[at + 1] > '9' || text[at + 2] != ']') {
            return 0;
        }
        *index = text[at + 1] - '0';
        at += 3;
    }
    return at;
}

/* Reads a line that is not empty and not a comment. */
static clf_status read_line(struct reader *reader, size_t start, const struct clf__text_line *line)
{
    const char *text = reader->bytes + start;
    size_t size = line->end - start;
    struct string ignored = {.items = NULL}, *const strings[] = {NULL, &ignored, &reader->id, &reader->plural,
                                                                 &reader->translation};
    static const char *const words[] = {NULL, "msgctxt", "msgid", "msgid_plural", "msgstr"};
    enum keyword found = NONE;
    for (int i = CONTEXT; i <= TRANSLATION; i++) {
        found =
            clf__text_begins(text, size, words[i]) ? (enum keyword)i : found; /* msgid_plural follows msgid */
    }
    size_t word = found != NONE ? strlen(words[found]) : 0;
    if (found != NONE) {
        CLF__TRY(end_string(reader));
        word = found == TRANSLATION ? read_index(&reader->index, text, size) : word;
        reader->id.count = found == CONTEXT || found == ID ? 0 : reader->id.count;
        reader->plural.count = found == CONTEXT || found == ID ? 0 : reader->plural.count;
        reader->translation.count = 0;
        reader->last = found;
    } else if (*text != '"' || reader->last == NONE) {
        return fail(line->number, "is not a keyword such as msgid or msgstr");
    }
    if (found == TRANSLATION && word == 0) {
        return fail(line->number, "is not msgstr[N]");
    }
    clf_status status = add_literal(strings[reader->last], reader->bytes, start + word, line);
    clf__free(ignored.items);
    return status;
}

static clf_status read_lines(struct reader *reader)
{
    const struct clf_document *document = reader->document;
    struct clf__text_line line = {.next = clf__utf8_mark(document->bytes, document->size)};
    while (clf__text_line_next(&line, document->bytes, document->size)) {
        size_t start = line.start;
        while (start < line.end && is_space(document->bytes[start])) {
            start++;
        }
        if (start < line.end && document->bytes[start] != '#') {
            CLF__TRY(read_line(reader, start, &line));
        }
    }
    return end_string(reader);
}

static clf_status read_po(struct clf_document *document)
{
    struct reader *reader;
    int *skipped;
    CLF__TRY(clf__allocate(&skipped, 1, sizeof *skipped));
    document->state = skipped;
    CLF__TRY(clf__allocate(&reader, 1, sizeof *reader));
    reader->document = document;
    reader->bytes = document->bytes;
    clf_status status = read_lines(reader);
    *skipped = reader->skipped;
    clf__free(reader->inlines.text.bytes);
    clf__free(reader->id.items);
    clf__free(reader->plural.items);
    clf__free(reader->translation.items);
    clf__free(reader);
    return status;
}

/* Adds text of a literal to the output `user`. */
static void add_escaped(void *user, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"' || text[i] == '\\') {
            clf__output_add(user, "\\", 1);
        }
        if (text[i] == '\t') {
            clf__output_add_string(user, "\\t");
        } else {
            clf__output_add(user, text + i, 1);
        }
    }
}

static clf_status write_po(struct clf__output *out, struct clf_document *document)
{
    const int *skipped = document->state;
    CLF__TRY(clf__document_splice(out, document, add_escaped));
    return *skipped == 0 ? CLF_OK
                         : clf__document_warn(
                               document,
                               "%d message%s not translated, because of more than %d placeholders, "
                               "tags and line breaks, or of comments between the strings of a translation",
                               *skipped, *skipped == 1 ? "" : "s", CLF__MOST_INLINES - 1);
}

static void close_po(struct clf_document *document)
{
    clf__free(document->state);
    document->state = NULL;
}

const struct clf__format clf__format_po = {
    .shown = {sizeof(struct clf_document_format), "po", ".po .pot",
              "text/x-gettext-translation; charset=utf-8", "gettext messages without translation"},
    .read = read_po,
    .write = write_po,
    .close = close_po,
};
