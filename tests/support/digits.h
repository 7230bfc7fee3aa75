/* A task that a small model learns: strings of digits, to be written backwards. */
#ifndef CLF_TESTS_SUPPORT_DIGITS_H
#define CLF_TESTS_SUPPORT_DIGITS_H

#include <clformer/train.h>

#include "support/support.h"

/* Writes <folder>/<name>.source and <name>.target: `lines` strings of 1 to `longest` digits with spaces
 * between, and the same backwards. */
void digits_write(const char *folder, const char *name, int lines, int longest, uint64_t seed);

/* A recipe that trains a very small model on <folder>/train.*, with fixed choices all else follows from;
 * freed with clf_recipe_free(). */
struct clf_recipe *digits_recipe(const char *folder);

/* clf_recipe_set() of one value, which must be right. */
void digits_set(struct clf_recipe *recipe, const char *name, const char *value);

/* What a run said; a clf_train_hooks of it with digits_hooks(). */
enum { DIGITS_UPDATES = 4096, DIGITS_VALIDATIONS = 256 };
struct digits_log {
    struct clf_train_start start;
    struct clf_train_update updates[DIGITS_UPDATES]; /* in the order in which they came */
    int count;
    struct clf_train_validation validations[DIGITS_VALIDATIONS];
    int validation_count;
    int interrupt_after; /* updates; 0: never */
};
struct clf_train_hooks digits_hooks(struct digits_log *log);

#endif
