/* From the words of a recipe to values, and what contradicts what. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "config/family.h"
#include "config/write.h"
#include "train/recipe.h"

static clf_status check_pair(const char *name, const char *word)
{
    size_t length = strcspn(word, "=");
    if (length == 0 || word[length] == '\0' || word[length + 1] == '\0') {
        return clf__fail(CLF_BAD_ARGUMENT, "%s: \"%.64s\" is not KEY=VALUE", name, word);
    }
    if (clf__model_has_key(word, length)) {
        return CLF_OK;
    }
    return clf__fail(CLF_BAD_ARGUMENT, "%s: \"%.*s\" is no key of config.json that can be set", name,
                     length < 64 ? (int)length : 64, word);
}

/* A JSON number in a word, the same in every locale: *kind is 0 where it is none, 2 where it is whole. */
static clf_status parse_number(int *kind, double *out, int64_t *whole, const char *word)
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
    CLF__TRY(parse_number(&kind, &number, out, word));
    if (kind != 2 || number < entry->low || number > entry->high) {
        return clf__fail(CLF_BAD_ARGUMENT, "%s: \"%.64s\" is not a whole number from %.0f to %.0f", name,
                         word, entry->low, entry->high);
    }
    return CLF_OK;
}

static clf_status parse_real(double *out, const char *name, const struct clf__recipe_entry *entry,
                             const char *word)
{
    int64_t whole;
    int kind;
    CLF__TRY(parse_number(&kind, out, &whole, word));
    if (kind == 0 || *out < entry->low || *out > entry->high) {
        return clf__fail(CLF_BAD_ARGUMENT, "%s: \"%.64s\" is not a number from %g to %g, such as 0.5", name,
                         word, entry->low, entry->high);
    }
    return CLF_OK;
}

/* The place of a word among "one|two|three". */
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
    return clf__fail(CLF_BAD_ARGUMENT, "%s: \"%.64s\" is none of %s", name, word, words);
}

/* Parses a single word into the value of its kind. */
static clf_status parse(void *out, const struct clf_recipe_key *key, const struct clf__recipe_entry *entry,
                        const char *word)
{
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
        return clf__fail(CLF_BAD_ARGUMENT, "%s: takes %s, and %d values were given", key->name,
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
                                           : parse(&value, key, entry, words[i]));
    }
    return CLF_OK;
}

static int takes_frames(const struct clf__settings *settings)
{
    return clf__family_of((enum clf__system)settings->preset)->takes_frames;
}

static clf_status check_vocabularies(const struct clf__settings *settings)
{
    if (settings->target_vocabulary && !settings->separate_vocabularies && !takes_frames(settings)) {
        return clf__fail(CLF_BAD_ARGUMENT, "target-vocabulary: needs separate-vocabularies");
    }
    if (settings->separate_vocabularies && !settings->source_vocabulary != !settings->target_vocabulary) {
        return clf__fail(CLF_BAD_ARGUMENT, "%s-vocabulary: is missing beside the other side's",
                         settings->source_vocabulary ? "target" : "source");
    }
    int has_words = settings->tokens || takes_frames(settings);
    if (!has_words && settings->vocabulary < 8) {
        return clf__fail(CLF_BAD_ARGUMENT, "vocabulary: %lld pieces are too few; take 8 or more",
                         (long long)settings->vocabulary);
    }
    return CLF_OK;
}

static clf_status check(const struct clf__settings *settings, const struct clf_recipe *recipe)
{
    if (settings->train.count == 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "train: is missing, the text to learn from");
    }
    if (takes_frames(settings) && settings->train.count + settings->valid.count > 2) {
        return clf__fail(CLF_BAD_ARGUMENT, "train: speech takes one table, and valid another");
    }
    if (takes_frames(settings) && (settings->tokens || settings->source_vocabulary)) {
        return clf__fail(CLF_BAD_ARGUMENT, "%s: speech has no source text and characters as target",
                         settings->tokens ? "tokens" : "source-vocabulary");
    }
    if (settings->schedule == CLF__LINEAR && settings->max_updates <= settings->warm_up) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "max-updates: schedule linear ends there, so it must be more than warm-up (%lld)",
                         (long long)settings->warm_up);
    }
    if (settings->average > 0 && settings->valid.count == 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "average: needs valid, whose checkpoints are averaged");
    }
    if (settings->best == CLF__BEST_BLEU && settings->bleu == CLF__BLEU_NONE) {
        return clf__fail(CLF_BAD_ARGUMENT, "best: cannot be bleu where bleu is none");
    }
    if (settings->from) {
        return clf__recipe_check_from(recipe, &settings->config);
    }
    return check_vocabularies(settings);
}

clf_status clf__recipe_settings(struct clf__settings *out, const struct clf_recipe *recipe)
{
    *out = (struct clf__settings){0};
    int count;
    const struct clf_recipe_key *keys = clf_recipe_keys(&count);
    for (int i = 0; i < count; i++) {
        const struct clf__recipe_entry *entry = clf__recipe_entry(i);
        struct clf__texts words = clf__recipe_words(recipe, i);
        void *field = (char *)out + entry->field;
        if (entry->kind == CLF__TEXTS || entry->kind == CLF__PAIRS) {
            *(struct clf__texts *)field = words;
        } else if (words.count > 0) {
            CLF__TRY(parse(field, &keys[i], entry, words.items[0]));
        }
    }
    return check(out, recipe);
}

/* "max-updates" decides the whole of a linear schedule. */
static int may_change(const struct clf_recipe *recipe, int index)
{
    int is_linear = strcmp(clf__recipe_words(recipe, clf__recipe_find("schedule")).items[0], "linear") == 0;
    return clf__recipe_entry(index)->may_change && !(is_linear && index == clf__recipe_find("max-updates"));
}

/* As many digits as recipe.json has; whole numbers have all of theirs there, and are compared as such. */
static int is_same_number(double a, double b)
{
    return fabs(a - b) <= 1e-14 * fabs(a);
}

/* The same value, however its words are written. */
static int is_same_word(const struct clf__recipe_entry *entry, const char *a, const char *b)
{
    double numbers[2];
    int64_t wholes[2];
    if (strcmp(a, b) == 0) {
        return 1; /* whatever memory there is to parse them */
    }
    if (entry->kind == CLF__NUMBER || entry->kind == CLF__WHOLE_NUMBER) {
        int kinds[2] = {0};
        parse_number(&kinds[0], &numbers[0], &wholes[0], a);
        parse_number(&kinds[1], &numbers[1], &wholes[1], b);
        return kinds[0] == 2 && kinds[1] == 2
                   ? wholes[0] == wholes[1]
                   : kinds[0] && kinds[1] && is_same_number(numbers[0], numbers[1]);
    }
    return 0;
}

static int is_same_json(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b) && !(json_is_integer(a) && json_is_integer(b))) {
        return is_same_number(json_number_value(a), json_number_value(b));
    }
    int same = json_is_array(a) && json_is_array(b) && json_array_size(a) == json_array_size(b);
    for (size_t i = 0; same && i < json_array_size(a); i++) {
        same = is_same_json(json_array_get(a, i), json_array_get(b, i));
    }
    return same || json_equal(a, b);
}

/* KEY=VALUE with values as JSON, or as the text that they are where they are none. */
static int is_same_pair(const char *a, const char *b)
{
    size_t length = strcspn(a, "=") + 1;
    if (strncmp(a, b, length) != 0) {
        return 0;
    }
    if (strcmp(a, b) == 0) {
        return 1;
    }
    json_t *values[] = {NULL, NULL};
    clf__json_word(&values[0], a + length); /* without memory they count as two */
    clf__json_word(&values[1], b + length);
    int same = values[0] && values[1] ? is_same_json(values[0], values[1]) : 0;
    json_decref(values[0]);
    json_decref(values[1]);
    return same;
}

static const char *find_pair(struct clf__texts texts, const char *pair)
{
    size_t length = strcspn(pair, "=") + 1;
    for (int i = 0; i < texts.count; i++) {
        if (strncmp(texts.items[i], pair, length) == 0) {
            return texts.items[i];
        }
    }
    return NULL;
}

/* Where two choices differ: a word of each, NULL where one has none there. */
struct difference {
    const char *now, *then;
};

static int find_pair_difference(struct difference *out, struct clf__texts now, struct clf__texts then)
{
    for (int i = 0; i < now.count; i++) {
        *out = (struct difference){now.items[i], find_pair(then, now.items[i])};
        if (!out->then || !is_same_pair(out->now, out->then)) {
            return 1;
        }
    }
    for (int i = 0; i < then.count; i++) {
        *out = (struct difference){find_pair(now, then.items[i]), then.items[i]};
        if (!out->now) {
            return 1;
        }
    }
    return 0;
}

static int find_difference(struct difference *out, const struct clf__recipe_entry *entry,
                           struct clf__texts now, struct clf__texts then)
{
    if (entry->kind == CLF__PAIRS) {
        return find_pair_difference(out, now, then);
    }
    for (int i = 0; i < now.count || i < then.count; i++) {
        *out =
            (struct difference){i < now.count ? now.items[i] : NULL, i < then.count ? then.items[i] : NULL};
        if (!out->now || !out->then || !is_same_word(entry, out->now, out->then)) {
            return 1;
        }
    }
    return 0;
}

clf_status clf__recipe_check_same(const struct clf_recipe *recipe, const struct clf_recipe *begun,
                                  const char *folder)
{
    int count;
    const struct clf_recipe_key *keys = clf_recipe_keys(&count);
    for (int i = 0; i < count; i++) {
        struct clf__texts now = clf__recipe_words(recipe, i), then = clf__recipe_words(begun, i);
        struct difference found;
        if (!may_change(recipe, i) && find_difference(&found, clf__recipe_entry(i), now, then)) {
            return clf__fail(
                CLF_BAD_ARGUMENT, "%s: is %.200s, but %s was begun with %.200s; take that, or another folder",
                keys[i].name, found.now ? found.now : "not chosen", folder, found.then ? found.then : "none");
        }
    }
    return CLF_OK;
}

static int is_other_than_default(const struct clf_recipe *recipe, const char *name)
{
    int index = clf__recipe_find(name);
    struct difference found;
    return find_difference(&found, clf__recipe_entry(index), clf__recipe_words(recipe, index),
                           clf__recipe_default(recipe, index));
}

clf_status clf__recipe_check_used(const struct clf__settings *settings, const struct clf_recipe *recipe)
{
    int is_noam = settings->schedule == CLF__NOAM, is_validated = settings->valid.count > 0;
    int is_given = settings->source_vocabulary || settings->target_vocabulary;
    const struct {
        const char *name, *reason;
        int has_effect;
    } choices[] = {
        {"learning-rate", "not with schedule noam, whose rate noam-factor scales", !is_noam},
        {"initial-learning-rate", "not with schedule noam", !is_noam},
        {"noam-factor", "with schedule noam alone", is_noam},
        {"vocabulary", "only where no source-vocabulary or target-vocabulary is given", !is_given},
        {"validate-every", "with valid alone", is_validated},
        {"patience", "with valid alone", is_validated},
    };
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        if (!choices[i].has_effect && is_other_than_default(recipe, choices[i].name)) {
            return clf__fail(CLF_BAD_ARGUMENT, "%s: has an effect %s; leave it out", choices[i].name,
                             choices[i].reason);
        }
    }
    return CLF_OK;
}
