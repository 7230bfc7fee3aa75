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
    int interrupt_after; /* updates; 0: never. Holds for one run */
};
struct clf_train_hooks digits_hooks(struct digits_log *log);

/* A task of its own for each test, as cmocka's setup and teardown: data (valid.* too), a recipe of twelve
 * updates with four to a checkpoint and six to a validation, two empty logs, no warnings yet. */
struct digits_task {
    const char *data;
    struct clf_recipe *recipe;
    struct digits_log *logs; /* two of them */
    char warnings[4096];     /* all that were logged */
    char notices[4096];      /* likewise */
};
extern struct digits_task task;
int digits_setup(void **state);
int digits_teardown(void **state);

/* The native provider, whose sums have one order. */
struct clf_device *digits_device(void);
/* A path where nothing is yet; freed by support_free_all(). */
const char *digits_output(void);
/* clf_train() with the task's recipe; the log begins anew. */
clf_status digits_train(const char *output, struct digits_log *log);

int digits_has_file(const char *folder, const char *name);
int digits_has_checkpoint(const char *output, int update);
/* The updates of `log` from `first` on are those of `whole`, to the last bit. */
void digits_assert_same_updates(const struct digits_log *log, const struct digits_log *whole, int first);

#endif
