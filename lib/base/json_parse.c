/* JSON text to jansson's values. jansson's own reader ignores that memory ended while it collects a string or
 * a number, and then stops the process at an assertion or calls the text damaged; and it takes fifty times
 * the bytes of a text that is made for it. Every step here tells memory from damage, and counts values. */
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/utf8.h"

enum { MAX_DEPTH = 100, MAX_NUMBER_BYTES = 500, SHOWN_KEY_BYTES = 64 };

struct reader {
    const char *path, *start, *at, *end;
    struct clf__json_limits limits;
    size_t values;
    char *strings; /* decoded: the keys of the objects that are open, and the string being read */
    size_t used;
};

static clf_status no_memory(const struct reader *reader)
{
    return clf__fail(CLF_OUT_OF_MEMORY, "%s: no host memory left to read it", reader->path);
}

static clf_status fail(const struct reader *reader, const char *what)
{
    int line = 1;
    for (const char *at = reader->start; at < reader->at; at++) {
        line += *at == '\n';
    }
    return clf__fail(CLF_FORMAT, "%s: line %d is not the JSON expected: %s", reader->path, line, what);
}

/* The next character after white space, or 0 at the end. */
static char peek(struct reader *reader)
{
    while (reader->at < reader->end && memchr(" \t\n\r", *reader->at, 4)) {
        reader->at++;
    }
    return reader->at < reader->end ? *reader->at : '\0';
}

static int take(struct reader *reader, char wanted)
{
    int is_there = peek(reader) == wanted && reader->at < reader->end;
    reader->at += is_there;
    return is_there;
}

/* Four hexadecimal digits, or -1. */
static int read_hex(struct reader *reader)
{
    static const char digits[] = "0123456789abcdef";
    int value = 0;
    for (int i = 0; i < 4; i++) {
        char c = reader->at < reader->end ? *reader->at : '\0';
        const char *digit = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
        if (!digit) {
            return -1;
        }
        value = 16 * value + (int)(digit - digits);
        reader->at++;
    }
    return value;
}

static void append_code(struct reader *reader, int code)
{
    char *out = reader->strings + reader->used;
    if (code < 0x80) {
        out[0] = (char)code;
        reader->used += 1;
    } else if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3F));
        reader->used += 2;
    } else if (code < 0x10000) {
        out[0] = (char)(0xE0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code & 0x3F));
        reader->used += 3;
    } else {
        out[0] = (char)(0xF0 | code >> 18);
        out[1] = (char)(0x80 | (code >> 12 & 0x3F));
        out[2] = (char)(0x80 | (code >> 6 & 0x3F));
        out[3] = (char)(0x80 | (code & 0x3F));
        reader->used += 4;
    }
}

/* What follows \u: a character, or half of one that the other half follows. */
static clf_status read_code(struct reader *reader)
{
    int code = read_hex(reader);
    if (code >= 0xD800 && code < 0xDC00) {
        int has_other = reader->end - reader->at >= 2 && memcmp(reader->at, "\\u", 2) == 0;
        reader->at += has_other ? 2 : 0;
        int low = has_other ? read_hex(reader) : -1;
        code = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((code - 0xD800) << 10 | (low - 0xDC00)) : -1;
    } else if (code >= 0xDC00 && code < 0xE000) {
        code = -1;
    }
    if (code <= 0) {
        return fail(reader, "\\u with what is no character");
    }
    append_code(reader, code);
    return CLF_OK;
}

static clf_status read_escape(struct reader *reader)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char name = reader->at < reader->end ? *reader->at++ : '\0';
    if (name == 'u') {
        return read_code(reader);
    }
    const char *known = name ? strchr(names, name) : NULL;
    if (!known) {
        return fail(reader, "\\ before what is no escape");
    }
    append_code(reader, values[known - names]);
    return CLF_OK;
}

/* Puts a string, NUL-terminated, after those in use. It is no longer than its text with the quotes. */
static clf_status read_string(struct reader *reader)
{
    for (reader->at++; reader->at < reader->end;) {
        char c = *reader->at;
        if (c == '"') {
            reader->at++;
            reader->strings[reader->used++] = '\0';
            return CLF_OK;
        }
        if ((unsigned char)c < 0x20) {
            return fail(reader, "a string with a line's end or another control character in it");
        }
        reader->at++;
        if (c == '\\') {
            CLF__TRY(read_escape(reader));
        } else {
            reader->strings[reader->used++] = c;
        }
    }
    return fail(reader, "a string without an end");
}

static clf_status read_text(struct reader *reader, json_t **out)
{
    size_t first = reader->used;
    CLF__TRY(read_string(reader));
    *out = json_stringn_nocheck(reader->strings + first, reader->used - first - 1);
    reader->used = first;
    return *out ? CLF_OK : no_memory(reader);
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9') {
        at++;
    }
    return at;
}

/* The end of a number, and whether it is whole; NULL where it is none. */
static const char *number_end(const struct reader *reader, int *is_whole)
{
    const char *at = reader->at, *end = reader->end;
    at += at < end && *at == '-';
    const char *digits = at;
    at = skip_digits(at, end);
    if (at == digits || (*digits == '0' && at - digits > 1)) {
        return NULL;
    }
    *is_whole = 1;
    if (at < end && *at == '.') {
        digits = at + 1;
        at = skip_digits(digits, end);
        *is_whole = 0;
        if (at == digits) {
            return NULL;
        }
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < end && (*at == '-' || *at == '+');
        digits = at;
        at = skip_digits(digits, end);
        *is_whole = 0;
        if (at == digits) {
            return NULL;
        }
    }
    return at;
}

/* strtod() wants the decimal point of the program's language. */
static double read_real(const char *digits)
{
    char text[MAX_NUMBER_BYTES + 32];
    const char *point = strchr(digits, '.');
    if (!point) {
        return strtod(digits, NULL);
    }
    snprintf(text, sizeof text, "%.*s%.16s%s", (int)(point - digits), digits, localeconv()->decimal_point,
             point + 1);
    return strtod(text, NULL);
}

/* A whole number that 64 bits do not hold is a real: transformers writes model_max_length as 10^30 where a
 * tokenizer has no limit. */
static clf_status read_number(struct reader *reader, json_t **out)
{
    char digits[MAX_NUMBER_BYTES + 1];
    int is_whole = 0;
    const char *end = number_end(reader, &is_whole);
    size_t size = end ? (size_t)(end - reader->at) : 0;
    if (size == 0 || size > MAX_NUMBER_BYTES) {
        return fail(reader, end ? "a number of more than 500 digits" : "a number is not whole");
    }
    memcpy(digits, reader->at, size);
    digits[size] = '\0';
    errno = 0;
    long long number = is_whole ? strtoll(digits, NULL, 10) : 0;
    if (is_whole && errno == 0) {
        *out = json_integer(number);
    } else {
        double real = read_real(digits);
        if (!(fabs(real) <= DBL_MAX)) {
            return fail(reader, "a number is too large");
        }
        *out = json_real(real);
    }
    reader->at = end;
    return *out ? CLF_OK : no_memory(reader);
}

static clf_status read_value(struct reader *reader, json_t **out, int depth);

static clf_status fail_duplicate(struct reader *reader, const char *key)
{
    char what[SHOWN_KEY_BYTES + 32];
    size_t size = strlen(key);
    size = size > SHOWN_KEY_BYTES ? clf__utf8_cut(key, SHOWN_KEY_BYTES) : size;
    snprintf(what, sizeof what, "\"%.*s\" is a duplicate key", (int)size, key);
    return fail(reader, what);
}

/* A key and its value. */
static clf_status read_member(struct reader *reader, json_t *object, int depth)
{
    size_t first = reader->used;
    if (peek(reader) != '"') {
        return fail(reader, "a key in quotes is missing");
    }
    CLF__TRY(read_string(reader));
    if (json_object_get(object, reader->strings + first)) {
        return fail_duplicate(reader, reader->strings + first);
    }
    if (!take(reader, ':')) {
        return fail(reader, "a colon is missing");
    }
    json_t *value = NULL;
    CLF__TRY(read_value(reader, &value, depth));
    int failed = json_object_set_new_nocheck(object, reader->strings + first, value);
    reader->used = first;
    return failed ? no_memory(reader) : CLF_OK;
}

static clf_status read_element(struct reader *reader, json_t *array, int depth)
{
    json_t *value = NULL;
    CLF__TRY(read_value(reader, &value, depth));
    return json_array_append_new(array, value) ? no_memory(reader) : CLF_OK;
}

/* An object or an array; the caller releases *out where it fails too. */
static clf_status read_container(struct reader *reader, json_t **out, int depth)
{
    int is_object = *reader->at++ == '{';
    char end = is_object ? '}' : ']';
    *out = is_object ? json_object() : json_array();
    if (!*out) {
        return no_memory(reader);
    }
    if (depth == MAX_DEPTH) {
        return fail(reader, "values in values, more than 100 deep");
    }
    if (take(reader, end)) {
        return CLF_OK;
    }
    do {
        CLF__TRY(is_object ? read_member(reader, *out, depth + 1) : read_element(reader, *out, depth + 1));
    } while (take(reader, ','));
    return take(reader, end) ? CLF_OK
                             : fail(reader, is_object ? "'}' or ',' is missing" : "']' or ',' is missing");
}

static clf_status read_word(struct reader *reader, json_t **out)
{
    static const char *const words[] = {"true", "false", "null"};
    json_t *values[] = {json_true(), json_false(), json_null()};
    for (int i = 0; i < 3; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(reader->end - reader->at) >= length && memcmp(reader->at, words[i], length) == 0) {
            reader->at += length;
            *out = values[i];
            return CLF_OK;
        }
    }
    return fail(reader, reader->at < reader->end ? "a value is none that JSON has" : "it ends too early");
}

static clf_status read_value(struct reader *reader, json_t **out, int depth)
{
    *out = NULL;
    if (reader->values++ == reader->limits.values) {
        return clf__fail(CLF_FORMAT, "%s: holds more than %zu values, the most expected of such a file",
                         reader->path, reader->limits.values);
    }
    char first = peek(reader);
    if (first == '"') {
        return read_text(reader, out);
    }
    if (first == '-' || (first >= '0' && first <= '9')) {
        return read_number(reader, out);
    }
    if (first != '{' && first != '[') {
        return read_word(reader, out);
    }
    clf_status status = read_container(reader, out, depth);
    if (status != CLF_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return status;
}

clf_status clf__json_parse(json_t **out, const char *text, size_t size, const char *path,
                           struct clf__json_limits limits)
{
    *out = NULL;
    if (size > limits.bytes) {
        return clf__fail(CLF_FORMAT, "%s: has %zu bytes of JSON, more than the %zu expected of such a file",
                         path, size, limits.bytes);
    }
    struct reader reader = {.path = path, .start = text, .at = text, .end = text + size, .limits = limits};
    size_t valid = clf__utf8_valid_prefix(text, size);
    if (valid < size) {
        reader.at += valid;
        return fail(&reader, "a byte is not UTF-8");
    }
    CLF__TRY(clf__resize(&reader.strings, size + 1, 1));
    clf_status status = read_value(&reader, out, 0);
    if (status == CLF_OK && (peek(&reader), reader.at < reader.end)) {
        json_decref(*out);
        *out = NULL;
        status = fail(&reader, "something follows its end");
    }
    clf__free(reader.strings);
    return status;
}
