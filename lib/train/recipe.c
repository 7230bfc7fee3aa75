/* A recipe: the words of each choice, as the caller passed them. */
#include "train/recipe.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/config/architectures/architecture.h"

struct clf_recipe {
    struct clf__names *choices; /* (key_count) words of each choice; none: the default applies */
    int key_count;
};

clf_status clf_recipe_create(struct clf_recipe **out)
{
    *out = NULL;
    struct clf_recipe *recipe = NULL;
    CLF__TRY(clf__allocate(&recipe, 1, sizeof *recipe));
    clf_recipe_keys(&recipe->key_count);
    clf_status status = clf__allocate(&recipe->choices, (size_t)recipe->key_count, sizeof *recipe->choices);
    if (status != CLF_OK) {
        clf__free(recipe);
        return status;
    }
    *out = recipe;
    return CLF_OK;
}

void clf_recipe_free(struct clf_recipe *recipe)
{
    if (recipe) {
        for (int i = 0; i < recipe->key_count; i++) {
            clf__names_free(&recipe->choices[i]);
        }
        clf__free(recipe->choices);
        clf__free(recipe);
    }
}

clf_status clf__recipe_copy(struct clf_recipe **out, const struct clf_recipe *recipe)
{
    struct clf_recipe *copy;
    CLF__TRY(clf_recipe_create(&copy));
    clf_status status = CLF_OK;
    for (int i = 0; i < recipe->key_count && status == CLF_OK; i++) {
        const struct clf__names *choice = &recipe->choices[i];
        for (int j = 0; j < choice->count && status == CLF_OK; j++) {
            status = clf__names_add(&copy->choices[i], choice->items[j]);
        }
    }
    if (status != CLF_OK) {
        clf_recipe_free(copy);
        copy = NULL;
    }
    *out = copy;
    return status;
}

void clf__recipe_swap(struct clf_recipe *a, struct clf_recipe *b)
{
    struct clf_recipe held = *a;
    *a = *b;
    *b = held;
}

/* Removes the pair with the same KEY as the word. */
static void remove_pair(struct clf__names *choice, const char *word)
{
    size_t length = strcspn(word, "=");
    for (int i = 0; i < choice->count; i++) {
        if (strcspn(choice->items[i], "=") == length && strncmp(choice->items[i], word, length) == 0) {
            clf__free(choice->items[i]);
            choice->count--;
            memmove(choice->items + i, choice->items + i + 1,
                    (size_t)(choice->count - i) * sizeof *choice->items);
            return;
        }
    }
}

clf_status clf__recipe_take(struct clf_recipe *recipe, int index, const char *const *words, int count)
{
    struct clf__names taken = {0};
    struct clf__names *choice = &recipe->choices[index];
    clf_status status = CLF_OK;
    int is_pairs = clf__recipe_entry(index)->kind == CLF__PAIRS;
    for (int i = 0; is_pairs && i < choice->count && status == CLF_OK; i++) {
        status = clf__names_add(&taken, choice->items[i]);
    }
    for (int i = 0; i < count && status == CLF_OK; i++) {
        if (is_pairs) {
            remove_pair(&taken, words[i]);
        }
        status = clf__names_add(&taken, words[i]);
    }
    if (status != CLF_OK) {
        clf__names_free(&taken);
        return status;
    }
    clf__names_free(choice);
    *choice = taken;
    return CLF_OK;
}

clf_status clf_recipe_set(struct clf_recipe *recipe, const char *name, const char *const *values, int count)
{
    static const char *const on[] = {"true"};
    if (name == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "recipe: the name of the setting is NULL");
    }
    int index = clf__recipe_find(name);
    if (index < 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "recipe: unknown setting \"%.64s\"", name);
    }
    for (int i = 0; i < count; i++) {
        if (values == NULL || values[i] == NULL) {
            return clf__fail(CLF_BAD_ARGUMENT, "%s: value %d of %d is NULL", name, i + 1, count);
        }
    }
    if (clf__recipe_entry(index)->kind == CLF__SWITCH && count == 0) {
        values = on;
        count = 1;
    }
    CLF__TRY(clf__recipe_check(index, values, count));
    return clf__recipe_take(recipe, index, values, count);
}

static int is_set_to(const struct clf_recipe *recipe, const char *name, const char *value)
{
    struct clf__texts words = clf__recipe_words(recipe, clf__recipe_find(name));
    return words.count == 1 && strcmp(words.items[0], value) == 0;
}

struct clf__texts clf__recipe_words(const struct clf_recipe *recipe, int index)
{
    const struct clf__names *choice = &recipe->choices[index];
    return choice->count > 0 ? (struct clf__texts){(const char *const *)choice->items, choice->count}
                             : clf__recipe_default(recipe, index);
}

/* Returns the default of this key in the preset's architecture, or NULL. The key "preset" has one default. */
static const char *const *find_architecture_default(const struct clf_recipe *recipe, const char *name)
{
    enum clf__architecture_id id;
    if (strcmp(name, "preset") == 0 ||
        !clf__architecture_find(&id, clf__recipe_words(recipe, clf__recipe_find("preset")).items[0])) {
        return NULL;
    }
    const struct clf__architecture_default *at = clf__architecture_of(id)->recipe;
    while (at->key != NULL && strcmp(at->key, name) != 0) {
        at++;
    }
    return at->key != NULL ? &at->fallback : NULL;
}

struct clf__texts clf__recipe_default(const struct clf_recipe *recipe, int index)
{
    int key_count, exception_count;
    const char *name = clf_recipe_keys(&key_count)[index].name;
    const char *const *own = find_architecture_default(recipe, name);
    if (own != NULL) {
        return (struct clf__texts){own, 1};
    }
    const struct clf__recipe_exception *exceptions = clf__recipe_exceptions(&exception_count);
    for (int i = 0; i < exception_count; i++) {
        if (strcmp(exceptions[i].key, name) == 0 && is_set_to(recipe, exceptions[i].when, exceptions[i].is)) {
            return (struct clf__texts){&exceptions[i].fallback, 1};
        }
    }
    const struct clf__recipe_entry *entry = clf__recipe_entry(index);
    return (struct clf__texts){&entry->fallback, entry->fallback != NULL};
}

int clf__recipe_is_chosen(const struct clf_recipe *recipe, const char *name)
{
    return recipe->choices[clf__recipe_find(name)].count > 0;
}

int clf__recipe_is_from(const struct clf_recipe *recipe, int index)
{
    return clf__recipe_entry(index)->change == CLF__CHANGE_OF_MODEL &&
           clf__recipe_is_chosen(recipe, "from") && recipe->choices[index].count == 0;
}
