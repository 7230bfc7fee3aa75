#include "base/json_python.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"

enum {
    ESCAPE = 6, /* bytes of \uXXXX */
    FIRST_HIGH = 0xd800,
    FIRST_LOW = 0xdc00,
    LAST_LOW = 0xdfff,
    PRIVATE = 0x10f800 - FIRST_HIGH /* added to a surrogate */
};

struct writer {
    const char *at, *end;
    char *out; /* NULL: only check whether the text needs a change */
    size_t size;
    int is_changed;
};

static void put(struct writer *writer, const char *bytes, size_t size)
{
    if (writer->out) {
        memcpy(writer->out + writer->size, bytes, size);
    }
    writer->size += size;
}

static void replace(struct writer *writer, size_t old_size, const char *text, size_t size)
{
    put(writer, text, size);
    writer->at += old_size;
    writer->is_changed = 1;
}

/* Returns the code unit of the escape \uXXXX at this position; -1 if there is none. */
static int code_unit(const char *at, const char *end)
{
    int unit = 0;
    if (end - at < ESCAPE || at[0] != '\\' || at[1] != 'u') {
        return -1;
    }
    for (int i = 2; i < ESCAPE; i++) {
        static const char digits[] = "0123456789abcdef";
        char lower = at[i] >= 'A' && at[i] <= 'F' ? (char)(at[i] - 'A' + 'a') : at[i];
        const char *digit = lower != '\0' ? strchr(digits, lower) : NULL;
        if (!digit) {
            return -1;
        }
        unit = 16 * unit + (int)(digit - digits);
    }
    return unit;
}

static void replace_surrogate(struct writer *writer, int unit)
{
    uint32_t point = (uint32_t)(unit + PRIVATE);
    const char bytes[] = {(char)(0xf0 | point >> 18), (char)(0x80 | (point >> 12 & 0x3f)),
                          (char)(0x80 | (point >> 6 & 0x3f)), (char)(0x80 | (point & 0x3f))};
    replace(writer, ESCAPE, bytes, sizeof bytes);
}

/* Copies one escape sequence of a string. */
static void copy_escape(struct writer *writer)
{
    int unit = code_unit(writer->at, writer->end);
    size_t size = unit >= 0 ? ESCAPE : 2;
    if (unit == 0) {
        replace(writer, ESCAPE, "\\ufdd0", ESCAPE);
        return;
    }
    if (unit >= FIRST_HIGH && unit <= LAST_LOW) {
        int next = code_unit(writer->at + ESCAPE, writer->end);
        if (unit >= FIRST_LOW || next < FIRST_LOW || next > LAST_LOW) {
            replace_surrogate(writer, unit);
            return;
        }
        size = 2 * ESCAPE;
    }
    size_t left = (size_t)(writer->end - writer->at);
    size = size < left ? size : left;
    put(writer, writer->at, size);
    writer->at += size;
}

/* Copies a string from its opening to its closing quote, or to the end of the text. */
static void copy_string(struct writer *writer)
{
    put(writer, writer->at++, 1);
    while (writer->at < writer->end && *writer->at != '"') {
        const char *start = writer->at;
        while (writer->at < writer->end && *writer->at != '"' && *writer->at != '\\') {
            writer->at++;
        }
        put(writer, start, (size_t)(writer->at - start));
        if (writer->at < writer->end && *writer->at == '\\') {
            copy_escape(writer);
        }
    }
    if (writer->at < writer->end) {
        put(writer, writer->at++, 1);
    }
}

/* Returns whether the next token is this unquoted word, such as NaN. */
static int has_value(const struct writer *writer, const char *word)
{
    size_t size = strlen(word);
    if ((size_t)(writer->end - writer->at) < size || memcmp(writer->at, word, size) != 0) {
        return 0;
    }
    const char *after = writer->at + size;
    while (after < writer->end && memchr(" \t\r\n", *after, 4)) {
        after++;
    }
    return after == writer->end || *after != ':';
}

static void copy_all(struct writer *writer)
{
    static const char nan[] = "NaN", infinity[] = "Infinity", nan_text[] = "\"NaN\"", most[] = "1.7e308";
    while (writer->at < writer->end) {
        if (*writer->at == '"') {
            copy_string(writer);
        } else if (has_value(writer, nan)) {
            replace(writer, strlen(nan), nan_text, strlen(nan_text));
        } else if (has_value(writer, infinity)) {
            replace(writer, strlen(infinity), most, strlen(most));
        } else {
            put(writer, writer->at++, 1);
        }
    }
}

clf_status clf__json_from_python(char **out, size_t *out_size, const char *text, size_t size)
{
    struct writer writer = {.at = text, .end = text + size};
    *out = NULL;
    *out_size = 0;
    copy_all(&writer);
    if (!writer.is_changed) {
        return CLF_OK;
    }
    CLF__TRY(clf__allocate(out, writer.size + 1, 1));
    writer = (struct writer){.at = text, .end = text + size, .out = *out};
    copy_all(&writer);
    *out_size = writer.size;
    return CLF_OK;
}
