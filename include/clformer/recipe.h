/* How to train a model: every choice by name, read from and written to JSON. */
#ifndef CLFORMER_RECIPE_H
#define CLFORMER_RECIPE_H

#include <clformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct clf_recipe;

/* One choice; strings are static. */
struct clf_recipe_key {
    const char *name;    /* "batch-tokens": a flag of `clformer train` and a key of the file */
    const char *value;   /* what it takes, for help: "N", "FILE [FILE]", "fp32|bf16"; NULL: a switch */
    const char *group;   /* under which heading help shows it: "data", "model", "optimizer", ... */
    const char *meaning; /* one sentence, with the default */
};

/** Every choice there is; borrowed. */
const struct clf_recipe_key *clf_recipe_keys(int *count);

/**
 * A recipe with nothing chosen: each choice has the default of the preset, or one of its own.
 *
 * @param out receives it; free it with clf_recipe_free().
 */
clf_status clf_recipe_create(struct clf_recipe **out);

/**
 * Makes the choices of a JSON file; they replace those already made.
 *
 * @return CLF_FILE or CLF_FORMAT, naming file and key, CLF_BAD_ARGUMENT for a path of NULL; then no choice is
 * made.
 */
clf_status clf_recipe_load(struct clf_recipe *recipe, const char *path);

/**
 * Makes one choice.
 *
 * @param name   of clf_recipe_keys().
 * @param values its `count` words. `config` takes KEY=VALUE and can be set several times; a switch takes no
 * word (then NULL will do), or "true" or "false".
 * @return CLF_BAD_ARGUMENT, naming key, value and what it can be; also for a name or word that is NULL.
 */
clf_status clf_recipe_set(struct clf_recipe *recipe, const char *name, const char *const *values, int count);

/**
 * Writes every choice with the value that it has, defaults included, as JSON that clf_recipe_load() reads.
 * Where `from` is chosen, those that its folder decides are left out.
 *
 * @return CLF_FILE where it cannot be written; CLF_BAD_ARGUMENT for a path of NULL; CLF_OUT_OF_MEMORY, also
 * for a value that is not UTF-8.
 */
clf_status clf_recipe_write(const struct clf_recipe *recipe, const char *path);

/** Frees a recipe; NULL is ignored. */
void clf_recipe_free(struct clf_recipe *recipe);

#ifdef __cplusplus
}
#endif
#endif
