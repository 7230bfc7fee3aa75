#include "base/json.h"

#include <stddef.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"

/* jansson keeps its own allocator: json_set_alloc_funcs() is one setting for the whole process, which belongs
 * to the program that uses this library. */

const struct clf__json_limits clf__json_settings = {1 << 22, 1 << 18};

clf_status clf__json_load(struct clf__json *out, const char *path, struct clf__json_limits limits)
{
    *out = (struct clf__json){0};
    char *text = NULL;
    size_t size;
    CLF__TRY(clf__file_read(&text, &size, path, limits.bytes));
    struct clf__json json = {0};
    clf_status status = clf__copy_string(&json.path, path);
    if (status == CLF_OK && size == 0) {
        status = clf__fail(CLF_FORMAT, "%s: is empty; download or save it again", path);
    }
    if (status == CLF_OK) {
        status = clf__json_parse(&json.root, text, size, path, limits);
    }
    if (status == CLF_OK && !json_is_object(json.root)) {
        status = clf__fail(CLF_FORMAT, "%s: is not a JSON object", path);
    }
    clf__free(text);
    if (status != CLF_OK) {
        clf__json_free(&json);
        return status;
    }
    *out = json;
    return CLF_OK;
}

clf_status clf__json_word(json_t **out, const char *word)
{
    clf_status status = clf__json_parse(out, word, strlen(word), "a value", clf__json_settings);
    return status == CLF_FORMAT ? CLF_OK : status;
}

void clf__json_free(struct clf__json *json)
{
    json_decref(json->root);
    clf__free(json->path);
    *json = (struct clf__json){0};
}

/* The value of a key, or NULL where it is missing or null. */
static const json_t *get(const struct clf__json *json, const char *key)
{
    const json_t *value = json_object_get(json->root, key);
    return json_is_null(value) ? NULL : value;
}

clf_status clf__json_int(const struct clf__json *json, const char *key, long long low, long long high,
                         int *out)
{
    const json_t *value = get(json, key);
    if (!value) {
        return CLF_OK;
    }
    if (!json_is_integer(value)) {
        return clf__fail(CLF_FORMAT, "%s: \"%s\" is not a whole number", json->path, key);
    }
    json_int_t number = json_integer_value(value);
    if (number < low || number > high) {
        return clf__fail(CLF_FORMAT, "%s: \"%s\" is %lld, not between %lld and %lld", json->path, key,
                         (long long)number, low, high);
    }
    *out = (int)number;
    return CLF_OK;
}

clf_status clf__json_double(const struct clf__json *json, const char *key, double low, double high,
                            double *out)
{
    const json_t *value = get(json, key);
    if (!value) {
        return CLF_OK;
    }
    if (!json_is_number(value)) {
        return clf__fail(CLF_FORMAT, "%s: \"%s\" is not a number", json->path, key);
    }
    double number = json_number_value(value);
    if (number < low || number > high) {
        return clf__fail(CLF_FORMAT, "%s: \"%s\" is %g, not between %g and %g", json->path, key, number, low,
                         high);
    }
    *out = number;
    return CLF_OK;
}

clf_status clf__json_bool(const struct clf__json *json, const char *key, int *out)
{
    const json_t *value = get(json, key);
    if (!value) {
        return CLF_OK;
    }
    if (!json_is_boolean(value)) {
        return clf__fail(CLF_FORMAT, "%s: \"%s\" is neither true nor false", json->path, key);
    }
    *out = json_is_true(value);
    return CLF_OK;
}

clf_status clf__json_string(const struct clf__json *json, const char *key, const char **out)
{
    const json_t *value = get(json, key);
    if (!value) {
        return CLF_OK;
    }
    if (!json_is_string(value)) {
        return clf__fail(CLF_FORMAT, "%s: \"%s\" is not a string", json->path, key);
    }
    *out = json_string_value(value);
    return CLF_OK;
}

int clf__json_has(const struct clf__json *json, const char *key)
{
    return get(json, key) != NULL;
}

/* json_dumps() would hand out memory of jansson's allocator, which the program may have changed. */
clf_status clf__json_text(char **out, const json_t *value, size_t flags)
{
    *out = NULL;
    size_t size = value ? json_dumpb(value, NULL, 0, flags) : 0;
    if (size == 0) {
        return clf__fail(CLF_OUT_OF_MEMORY, "no host memory left to write JSON");
    }
    CLF__TRY(clf__allocate(out, size + 2, 1));
    json_dumpb(value, *out, size, flags);
    return CLF_OK;
}

clf_status clf__json_write(const char *path, const json_t *value, size_t flags)
{
    char *text = NULL;
    CLF__TRY(clf__json_text(&text, value, flags | JSON_INDENT(1)));
    size_t size = strlen(text);
    text[size] = '\n'; /* clf__json_text() left room */
    clf_status status = clf__file_write(path, text, size + 1);
    clf__free(text);
    return status;
}
