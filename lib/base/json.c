#include "base/json.h"

#include <stddef.h>
#include <string.h>

#include "base/file.h"
#include "base/json_python.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/utf8.h"

/* jansson keeps its default allocator, because json_set_alloc_funcs() affects the whole process, not only
 * this library. */

const struct clf__json_limits clf__json_settings = {1 << 22, 1 << 18};

/* Returns whether a real is an integer that is represented exactly. */
static int is_whole(const json_t *value)
{
    double number = json_real_value(value);
    return json_is_real(value) && number > -9e15 && number < 9e15 && number == (double)(json_int_t)number;
}

static json_t *whole(const json_t *value)
{
    return json_integer((json_int_t)json_real_value(value));
}

/* Converts the reals with integer values in a tree back to integers; nonzero if memory is exhausted. */
static int restore_integers(json_t *value)
{
    int failed = 0;
    if (json_is_object(value)) {
        void *iterator = json_object_iter(value);
        for (; iterator; iterator = json_object_iter_next(value, iterator)) {
            json_t *item = json_object_iter_value(iterator);
            failed |= is_whole(item) ? json_object_iter_set_new(value, iterator, whole(item))
                                     : restore_integers(item);
        }
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        json_t *item = json_array_get(value, i);
        failed |= is_whole(item) ? json_array_set_new(value, i, whole(item)) : restore_integers(item);
    }
    return failed;
}

static clf_status no_memory(const char *path)
{
    return clf__fail(CLF_OUT_OF_MEMORY, "%s: not enough host memory to read it", path);
}

/* jansson 2.14 does not check its allocations for strings and numbers: if one fails, it aborts or reports
 * invalid JSON. To detect a lack of memory first, this allocates the most that jansson may need and frees
 * it. Another thread may still take the memory in between. */
static clf_status check_memory(const char *text, size_t size, const char *path,
                               struct clf__json_limits limits)
{
    size_t bytes;
    char *room = NULL;
    CLF__TRY(clf__json_scan(&bytes, text, size, path, limits));
    if (clf__resize(&room, bytes, 1) != CLF_OK) {
        return no_memory(path);
    }
    clf__free(room);
    return CLF_OK;
}

/* Parses with as few extensions as the text needs: duplicate keys, unless they are forbidden, and integers
 * of more than 64 bits. *flags receives jansson's flags for them. */
static json_t *parse_with(size_t *flags, const char *text, size_t size, const char *path, int keys_are_unique,
                          json_error_t *error)
{
    for (;;) {
        json_t *root = json_loadb(text, size, *flags, error);
        enum json_error_code code = root ? json_error_unknown : json_error_code(error);
        if (code == json_error_duplicate_key && !keys_are_unique && (*flags & JSON_REJECT_DUPLICATES)) {
            clf__log(CLF_LOG_WARNING, "%s: line %d: %s; the last value is used", path, error->line,
                     error->text);
            *flags &= ~(size_t)JSON_REJECT_DUPLICATES;
        } else if (code == json_error_numeric_overflow && !(*flags & JSON_DECODE_INT_AS_REAL)) {
            /* transformers writes 10^30 for model_max_length if a tokenizer has no limit. */
            *flags |= JSON_DECODE_INT_AS_REAL;
        } else {
            return root;
        }
    }
}

static clf_status parse(json_t **out, const char *text, size_t size, const char *path,
                        struct clf__json_limits limits, int keys_are_unique)
{
    size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY;
    json_error_t error = {.line = 0};
    CLF__TRY(check_memory(text, size, path, limits));
    json_t *root = parse_with(&flags, text, size, path, keys_are_unique, &error);
    if (root && (flags & JSON_DECODE_INT_AS_REAL) && restore_integers(root) != 0) {
        json_decref(root);
        return no_memory(path);
    }
    if (!root && !error.text[0]) { /* jansson ran out of memory; the text may be valid */
        return no_memory(path);
    }
    if (!root) {
        return clf__fail(CLF_FORMAT, "%s: line %d: invalid JSON: %s", path, error.line, error.text);
    }
    *out = root;
    return CLF_OK;
}

static clf_status check_text(const char *text, size_t size, const char *path, struct clf__json_limits limits)
{
    const char *encoding = clf__utf16_name(text, size);
    if (encoding != NULL) {
        return clf__fail(CLF_FORMAT, "%s: is in %s, not UTF-8; convert it with iconv -f %s -t UTF-8", path,
                         encoding, encoding);
    }
    return size <= limits.bytes
               ? CLF_OK
               : clf__fail(CLF_FORMAT, "%s: has %zu bytes of JSON, more than the limit of %zu for such files",
                           path, size, limits.bytes);
}

clf_status clf__json_parse(json_t **out, const char *text, size_t size, const char *path,
                           struct clf__json_limits limits)
{
    char *changed;
    size_t changed_size;
    *out = NULL;
    CLF__TRY(check_text(text, size, path, limits));
    if (clf__json_from_python(&changed, &changed_size, text, size) != CLF_OK) {
        return no_memory(path);
    }
    clf_status status = changed ? parse(out, changed, changed_size, path, limits, 0)
                                : parse(out, text, size, path, limits, 0);
    clf__free(changed);
    return status;
}

clf_status clf__json_parse_strict(json_t **out, const char *text, size_t size, const char *path,
                                  struct clf__json_limits limits)
{
    *out = NULL;
    CLF__TRY(check_text(text, size, path, limits));
    return parse(out, text, size, path, limits, 1);
}

typedef clf_status parser(json_t **out, const char *text, size_t size, const char *path,
                          struct clf__json_limits limits);

static clf_status load(struct clf__json *out, const char *path, struct clf__json_limits limits,
                       parser *parse_text)
{
    *out = (struct clf__json){0};
    char *text = NULL;
    size_t size;
    CLF__TRY(clf__file_read(&text, &size, path, limits.bytes));
    clf_status status = clf__copy_string(&out->path, path);
    if (status == CLF_OK && size == 0) {
        status = clf__fail(CLF_FORMAT, "%s: is empty; download or save it again", path);
    }
    if (status == CLF_OK) {
        status = parse_text(&out->root, text, size, path, limits);
    }
    if (status == CLF_OK && !json_is_object(out->root)) {
        status = clf__fail(CLF_FORMAT, "%s: is not a JSON object", path);
    }
    clf__free(text);
    if (status != CLF_OK) {
        clf__json_free(out);
    }
    return status;
}

clf_status clf__json_load(struct clf__json *out, const char *path, struct clf__json_limits limits)
{
    return load(out, path, limits, clf__json_parse);
}

clf_status clf__json_load_strict(struct clf__json *out, const char *path, struct clf__json_limits limits)
{
    return load(out, path, limits, clf__json_parse_strict);
}

clf_status clf__json_word(json_t **out, const char *word)
{
    clf_status status = clf__json_parse_strict(out, word, strlen(word), "a value", clf__json_settings);
    return status == CLF_FORMAT ? CLF_OK : status;
}

json_t *clf__json_scalar(const char *word)
{
    json_t *value = NULL;
    if (clf__json_word(&value, word) != CLF_OK) {
        return NULL;
    }
    return value ? value : json_string(word);
}

int clf__json_set_pair(json_t *object, const char *pair)
{
    char *key;
    size_t length = strcspn(pair, "=");
    if (clf__copy_bytes(&key, pair, length) != CLF_OK) {
        return -1;
    }
    int result = json_object_set_new(object, key, clf__json_scalar(pair + length + 1));
    clf__free(key);
    return result;
}

clf_status clf__json_load_in(struct clf__json *out, const char *folder, const char *name)
{
    char *path = NULL;
    *out = (struct clf__json){0};
    CLF__TRY(clf__path_join(&path, folder, name));
    clf_status status = clf__json_load(out, path, clf__json_settings);
    clf__free(path);
    return status;
}

clf_status clf__json_find_in(struct clf__json *out, const char *folder, const char *name)
{
    int is_there;
    *out = (struct clf__json){0};
    CLF__TRY(clf__file_find(&is_there, folder, name));
    return is_there ? clf__json_load_in(out, folder, name) : CLF_OK;
}

void clf__json_free(struct clf__json *json)
{
    json_decref(json->root);
    clf__free(json->path);
    *json = (struct clf__json){0};
}

/* Returns the value of a key, or NULL if it is missing or null. */
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
        return clf__fail(CLF_FORMAT, "%s: \"%s\" must be an integer", json->path, key);
    }
    json_int_t number = json_integer_value(value);
    if (number < low || number > high) {
        return clf__fail(CLF_FORMAT, "%s: \"%s\" is %lld but must be %lld to %lld", json->path, key,
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
        return clf__fail(CLF_FORMAT, "%s: \"%s\" must be a number", json->path, key);
    }
    double number = json_number_value(value);
    if (number < low || number > high) {
        return clf__fail(CLF_FORMAT, "%s: \"%s\" is %g but must be %g to %g", json->path, key, number, low,
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
        return clf__fail(CLF_FORMAT, "%s: \"%s\" must be true or false", json->path, key);
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
        return clf__fail(CLF_FORMAT, "%s: \"%s\" must be a string", json->path, key);
    }
    *out = json_string_value(value);
    return CLF_OK;
}

int clf__json_has(const struct clf__json *json, const char *key)
{
    return get(json, key) != NULL;
}

/* json_dumps() would return memory of jansson's allocator, which the program may have changed. */
clf_status clf__json_text(char **out, const json_t *value, size_t flags)
{
    *out = NULL;
    size_t size = value ? json_dumpb(value, NULL, 0, flags) : 0;
    if (size == 0) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory to write JSON");
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
    text[size] = '\n'; /* clf__json_text() reserved this byte */
    clf_status status = clf__file_write(path, text, size + 1);
    clf__free(text);
    return status;
}
