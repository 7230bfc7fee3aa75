/* A task for small models: reversing strings of digits. */
#ifndef CLF_TESTS_SUPPORT_DIGITS_H
#define CLF_TESTS_SUPPORT_DIGITS_H

#include <clformer/train.h>

#include "support/support.h"

/* Writes <folder>/<name>.source and <name>.target: `lines` strings of 1 to `longest` digits separated by
 * spaces, and their reversals. */
void digits_write(const char *folder, const char *name, int lines, int longest, uint64_t seed);

/* Returns a recipe for a very small model on <folder>/train.*, with fixed choices; freed with
 * clf_recipe_free(). */
struct clf_recipe *digits_recipe(const char *folder);

/* Calls clf_recipe_set() with a valid value. */
void digits_set(struct clf_recipe *recipe, const char *name, const char *value);

/* The callbacks of a run, recorded; clf_train_hooks from digits_hooks(). */
enum { DIGITS_UPDATES = 4096, DIGITS_VALIDATIONS = 256 };
struct digits_log {
    struct clf_train_start start;
    struct clf_train_update updates[DIGITS_UPDATES]; /* in order of arrival */
    int count;
    struct clf_train_validation validations[DIGITS_VALIDATIONS];
    int validation_count;
    int interrupt_after; /* updates; 0: never. Applies to one run */
};
struct clf_train_hooks digits_hooks(struct digits_log *log);

/* A separate task for each test, for cmocka's setup and teardown: data (with valid.*), a recipe of twelve
 * updates with four per checkpoint and six per validation, two empty logs, no warnings. */
struct digits_task {
    const char *data;
    struct clf_recipe *recipe;
    struct digits_log *logs; /* two logs */
    char warnings[4096];     /* all logged warnings */
    char notices[4096];      /* all logged notices */
};
extern struct digits_task task;
int digits_setup(void **state);
int digits_teardown(void **state);

/* Returns a device with native GEMM, whose sums have a fixed order. */
struct clf_device *digits_device(void);
/* Returns an unused path; freed by support_free_all(). */
const char *digits_output(void);
/* Calls clf_train() with the task's recipe and an empty log. */
clf_status digits_train(const char *output, struct digits_log *log);

int digits_has_file(const char *folder, const char *name);
int digits_has_checkpoint(const char *output, int update);
/* Fails unless the updates of `log` from `first` on equal the updates of `whole` bit for bit. */
void digits_assert_same_updates(const struct digits_log *log, const struct digits_log *whole, int first);

#endif
