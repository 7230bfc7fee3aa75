/* JSON files of strings, such as the messages of a program: each line of a string that is a value is a
 * segment. Keys, numbers and addresses are kept; placeholders and HTML tags are marks. */
#include <string.h>

#include <jansson.h>

#include "base/memory.h"
#include "translate/documents/inlines.h"

/* State of reading a document, which is valid JSON. */
struct reader {
    struct clf_document *document;
    const char *bytes;
    size_t at;
    int line;
    char *containers; /* (depth) '{' or '[' */
    int depth, capacity;
    int is_key; /* the next string is a key */
    struct clf__inlines inlines;
};

static clf_status check(const struct clf_document *document, size_t start)
{
    json_error_t error;
    json_t *root = json_loadb(document->bytes + start, document->size - start, JSON_DECODE_ANY, &error);
    json_decref(root);
    return root != NULL
               ? CLF_OK
               : clf__fail(CLF_FORMAT, "line %d: is not JSON: %s; correct it", error.line, error.text);
}

static unsigned read_hex(const char *digits)
{
    unsigned value = 0;
    for (int i = 0; i < 4; i++) {
        char digit = digits[i];
        value = value * 16 + (unsigned)(digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
    }
    return value;
}

/* Writes a code point as UTF-8; returns its size. */
static size_t encode(char *out, unsigned point)
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    size_t size = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = size; i-- > 1; point >>= 6) {
        out[i] = (char)(0x80 | (point & 0x3f));
    }
    out[0] = (char)((size == 2 ? 0xc0 : size == 3 ? 0xe0 : 0xf0) | point);
    return size;
}

/* Decodes the character at a position of a string; returns the number of bytes that represent it. */
static size_t read_character(char *out, size_t *size, const char *text)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    *size = 1;
    out[0] = text[0];
    if (text[0] != '\\') {
        return 1;
    }
    if (text[1] != 'u') {
        out[0] = to[strchr(from, text[1]) - from];
        return 2;
    }
    unsigned point = read_hex(text + 2);
    if (point >= 0xd800 && point < 0xdc00) { /* a pair of surrogates */
        *size = encode(out, 0x10000 + ((point - 0xd800) << 10) + (read_hex(text + 8) - 0xdc00));
        return 12;
    }
    *size = encode(out, point);
    return 6;
}

static clf_status end_text(struct reader *reader)
{
    return clf__inlines_end(&reader->inlines, reader->document, reader->line);
}

/* Adds the part of a string at a position; returns its size. */
static size_t add_part(struct reader *reader, size_t at, size_t end)
{
    char text[4];
    size_t text_size, size = clf__inlines_markup(&reader->inlines, reader->bytes, at, end);
    if (size == 0) {
        size = read_character(text, &text_size, reader->bytes + at);
        clf__inlines_text(&reader->inlines, text, text_size, at, at + size);
    }
    return size;
}

/* Adds the lines of a string [at, end). */
static clf_status add_string(struct reader *reader, size_t at, size_t end)
{
    const char *bytes = reader->bytes;
    if (clf__text_is_address(bytes + at, end - at)) {
        return CLF_OK;
    }
    while (at < end) {
        if (clf__inlines_are_full(&reader->inlines)) {
            CLF__TRY(end_text(reader));
        }
        if (bytes[at] == '\\' && (bytes[at + 1] == 'n' || bytes[at + 1] == 'r')) {
            CLF__TRY(end_text(reader));
            at += 2;
        } else {
            at += add_part(reader, at, end);
        }
    }
    return end_text(reader);
}

static clf_status read_string(struct reader *reader)
{
    size_t start = reader->at + 1, end = start;
    while (reader->bytes[end] != '"') {
        end += reader->bytes[end] == '\\' ? 2 : 1;
    }
    reader->at = end + 1;
    return reader->is_key ? CLF_OK : add_string(reader, start, end);
}

static clf_status begin_container(struct reader *reader, char kind)
{
    CLF__TRY(clf__grow(&reader->containers, reader->depth, &reader->capacity, 1));
    reader->containers[reader->depth++] = kind;
    reader->is_key = kind == '{';
    return CLF_OK;
}

static clf_status read_values(struct reader *reader)
{
    while (reader->at < reader->document->size) {
        char byte = reader->bytes[reader->at];
        if (byte == '"') {
            CLF__TRY(read_string(reader));
            continue;
        }
        if (byte == '{' || byte == '[') {
            CLF__TRY(begin_container(reader, byte));
        } else if (byte == '}' || byte == ']') {
            reader->depth--;
        } else if (byte == ',') {
            reader->is_key = reader->containers[reader->depth - 1] == '{';
        } else if (byte == ':') {
            reader->is_key = 0;
        }
        reader->line += byte == '\n';
        reader->at++;
    }
    return CLF_OK;
}

static clf_status read_json(struct clf_document *document)
{
    size_t start = clf__utf8_mark(document->bytes, document->size);
    struct reader *reader;
    CLF__TRY(check(document, start));
    CLF__TRY(clf__allocate(&reader, 1, sizeof *reader));
    reader->document = document;
    reader->bytes = document->bytes;
    reader->at = start;
    reader->line = 1;
    clf_status status = read_values(reader);
    clf__free(reader->inlines.text.bytes);
    clf__free(reader->containers);
    clf__free(reader);
    return status;
}

/* Adds text of a string to the output `user`. */
static void add_escaped(void *user, const char *text, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"' || text[i] == '\\') {
            clf__output_add(user, "\\", 1);
            clf__output_add(user, text + i, 1);
        } else if ((unsigned char)text[i] < 0x20) {
            const char code[] = {'\\', 'u', '0', '0', digits[text[i] >> 4], digits[text[i] & 15], '\0'};
            clf__output_add_string(user, code);
        } else {
            clf__output_add(user, text + i, 1);
        }
    }
}

static clf_status write_json(struct clf__output *out, struct clf_document *document)
{
    return clf__document_splice(out, document, add_escaped);
}

const struct clf__format clf__format_json = {
    .shown = {sizeof(struct clf_document_format), "json", ".json", "application/json",
              "JSON: the strings that are values"},
    .read = read_json,
    .write = write_json,
};
