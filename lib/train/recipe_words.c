/* Checks and parses the words of a choice. */
#include <string.h>

#include "base/json.h"
#include "model/config/write.h"
#include "train/recipe.h"

static clf_status check_pair(const char *name, const char *word)
{
    size_t length = strcspn(word, "=");
    if (length == 0 || word[length] == '\0' || word[length + 1] == '\0') {
        return clf__fail(CLF_BAD_ARGUMENT, "%s: \"%.64s\" is not of the form KEY=VALUE", name, word);
    }
    if (clf__model_has_key(word, length)) {
        return CLF_OK;
    }
    return clf__fail(CLF_BAD_ARGUMENT, "%s: \"%.*s\" is not a key of config.json that can be set", name,
                     length < 64 ? (int)length : 64, word);
}

clf_status clf__recipe_parse_number(int *kind, double *out, int64_t *whole, const char *word)
{
    json_t *json = NULL;
    clf_status status = clf__json_word(&json, word);
    *out = json_number_value(json);
    *whole = json_integer_value(json);
    *kind = json_is_number(json) ? 1 + json_is_integer(json) : 0;
    json_decref(json);
    return status;
}

static clf_status parse_whole_number(int64_t *out, const char *name, const struct clf__recipe_entry *entry,
                                     const char *word)
{
    double number;
    int kind;
    CLF__TRY(clf__recipe_parse_number(&kind, &number, out, word));
    if (kind != 2 || number < entry->low || number > entry->high) {
        return clf__fail(CLF_BAD_ARGUMENT, "%s: \"%.64s\" is not an integer from %.0f to %.0f", name, word,
                         entry->low, entry->high);
    }
    return CLF_OK;
}

static clf_status parse_real(double *out, const char *name, const struct clf__recipe_entry *entry,
                             const char *word)
{
    int64_t whole;
    int kind;
    CLF__TRY(clf__recipe_parse_number(&kind, out, &whole, word));
    if (kind == 0 || *out < entry->low || *out > entry->high) {
        return clf__fail(CLF_BAD_ARGUMENT, "%s: \"%.64s\" is not a number from %g to %g, such as 0.5", name,
                         word, entry->low, entry->high);
    }
    return CLF_OK;
}

/* Finds the index of a word in "one|two|three". */
static clf_status parse_word(int *out, const char *name, const char *words, const char *word)
{
    *out = 0;
    for (const char *next = words; *next; (*out)++) {
        size_t length = strcspn(next, "|");
        if (strlen(word) == length && strncmp(next, word, length) == 0) {
            return CLF_OK;
        }
        next += length + (next[length] == '|');
    }
    return clf__fail(CLF_BAD_ARGUMENT, "%s: unknown value \"%.64s\"; use one of %s", name, word, words);
}

clf_status clf__recipe_parse(void *out, int index, const char *word)
{
    int count;
    const struct clf_recipe_key *key = &clf_recipe_keys(&count)[index];
    const struct clf__recipe_entry *entry = clf__recipe_entry(index);
    switch (entry->kind) {
    case CLF__WHOLE_NUMBER:
        return parse_whole_number(out, key->name, entry, word);
    case CLF__NUMBER:
        return parse_real(out, key->name, entry, word);
    case CLF__WORD:
        return parse_word(out, key->name, key->value, word);
    case CLF__SWITCH:
        return parse_word(out, key->name, "false|true", word);
    default:
        *(const char **)out = word;
        return CLF_OK;
    }
}

clf_status clf__recipe_check(int index, const char *const *words, int count)
{
    int key_count;
    const struct clf_recipe_key *key = &clf_recipe_keys(&key_count)[index];
    const struct clf__recipe_entry *entry = clf__recipe_entry(index);
    int most = entry->kind == CLF__PAIRS ? count : entry->kind == CLF__TEXTS ? 2 : 1;
    if (count < 1 || count > most) {
        return clf__fail(CLF_BAD_ARGUMENT, "%s: requires %s, but %d values were given", key->name,
                         key->value ? key->value : "true or false", count);
    }
    for (int i = 0; i < count; i++) {
        if (words[i][0] == '\0') {
            return clf__fail(CLF_BAD_ARGUMENT, "%s: a value is empty", key->name);
        }
        union {
            int word;
            int64_t whole;
            double number;
            const char *text;
        } value;
        CLF__TRY(entry->kind == CLF__PAIRS ? check_pair(key->name, words[i])
                                           : clf__recipe_parse(&value, index, words[i]));
    }
    return CLF_OK;
}
