/* The table of choices, used to set, load and write recipes and for the command's help. */
#include <string.h>

#include "model/config/architectures/architecture.h"
#include "search/types.h"
#include "text/tokenizers/vocabulary.h"
#include "train/recipe.h"

/* Groups of the help text. The rows of a group are adjacent. */
#define MODEL      "model"
#define DATA       "data"
#define BATCHES    "batches"
#define OPTIMIZER  "loss and optimizer"
#define SCHEDULE   "schedule"
#define VALIDATION "validation and checkpoints"

/* Bounds of numbers. */
#define MANY 2147483647
#define FEW  1000000
#define WIDE 1e15

/* Smaller values would make Adam's step 0 / 0 or unbounded, because squares of small gradients underflow to 0
 * in fp32. */
#define LEAST_EPSILON 1e-18

/* The words of the presets, separated by "|", in the order of enum clf__architecture_id. */
#define PRESET(name, word) "|" #word
#define PRESETS            (&CLF__PRESET_LIST(PRESET)[1])

#define FIXED    CLF__CHANGE_NEVER
#define OF_MODEL CLF__CHANGE_OF_MODEL
#define FREE     CLF__CHANGE_FREE

static const struct clf_recipe_key keys[] = {
#define KEY(kind, name, value, group, field, low, high, fallback, change, meaning)                           \
    {name, value, group, meaning},
#include "train/recipe_table.h"
#undef KEY
};

static const struct clf__recipe_entry entries[] = {
#define KEY(kind, name, value, group, field, low, high, fallback, change, meaning)                           \
    {low, high, fallback, offsetof(struct clf__settings, field), kind, change},
#include "train/recipe_table.h"
#undef KEY
};
enum { KEY_COUNT = sizeof keys / sizeof *keys };

static const struct clf__recipe_exception exceptions[] = {
    {"tokens", "true", "vocabulary", "0"},
    {"tokens", "true", "bleu", "spaces"},
    {"bleu", "none", "best", "loss"},
};

const struct clf_recipe_key *clf_recipe_keys(int *count)
{
    *count = KEY_COUNT;
    return keys;
}

const struct clf__recipe_entry *clf__recipe_entry(int index)
{
    return &entries[index];
}

const struct clf__recipe_exception *clf__recipe_exceptions(int *count)
{
    *count = sizeof exceptions / sizeof *exceptions;
    return exceptions;
}

int clf__recipe_find(const char *name)
{
    for (int i = 0; i < KEY_COUNT; i++) {
        if (strcmp(keys[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}
