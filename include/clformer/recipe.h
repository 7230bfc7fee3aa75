/* Training recipes: all training options by name, read from and written to JSON. */
#ifndef CLFORMER_RECIPE_H
#define CLFORMER_RECIPE_H

#include <clformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct clf_recipe; /* a set of training options; one thread at a time may use it */

/* One option; the strings are static. */
struct clf_recipe_key {
    const char *name; /* "batch-tokens": a flag of `clformer train` and a key of the file */
    const char
        *value; /* type of the value, for help texts: "N", "FILE [FILE]", "fp32|bf16"; NULL for a switch */
    const char *group;   /* heading of the option in help texts: "data", "model", "optimizer", ... */
    const char *meaning; /* one sentence, including the default */
};

/** Returns the static list of all options and sets *count to the length of the list. */
CLF_API const struct clf_recipe_key *clf_recipe_keys(int *count);

/**
 * Creates a recipe in which every option has its default (a preset's defaults if a preset is set).
 *
 * @param out receives the recipe; free it with clf_recipe_free().
 * @return CLF_OUT_OF_MEMORY.
 */
CLF_API clf_status clf_recipe_create(struct clf_recipe **out);

/**
 * Sets the options of a JSON file, replacing earlier values.
 *
 * @param recipe the recipe.
 * @param path path of the file.
 * @return CLF_FILE or CLF_FORMAT, naming the file and key; CLF_BAD_ARGUMENT for a NULL path. On failure the
 *         recipe is unchanged.
 */
CLF_API clf_status clf_recipe_load(struct clf_recipe *recipe, const char *path);

/**
 * Sets one option.
 *
 * @param recipe the recipe.
 * @param name one of clf_recipe_keys().
 * @param values (count) words, copied. `config` takes KEY=VALUE and may be set several times; a switch takes
 *     "true", "false" or no word (values may then be NULL).
 * @param count number of words.
 * @return CLF_BAD_ARGUMENT for an unknown name or an invalid value, naming the accepted values, and for a
 *         NULL name or word.
 */
CLF_API clf_status clf_recipe_set(struct clf_recipe *recipe, const char *name, const char *const *values,
                                  int count);

/**
 * Writes every option with its current value, including defaults, as JSON for clf_recipe_load(). If `from` is
 * set, options that this folder determines are omitted.
 *
 * @param recipe the recipe.
 * @param path path of the file to write.
 * @return CLF_FILE if the file cannot be written; CLF_BAD_ARGUMENT for a NULL path; CLF_OUT_OF_MEMORY, also
 *         for a value that is not UTF-8.
 */
CLF_API clf_status clf_recipe_write(const struct clf_recipe *recipe, const char *path);

/** Frees a recipe; NULL is ignored. */
CLF_API void clf_recipe_free(struct clf_recipe *recipe);

#ifdef __cplusplus
}
#endif
#endif
