/* Recipes as JSON: one object with the keys of the table. */
#include <string.h>

#include <jansson.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "train/recipe.h"

/* Real numbers are written with 15 digits, so that 0.1 is written as 0.1; smaller differences are ignored. */
enum { MAX_PAIRS = 256, REAL_DIGITS = 15 };

static clf_status add_word(struct clf__names *words, const char *before, const char *text)
{
    char *word;
    CLF__TRY(clf__format(&word, "%s%s", before, text));
    clf_status status = clf__names_add(words, word);
    clf__free(word);
    return status;
}

/* Quotes a string that would parse as another JSON type, so that it is read as a string again. */
static clf_status add_scalar(struct clf__names *words, const char *before, const json_t *value)
{
    json_t *other = NULL;
    if (json_is_string(value)) {
        CLF__TRY(clf__json_word(&other, json_string_value(value)));
    }
    clf_status status;
    if (json_is_string(value) && !other) {
        status = add_word(words, before, json_string_value(value));
    } else {
        char *text = NULL;
        status =
            clf__json_text(&text, value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS));
        if (status == CLF_OK) {
            status = add_word(words, before, text);
        }
        clf__free(text);
    }
    json_decref(other);
    return status;
}

static clf_status add_pairs(struct clf__names *words, const json_t *object)
{
    void *iterator = json_object_iter((json_t *)object);
    for (; iterator; iterator = json_object_iter_next((json_t *)object, iterator)) {
        const char *key = json_object_iter_key(iterator);
        char *before = NULL;
        CLF__TRY(clf__format(&before, "%s=", key));
        clf_status status = words->count < MAX_PAIRS
                                ? add_scalar(words, before, json_object_iter_value(iterator))
                                : clf__fail(CLF_FORMAT, "has more than %d pairs", MAX_PAIRS);
        clf__free(before);
        CLF__TRY(status);
    }
    return CLF_OK;
}

static clf_status add_texts(struct clf__names *words, const json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        if (!json_is_string(item) || words->count == MAX_PAIRS) {
            return clf__fail(CLF_FORMAT, "must be a list of file names");
        }
        CLF__TRY(add_word(words, "", json_string_value(item)));
    }
    return CLF_OK;
}

/* Reads the words of a value if its JSON type matches the kind. */
static clf_status read_words(struct clf__names *words, enum clf__recipe_kind kind, const json_t *value)
{
    if (kind == CLF__PAIRS && json_is_object(value)) {
        return add_pairs(words, value);
    }
    if (kind == CLF__TEXTS && json_is_array(value)) {
        return add_texts(words, value);
    }
    if ((kind == CLF__TEXT || kind == CLF__TEXTS || kind == CLF__WORD) && json_is_string(value)) {
        return add_word(words, "", json_string_value(value));
    }
    if (kind == CLF__SWITCH && json_is_boolean(value)) {
        return add_word(words, "", json_is_true(value) ? "true" : "false");
    }
    if ((kind == CLF__NUMBER || kind == CLF__WHOLE_NUMBER) && json_is_number(value)) {
        return add_scalar(words, "", value);
    }
    return clf__fail(CLF_FORMAT, "must be %s",
                     kind == CLF__PAIRS                                 ? "an object of config.json keys"
                     : kind == CLF__SWITCH                              ? "true or false"
                     : kind == CLF__NUMBER || kind == CLF__WHOLE_NUMBER ? "a number"
                                                                        : "a string");
}

static clf_status load_key(struct clf_recipe *recipe, const char *name, const json_t *value, const char *path)
{
    int index = clf__recipe_find(name);
    if (index < 0) {
        return clf__fail(CLF_FORMAT, "%s: unknown setting \"%.64s\"; remove it", path, name);
    }
    struct clf__names words = {0};
    clf_status status = read_words(&words, clf__recipe_entry(index)->kind, value);
    if (status != CLF_OK) {
        clf__fail_in(status, "%s: \"%s\"", path, name);
    } else if (words.count > 0) {
        status = clf__recipe_check(index, (const char *const *)words.items, words.count);
        if (status != CLF_OK) {
            status = status == CLF_OUT_OF_MEMORY ? status : CLF_FORMAT;
            clf__fail_in(status, "%s", path);
        } else {
            status = clf__recipe_take(recipe, index, (const char *const *)words.items, words.count);
        }
    }
    clf__names_free(&words);
    return status;
}

static clf_status check_path(const char *path)
{
    return path != NULL ? CLF_OK : clf__fail(CLF_BAD_ARGUMENT, "recipe: the path of the file is NULL");
}

clf_status clf_recipe_load(struct clf_recipe *recipe, const char *path)
{
    CLF__TRY(check_path(path));
    struct clf__json json;
    CLF__TRY(clf__json_load_strict(&json, path, clf__json_settings));
    struct clf_recipe *taken = NULL;
    clf_status status = clf__recipe_copy(&taken, recipe);
    void *iterator = json_object_iter(json.root);
    for (; iterator && status == CLF_OK; iterator = json_object_iter_next(json.root, iterator)) {
        if (!json_is_null(json_object_iter_value(iterator))) {
            status = load_key(taken, json_object_iter_key(iterator), json_object_iter_value(iterator), path);
        }
    }
    if (status == CLF_OK) {
        clf__recipe_swap(recipe, taken);
    }
    clf_recipe_free(taken);
    clf__json_free(&json);
    return status;
}

static json_t *pairs(struct clf__texts words)
{
    json_t *object = json_object();
    for (int i = 0; object && i < words.count; i++) {
        if (clf__json_set_pair(object, words.items[i]) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static json_t *texts(struct clf__texts words)
{
    json_t *array = json_array();
    for (int i = 0; array && i < words.count; i++) {
        if (json_array_append_new(array, json_string(words.items[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *value_of(enum clf__recipe_kind kind, struct clf__texts words)
{
    switch (kind) {
    case CLF__PAIRS:
        return pairs(words);
    case CLF__TEXTS:
        return texts(words);
    case CLF__TEXT:
    case CLF__WORD:
        return json_string(words.items[0]);
    default:
        return clf__json_scalar(words.items[0]);
    }
}

clf_status clf_recipe_write(const struct clf_recipe *recipe, const char *path)
{
    CLF__TRY(check_path(path));
    int count;
    const struct clf_recipe_key *keys = clf_recipe_keys(&count);
    json_t *root = json_object();
    int failed = root == NULL;
    for (int i = 0; i < count && !failed; i++) {
        struct clf__texts words = clf__recipe_words(recipe, i);
        if (words.count > 0 && !clf__recipe_is_from(recipe, i)) {
            failed = json_object_set_new(root, keys[i].name, value_of(clf__recipe_entry(i)->kind, words));
        }
    }
    clf_status status =
        failed ? clf__fail(CLF_OUT_OF_MEMORY,
                           "%s: cannot be written: not enough host memory, or a value is not UTF-8", path)
               : clf__json_write(path, root, JSON_REAL_PRECISION(REAL_DIGITS));
    json_decref(root);
    return status;
}
