/* A task for small models: reversing strings of digits. */
#ifndef CLF_TESTS_SUPPORT_DIGITS_H
#define CLF_TESTS_SUPPORT_DIGITS_H

#include <clformer/train.h>

#include "support/support.h"

/* Writes <folder>/<name>.source and <name>.target: `lines` strings of 1 to `longest` digits separated by
 * spaces, and their reversals. */
void digits_write(const char *folder, const char *name, int lines, int longest, uint64_t seed);

/* Returns a recipe that trains a very small model on <folder>/train.* and validates it on <folder>/valid.*;
 * the caller frees it with clf_recipe_free(). */
struct clf_recipe *digits_recipe(const char *folder);

/* Sets a key of the recipe to one value; the test fails if the value is rejected. */
void digits_set(struct clf_recipe *recipe, const char *name, const char *value);

/* The arguments that the callbacks received during a run. */
enum { DIGITS_UPDATES = 4096, DIGITS_VALIDATIONS = 256 };
struct digits_log {
    struct clf_train_start start;
    struct clf_train_update updates[DIGITS_UPDATES]; /* in order of arrival */
    int count;
    struct clf_train_validation validations[DIGITS_VALIDATIONS];
    int validation_count;
    int interrupt_after; /* number of updates; 0: never. digits_train() resets it */
};
/* Returns callbacks that write to the log. */
struct clf_train_hooks digits_hooks(struct digits_log *log);

/* Data, two empty logs, and a recipe of 12 updates with a checkpoint every 4 and a validation every 6
 * updates. digits_setup() and digits_teardown() create and free them for each test. */
struct digits_task {
    const char *data;
    struct clf_recipe *recipe;
    struct digits_log *logs; /* two */
    char warnings[4096];     /* all logged warnings */
    char notices[4096];      /* all logged notices */
};
extern struct digits_task task;
int digits_setup(void **state);
int digits_teardown(void **state);

/* Returns a device with native GEMM, whose results are bit-identical in every run. */
struct clf_device *digits_device(void);
/* Returns an unused path; freed by support_free_all(). */
const char *digits_output(void);
/* Clears the log, then trains with the recipe of the task. */
clf_status digits_train(const char *output, struct digits_log *log);

int digits_has_file(const char *folder, const char *name);
int digits_has_checkpoint(const char *output, int update);
/* Fails unless the updates of `log` equal, bit for bit, the updates of `whole` starting at number `first`. */
void digits_assert_same_updates(const struct digits_log *log, const struct digits_log *whole, int first);

#endif
