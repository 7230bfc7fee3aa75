#include <string.h>

#include "base/json.h"

/* Bytes that jansson 2.14 allocates per JSON value, including malloc's overhead: 8 bytes per block,
 * rounded up to a multiple of 16, at least 32. Tables of arrays and objects grow by doubling; old tables
 * count as well, because small blocks may occupy their freed memory. */
enum {
    ARRAY_BYTES = 48 + 80,   /* including a table of 8 entries */
    OBJECT_BYTES = 80 + 144, /* including 8 buckets */
    NUMBER_BYTES = 32,
    STRING_BYTES = 78, /* overhead in addition to the text: two blocks for a value, one for a key */
    SLOT_BYTES = 36,   /* per array entry; object buckets need twice as much per entry */
    FIXED_BYTES = 4096,
    MAX_DEPTH = 100
};

static clf_status fail(const char *path, const char *start, const char *at, const char *what)
{
    int line = 1;
    for (; start < at; start++) {
        line += *start == '\n';
    }
    return clf__fail(CLF_FORMAT, "%s: line %d: invalid JSON: %s", path, line, what);
}

/* Skips a string with its quotes, or to the end of the text if the closing quote is missing. */
static size_t string_size(const char *start, const char *end)
{
    const char *at = start + 1;
    while (at < end && *at != '"') {
        at += *at == '\\' && end - at > 1 ? 2 : 1;
    }
    return (size_t)(at - start) + (at < end);
}

/* Skips a number, true, false, null, or an invalid word. */
static size_t word_size(const char *start, const char *end)
{
    static const char ends[] = ",:[]{}\" \t\r\n"; /* sizeof includes the NUL */
    const char *at = start + 1;
    while (at < end && !memchr(ends, *at, sizeof ends)) {
        at++;
    }
    return (size_t)(at - start);
}

static int is_key(const char *after, const char *end)
{
    while (after < end && memchr(" \t\r\n", *after, 4)) {
        after++;
    }
    return after < end && *after == ':';
}

clf_status clf__json_scan(size_t *bytes, const char *text, size_t size, const char *path,
                          struct clf__json_limits limits)
{
    const char *end = text + size;
    size_t values = 0, depth = 0, longest = 0, token;
    *bytes = FIXED_BYTES;
    for (const char *at = text; at < end; at += token) {
        token = 1;
        if (*at == '[' || *at == '{') {
            *bytes += SLOT_BYTES + (*at == '[' ? ARRAY_BYTES : OBJECT_BYTES);
            values++;
            depth++;
        } else if (*at == ']' || *at == '}') {
            depth -= depth > 0;
        } else if (*at == '"') {
            token = string_size(at, end);
            *bytes += SLOT_BYTES + STRING_BYTES + token;
            values += !is_key(at + token, end);
        } else if (*at == '\0') { /* jansson ignores a NUL after a number or a word, so it is rejected here */
            return fail(path, text, at, "a NUL byte");
        } else if (!memchr(",: \t\r\n", *at, 6)) {
            token = word_size(at, end);
            *bytes += SLOT_BYTES + NUMBER_BYTES;
            values++;
        }
        longest = token > longest ? token : longest;
        if (values > limits.values) {
            return clf__fail(CLF_FORMAT, "%s: has more JSON values than the limit of %zu for such files",
                             path, limits.values);
        }
        if (depth > MAX_DEPTH) {
            return fail(path, text, at, "nesting deeper than 100");
        }
    }
    /* jansson collects a token in a buffer that doubles, and keeps a key until it has copied it. */
    *bytes += 5 * longest;
    return CLF_OK;
}
