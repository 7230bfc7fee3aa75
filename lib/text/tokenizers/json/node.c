#include "text/tokenizers/json/node.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <unicode/utf8.h>

enum { MAX_SENTENCE = 512 };

clf_status clf__node_fail(const struct clf__node *node, clf_status status, const char *format, ...)
{
    char said[MAX_SENTENCE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(said, sizeof said, format, arguments);
    va_end(arguments);
    return clf__fail(status, "%s: \"%s\"%s%s: %s", node->path, node->section, node->part != NULL ? ", " : "",
                     node->part != NULL ? node->part : "", said);
}

static int is_among(const char *key, const char *known)
{
    size_t length = strlen(key);
    for (const char *at = known; *at != '\0'; at += strspn(at, " ")) {
        size_t word = strcspn(at, " ");
        if (word == length && strncmp(at, key, length) == 0) {
            return 1;
        }
        at += word;
    }
    return 0;
}

clf_status clf__node_check_keys(const struct clf__node *node, const char *known)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)node->value, key, value)
    {
        if (!is_among(key, known)) {
            return clf__node_fail(node, CLF_UNSUPPORTED,
                                  "has the option \"%.40s\", which is not supported; save the tokenizer "
                                  "without it, or use the files from which the tokenizer was converted",
                                  key);
        }
    }
    return CLF_OK;
}

static const json_t *get(const struct clf__node *node, const char *key)
{
    const json_t *value = json_object_get(node->value, key);
    return json_is_null(value) ? NULL : value;
}

clf_status clf__node_bool(const struct clf__node *node, const char *key, int *out)
{
    const json_t *value = get(node, key);
    if (value != NULL && !json_is_boolean(value)) {
        return clf__node_fail(node, CLF_FORMAT, "\"%s\" is neither true nor false; download the file again",
                              key);
    }
    *out = value != NULL ? json_is_true(value) : *out;
    return CLF_OK;
}

clf_status clf__node_int(const struct clf__node *node, const char *key, int low, int high, int *out)
{
    const json_t *value = get(node, key);
    if (value == NULL) {
        return CLF_OK;
    }
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < low || number > high) {
        return clf__node_fail(node, CLF_FORMAT,
                              "\"%s\" is not an integer from %d to %d; download the file again", key, low,
                              high);
    }
    *out = (int)number;
    return CLF_OK;
}

clf_status clf__node_string(const struct clf__node *node, const char *key, const char **out)
{
    const json_t *value = get(node, key);
    if (value != NULL && !json_is_string(value)) {
        return clf__node_fail(node, CLF_FORMAT, "\"%s\" is not a string; download the file again", key);
    }
    *out = value != NULL ? json_string_value(value) : *out;
    return CLF_OK;
}

clf_status clf__node_need_string(const struct clf__node *node, const char *key, const char **out)
{
    *out = NULL;
    CLF__TRY(clf__node_string(node, key, out));
    return *out != NULL ? CLF_OK
                        : clf__node_fail(node, CLF_FORMAT, "has no \"%s\"; download the file again", key);
}

clf_status clf__node_character(const struct clf__node *node, const char *key, int32_t *out)
{
    const char *text = NULL;
    CLF__TRY(clf__node_string(node, key, &text));
    if (text == NULL) {
        return CLF_OK;
    }
    size_t at = 0, size = strlen(text);
    UChar32 character = -1;
    if (size > 0) {
        U8_NEXT((const uint8_t *)text, at, size, character);
    }
    if (character < 0 || at != size) {
        return clf__node_fail(node, CLF_FORMAT, "\"%s\" is not a single character; download the file again",
                              key);
    }
    *out = character;
    return CLF_OK;
}
