/* Compares two recipes, or a recipe with the defaults. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "train/recipe.h"

/* Returns whether a resumed run may change a choice. "max-updates" may not change with the linear schedule,
 * because it determines every learning rate. */
static int may_change(const struct clf_recipe *recipe, int index)
{
    int is_linear = strcmp(clf__recipe_words(recipe, clf__recipe_find("schedule")).items[0], "linear") == 0;
    return clf__recipe_entry(index)->change == CLF__CHANGE_FREE &&
           !(is_linear && index == clf__recipe_find("max-updates"));
}

/* Compares numbers at the precision of recipe.json, which stores integers exactly. */
static int is_same_number(double a, double b)
{
    return fabs(a - b) <= 1e-14 * fabs(a);
}

/* Returns whether two spellings denote the same value. */
static int is_same_word(const struct clf__recipe_entry *entry, const char *a, const char *b)
{
    double numbers[2];
    int64_t wholes[2];
    if (strcmp(a, b) == 0) {
        return 1; /* equal words need no parsing, which could run out of memory */
    }
    if (entry->kind == CLF__NUMBER || entry->kind == CLF__WHOLE_NUMBER) {
        int kinds[2] = {0};
        clf__recipe_parse_number(&kinds[0], &numbers[0], &wholes[0], a);
        clf__recipe_parse_number(&kinds[1], &numbers[1], &wholes[1], b);
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

/* Compares two KEY=VALUE pairs: values as JSON, or as text if they are not JSON. */
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
    clf__json_word(&values[0],
                   a + length); /* values that cannot be parsed for lack of memory count as different */
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

/* The first difference between two choices: one word of each, NULL if a choice has no word there. */
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
                CLF_BAD_ARGUMENT,
                "%s: is %.200s, but %s was started with %.200s; use that value or another folder",
                keys[i].name, found.now ? found.now : "not set", folder, found.then ? found.then : "none");
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
        {"learning-rate", "with schedule noam, whose rate noam-factor scales", !is_noam},
        {"initial-learning-rate", "with schedule noam", !is_noam},
        {"noam-factor", "without schedule noam", is_noam},
        {"vocabulary", "with a source-vocabulary or target-vocabulary", !is_given},
        {"reduce-precision", "without micro-batches", settings->micro_batches > 1},
        {"validate-every", "without valid", is_validated},
        {"patience", "without valid", is_validated},
    };
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        if (!choices[i].has_effect && is_other_than_default(recipe, choices[i].name)) {
            return clf__fail(CLF_BAD_ARGUMENT, "%s: has no effect %s; remove it", choices[i].name,
                             choices[i].reason);
        }
    }
    return CLF_OK;
}
