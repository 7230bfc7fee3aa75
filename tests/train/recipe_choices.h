/* A new recipe for each test, and functions to set its choices. */
#ifndef CLF_TESTS_TRAIN_RECIPE_CHOICES_H
#define CLF_TESTS_TRAIN_RECIPE_CHOICES_H

#include "support/support.h"

#include "train/recipe.h"

static struct clf_recipe *recipe;

static inline int create(void **state)
{
    (void)state;
    assert_ok(clf_recipe_create(&recipe));
    return 0;
}

static inline int destroy(void **state)
{
    clf_recipe_free(recipe);
    recipe = NULL;
    return support_teardown(state);
}

static inline clf_status set(const char *name, const char *value)
{
    return clf_recipe_set(recipe, name, &value, 1);
}

/* A test with a separate recipe. */
#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)

#endif
