/* The text of a scalar. */
#include <string.h>

#include <unicode/utf8.h>

#include "base/memory.h"
#include "text/sentences/sentences.h"
#include "translate/documents/yaml/yaml.h"

/* State of reading a scalar. */
struct reader {
    struct clf_document *document;
    struct clf__inlines *inlines;
    const struct clf__yaml_scalar *scalar;
    int line;
    int is_divided; /* a plain scalar that is not one text */
};

static int is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

static int is_break(char byte)
{
    return byte == '\n' || byte == '\r';
}

/* --- Types of plain scalars. --- */

static int is_one_of(const char *text, size_t size, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (size == strlen(words[i]) && memcmp(text, words[i], size) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Returns whether a text looks like a number or a date: "-1.5e3", "0x1f", "2001-12-14t21:59:43Z". */
static int is_number(const char *text, size_t size)
{
    int has_digit = 0;
    for (size_t i = 0; i < size; i++) {
        has_digit |= text[i] >= '0' && text[i] <= '9';
        if (text[i] == '\0' || strchr("0123456789abcdefABCDEFxXoOtTzZ_:.+-", text[i]) == NULL) {
            return 0;
        }
    }
    return has_digit && strchr("0123456789+-.", *text) != NULL;
}

int clf__yaml_is_string(const char *text, size_t size)
{
    static const char *const words[] = {"~",     "null",  "Null",  "NULL", "true", "True",  "TRUE",  "false",
                                        "False", "FALSE", "yes",   "Yes",  "YES",  "no",    "No",    "NO",
                                        "on",    "On",    "ON",    "off",  "Off",  "OFF",   "y",     "Y",
                                        "n",     "N",     ".inf",  ".Inf", ".INF", "+.inf", "+.Inf", "+.INF",
                                        "-.inf", "-.Inf", "-.INF", ".nan", ".NaN", ".NAN",  "<<",    "="};
    return size > 0 && !is_one_of(text, size, words, sizeof words / sizeof *words) && !is_number(text, size);
}

/* --- Segments. --- */

/* Adds the text as a segment that replaces bytes [start, end). */
static clf_status end_text_at(struct reader *reader, size_t start, size_t end)
{
    struct clf__yaml *state = reader->document->state;
    int count = reader->document->segments.count;
    CLF__TRY(clf__inlines_end_at(reader->inlines, reader->document, reader->line, start, end));
    if (reader->document->segments.count > count) {
        CLF__TRY(clf__grow(&state->segments, state->count, &state->capacity, sizeof *state->segments));
        state->segments[state->count++] =
            (struct clf__yaml_segment){reader->scalar->style, reader->scalar->is_in_flow};
    }
    return CLF_OK;
}

/* Ends a text within the scalar. A plain scalar may become a quoted one, so it cannot be divided. */
static clf_status end_text(struct reader *reader)
{
    if (reader->scalar->style == CLF__YAML_PLAIN) {
        reader->is_divided = 1;
        clf__inlines_clear(reader->inlines);
        return CLF_OK;
    }
    return end_text_at(reader, reader->inlines->start, reader->inlines->end);
}

/* --- Characters. --- */

static unsigned read_hex(const char *digits, size_t count)
{
    unsigned value = 0;
    for (size_t i = 0; i < count; i++) {
        char digit = digits[i];
        value = value * 16 + (unsigned)(digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
    }
    return value;
}

/* Decodes an escape sequence, which libyaml has checked; returns its size.
 *
 * @param point receives the code point. */
static size_t read_escape(unsigned *point, const char *text)
{
    static const char from[] = "0abt\tnvfre \"/\\";
    static const char to[] = "\0\a\b\t\t\n\v\f\r\x1b \"/\\";
    size_t digits = text[1] == 'x' ? 2 : text[1] == 'u' ? 4 : text[1] == 'U' ? 8 : 0;
    if (digits > 0) {
        *point = read_hex(text + 2, digits);
        return 2 + digits;
    }
    const char *found = strchr(from, text[1]);
    *point = found != NULL && *found != '\0' ? (unsigned char)to[found - from]
             : text[1] == 'N'                ? 0x85
             : text[1] == '_'                ? 0xa0
             : text[1] == 'L'                ? 0x2028
                                             : 0x2029;
    return 2;
}

/* Adds the character of a double-quoted scalar that begins with a backslash. */
static clf_status add_escape(struct reader *reader, size_t *at, size_t end)
{
    const char *bytes = reader->document->bytes;
    unsigned point;
    if (is_break(bytes[*at + 1])) { /* the line goes on without a space */
        for (++*at; *at < end && (is_break(bytes[*at]) || is_blank(bytes[*at])); ++*at) {
        }
        return CLF_OK;
    }
    size_t start = *at;
    *at += read_escape(&point, bytes + start);
    if (point == '\n' || point == '\r' || point == 0x85 || point == 0x2028 || point == 0x2029) {
        return end_text(reader);
    }
    char text[U8_MAX_LENGTH];
    int32_t size = 0;
    UBool failed = 0;
    U8_APPEND((uint8_t *)text, size, U8_MAX_LENGTH, (UChar32)point, failed);
    if (failed || (point < ' ' && point != '\t')) {
        clf__inlines_single(reader->inlines, bytes, start, *at);
    } else {
        clf__inlines_text(reader->inlines, text, (size_t)size, start, *at);
    }
    return CLF_OK;
}

/* Adds the line breaks at a position: one is a space, and several end the text. */
static clf_status add_breaks(struct reader *reader, size_t *at, size_t end)
{
    const char *bytes = reader->document->bytes;
    size_t start = *at;
    int breaks = 0;
    for (; *at < end && (is_break(bytes[*at]) || is_blank(bytes[*at])); ++*at) {
        breaks += is_break(bytes[*at]) && (bytes[*at] != '\n' || *at == start || bytes[*at - 1] != '\r');
    }
    if (breaks > 1) {
        return end_text(reader);
    }
    clf__inlines_text(reader->inlines, " ", 1, start, *at);
    return CLF_OK;
}

/* Adds the characters of bytes [at, end). */
static clf_status add_range(struct reader *reader, size_t at, size_t end)
{
    const char *bytes = reader->document->bytes;
    while (at < end) {
        size_t size = 0;
        if (clf__inlines_are_full(reader->inlines)) {
            CLF__TRY(end_text(reader));
        }
        if (is_break(bytes[at])) {
            CLF__TRY(add_breaks(reader, &at, end));
        } else if ((size = clf__inlines_markup(reader->inlines, bytes, at, end)) > 0) {
            at += size;
        } else if (reader->scalar->style == CLF__YAML_DOUBLE_QUOTED && bytes[at] == '\\') {
            CLF__TRY(add_escape(reader, &at, end));
        } else {
            size = reader->scalar->style == CLF__YAML_SINGLE_QUOTED && bytes[at] == '\'' ? 2 : 1;
            clf__inlines_text(reader->inlines, bytes + at, 1, at, at + size);
            at += size;
        }
    }
    return CLF_OK;
}

/* --- Styles. --- */

static clf_status read_plain(struct reader *reader)
{
    const struct clf__yaml_scalar *scalar = reader->scalar;
    CLF__TRY(add_range(reader, scalar->start, scalar->end));
    if (!reader->is_divided) {
        return end_text_at(reader, scalar->start, scalar->end);
    }
    ((struct clf__yaml *)reader->document->state)->skipped++;
    return CLF_OK;
}

static clf_status read_quoted(struct reader *reader)
{
    CLF__TRY(add_range(reader, reader->scalar->start + 1, reader->scalar->end - 1));
    return end_text(reader);
}

/* Reads a literal scalar line by line, or a folded one paragraph by paragraph. */
static clf_status read_block(struct reader *reader)
{
    const struct clf__yaml_scalar *scalar = reader->scalar;
    const char *bytes = reader->document->bytes;
    struct clf__text_line line = {.next = scalar->start};
    size_t indent = 0, deepest = 0;
    int is_first = 1;
    clf__text_line_next(&line, bytes, scalar->end); /* the header */
    while (clf__text_line_next(&line, bytes, scalar->end)) {
        struct clf__part part = clf__part_trim(bytes, line.start, line.end);
        size_t depth = part.start - line.start;
        if (part.size == 0) {
            CLF__TRY(end_text(reader));
            continue;
        }
        indent = is_first || depth < indent ? depth : indent;
        is_first = 0;
        if (depth == 0) { /* the text could begin with the marker of another document */
            clf__inlines_clear(reader->inlines);
            ((struct clf__yaml *)reader->document->state)->skipped++;
            return CLF_OK;
        }
        if (!scalar->is_folded || depth > indent || deepest > indent) {
            CLF__TRY(end_text(reader));
        }
        deepest = depth;
        reader->line = scalar->line + line.number - 1;
        if (reader->inlines->text.size > 0) {
            clf__inlines_text(reader->inlines, " ", 1, part.start, part.start);
        }
        CLF__TRY(add_range(reader, part.start, part.start + part.size));
    }
    return end_text(reader);
}

clf_status clf__yaml_read_scalar(struct clf_document *document, struct clf__inlines *inlines,
                                 const struct clf__yaml_scalar *scalar)
{
    struct reader reader = {document, inlines, scalar, scalar->line, 0};
    clf__inlines_clear(inlines);
    switch (scalar->style) {
    case CLF__YAML_PLAIN:
        return read_plain(&reader);
    case CLF__YAML_BLOCK:
        return read_block(&reader);
    default:
        return read_quoted(&reader);
    }
}
