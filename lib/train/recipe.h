/* The choices of a recipe as values, and the table that defines them. */
#ifndef CLF_TRAIN_RECIPE_H
#define CLF_TRAIN_RECIPE_H

#include <stddef.h>
#include <stdint.h>

#include <clformer/recipe.h>

#include "base/status.h"

/* Words of choices, in the order of `value` in recipe_table.h. */
enum clf__size { CLF__SIZE_TINY, CLF__SIZE_SMALL, CLF__SIZE_BASE, CLF__SIZE_BIG };
enum clf__loss { CLF__LOSS_CROSS_ENTROPY, CLF__LOSS_KL };
enum clf__normalize { CLF__NORMALIZE_LABELS, CLF__NORMALIZE_NONE };
enum clf__optimizer { CLF__ADAM, CLF__ADAMW };
enum clf__schedule_kind { CLF__NOAM, CLF__INVERSE_SQRT, CLF__LINEAR, CLF__CONSTANT };
enum clf__training_precision { CLF__TRAINING_FP32, CLF__TRAINING_BF16 };
enum clf__best { CLF__BEST_LOSS, CLF__BEST_BLEU };
enum clf__bleu_choice { CLF__BLEU_13A, CLF__BLEU_SPACES, CLF__BLEU_NONE };

struct clf__texts {
    const char *const *items;
    int count;
};

/* All choices of the table as values: integers are int64_t, numbers double, words and switches int, texts
 * borrowed from the recipe (NULL: none). */
struct clf__settings {
    int preset, size; /* enum clf__architecture_id, enum clf__size */
    struct clf__texts config;
    const char *from;
    struct clf__texts train, valid;
    int tokens;
    int64_t vocabulary;
    int separate_vocabularies;
    const char *source_vocabulary, *target_vocabulary;
    const char *source_language, *target_language;
    int64_t max_source_length, max_target_length;
    int64_t seed, batch_tokens, max_pairs, accumulate, micro_batches;
    int fast_reduce, reduce_precision, shard_optimizer;
    int count_padding;
    int loss, normalize;
    double label_smoothing;
    int optimizer;
    double beta1, beta2, epsilon, decay, clip_norm;
    int precision;
    int64_t bad_updates;
    int schedule;
    double learning_rate, initial_learning_rate, noam_factor;
    int64_t warm_up, max_updates, max_epochs;
    double minutes;
    int best;
    int64_t save_every, validate_every, patience, keep_best, keep_last, average;
    int64_t beam;
    double length_penalty;
    int bleu, lower_case;
    const char *joiner;
    int64_t samples;
};

enum clf__recipe_kind {
    CLF__TEXT,
    CLF__TEXTS, /* one or two texts */
    CLF__WHOLE_NUMBER,
    CLF__NUMBER,
    CLF__WORD, /* one of the words in `value`, which are separated by "|" */
    CLF__SWITCH,
    CLF__PAIRS, /* KEY=VALUE, any number of them */
};

/* When a choice may change after the start of a run. */
enum clf__recipe_change {
    CLF__CHANGE_NEVER,
    CLF__CHANGE_OF_MODEL, /* never; not allowed with `from`, whose folder determines the value */
    CLF__CHANGE_FREE      /* a resumed run may change it */
};

/* One row of the table. */
struct clf__recipe_entry {
    double low, high;     /* range of a number */
    const char *fallback; /* default, or NULL; defaults of the architecture and exceptions take precedence */
    size_t field;         /* offset in struct clf__settings */
    enum clf__recipe_kind kind;
    enum clf__recipe_change change;
};

/* Entry i belongs to key i of clf_recipe_keys(). */
const struct clf__recipe_entry *clf__recipe_entry(int index);
/* Returns the index of a key, or -1. */
int clf__recipe_find(const char *name);

/* The default of a key if the choice `when` has the value `is`. Defaults of a preset are in `recipe` of its
 * architecture. */
struct clf__recipe_exception {
    const char *when, *is;
    const char *key, *fallback;
};
const struct clf__recipe_exception *clf__recipe_exceptions(int *count);

/* Returns the words of choice i, either chosen or default; none if it has no value. Borrowed from the recipe.
 */
struct clf__texts clf__recipe_words(const struct clf_recipe *recipe, int index);

/* Returns the default words of choice i. */
struct clf__texts clf__recipe_default(const struct clf_recipe *recipe, int index);

int clf__recipe_is_chosen(const struct clf_recipe *recipe, const char *name);

/* Returns CLF_BAD_ARGUMENT naming a choice that conflicts with `from`. */
clf_status clf__recipe_check_from(const struct clf_recipe *recipe, const struct clf__texts *config);
/* Returns whether the folder of `from`, rather than the recipe, determines choice i. */
int clf__recipe_is_from(const struct clf_recipe *recipe, int index);
/* Chooses the preset of the model in the folder of `from`; returns CLF_BAD_ARGUMENT if another was chosen. */
clf_status clf__recipe_take_preset(struct clf_recipe *recipe);
/* Chooses the preset of a resumed run from its recipe.json, because the folder of `from` may be gone or
 * changed. */
clf_status clf__recipe_take_preset_begun(struct clf_recipe *recipe, const char *path);

/* Converts all choices to values; returns CLF_BAD_ARGUMENT naming choices that contradict each other. */
clf_status clf__recipe_settings(struct clf__settings *out, const struct clf_recipe *recipe);

/* Returns CLF_BAD_ARGUMENT naming a choice that has no effect with the other choices. Choosing the default,
 * as every recipe.json does, is permitted. */
clf_status clf__recipe_check_used(const struct clf__settings *settings, const struct clf_recipe *recipe);

/* Fails, naming the first key, if the run in `folder`, started with `begun`, cannot be resumed with
 * `recipe`. */
clf_status clf__recipe_check_same(const struct clf_recipe *recipe, const struct clf_recipe *begun,
                                  const char *folder);

/* Parses a single word into the value of its kind, as in clf__settings; not for CLF__TEXTS and CLF__PAIRS. */
clf_status clf__recipe_parse(void *out, int index, const char *word);
/* Parses a JSON number, the same in every locale: *kind is 0 if it is not a number, 2 if it is whole. */
clf_status clf__recipe_parse_number(int *kind, double *out, int64_t *whole, const char *word);

/* Checks the words for choice i. `config` pairs are KEY=VALUE with a key of config.json. */
clf_status clf__recipe_check(int index, const char *const *words, int count);

/* Replaces the words of choice i with copies, without checks; a `config` pair replaces the pair with the same
 * key. */
clf_status clf__recipe_take(struct clf_recipe *recipe, int index, const char *const *words, int count);
clf_status clf__recipe_copy(struct clf_recipe **out, const struct clf_recipe *recipe);
/* Exchanges the contents of two recipes. */
void clf__recipe_swap(struct clf_recipe *a, struct clf_recipe *b);

#endif
