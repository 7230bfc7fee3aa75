/* Compares a recipe with the original run's: which differences a resumed run accepts. */
#include "train/recipe_choices.h"

#include <stdio.h>

static void test_going_on_with_another_recipe(void **state)
{
    (void)state;
    struct clf_recipe *begun;
    assert_ok(set("train", "t"));
    assert_ok(clf__recipe_copy(&begun, recipe));
    assert_ok(set("max-updates", "7"));
    assert_ok(set("keep-last", "7"));
    assert_ok(clf__recipe_check_same(recipe, begun, "out"));
    assert_ok(set("epsilon", "0.000000001"));
    assert_ok(clf__recipe_check_same(recipe, begun, "out"));
    assert_ok(set("epsilon", "0.00000001"));
    assert_fails(clf__recipe_check_same(recipe, begun, "out"), CLF_BAD_ARGUMENT,
                 "epsilon: is 0.00000001, but out was started with 1e-9");
    clf_recipe_free(begun);
    /* The end of a linear schedule is part of it. */
    assert_ok(set("schedule", "linear"));
    assert_ok(set("warm-up", "2"));
    assert_ok(clf__recipe_copy(&begun, recipe));
    assert_ok(set("max-updates", "8"));
    assert_fails(clf__recipe_check_same(recipe, begun, "out"), CLF_BAD_ARGUMENT, "max-updates: is 8");
    clf_recipe_free(begun);
}

/* Values may be spelled differently: recipe.json stores them as JSON. */
static void test_the_same_values_in_other_words(void **state)
{
    (void)state;
    static const char *const pairs[][3] = {
        {"dropout=0.30", "dropout=0.3", "dropout=0.31"},
        {"d_model=123456789012345678", "d_model=123456789012345678", "d_model=123456789012345679"},
        {"dropout=1.0", "dropout=1", "dropout=2"},
        {"layer_norm_eps=1e-05", "layer_norm_eps=0.00001", "layer_norm_eps=1e-6"},
        {"bad_words_ids=[[1, 2]]", "bad_words_ids=[[1,2]]", "bad_words_ids=[[1,3]]"},
        {"activation_function=gelu", "activation_function=gelu", "activation_function=relu"},
    };
    char path[256];
    snprintf(path, sizeof path, "%s/recipe.json", support_temporary_folder());
    assert_ok(set("train", "t"));
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        assert_ok(set("config", pairs[i][0]));
        assert_ok(clf_recipe_write(recipe, path));
        struct clf_recipe *begun;
        assert_ok(clf_recipe_create(&begun));
        assert_ok(clf_recipe_load(begun, path));
        assert_ok(clf__recipe_check_same(recipe, begun, "out"));
        assert_ok(set("config", pairs[i][1]));
        assert_ok(clf__recipe_check_same(recipe, begun, "out"));
        assert_ok(set("config", pairs[i][2]));
        assert_fails(clf__recipe_check_same(recipe, begun, "out"), CLF_BAD_ARGUMENT, "config");
        clf_recipe_free(begun);
    }
}

/* Seeds are compared exactly, however small the difference. */
static void test_whole_numbers_are_compared_exactly(void **state)
{
    (void)state;
    struct clf_recipe *begun;
    char path[256];
    snprintf(path, sizeof path, "%s/recipe.json", support_temporary_folder());
    assert_ok(set("train", "t"));
    assert_ok(set("seed", "123456789012345"));
    assert_ok(clf_recipe_write(recipe, path));
    assert_ok(clf_recipe_create(&begun));
    assert_ok(clf_recipe_load(begun, path));
    assert_ok(clf__recipe_check_same(recipe, begun, "out"));
    assert_ok(set("seed", "123456789012346"));
    assert_fails(clf__recipe_check_same(recipe, begun, "out"), CLF_BAD_ARGUMENT,
                 "seed: is 123456789012346, but out was started with 123456789012345");
    clf_recipe_free(begun);
}

/* The differing value is named, not the first of its choice. */
static void test_the_difference_is_named(void **state)
{
    (void)state;
    const char *const files[][2] = {{"a", "b"}, {"a", "c"}};
    struct clf_recipe *begun;
    assert_ok(clf_recipe_set(recipe, "train", files[0], 2));
    assert_ok(set("config", "encoder_layers=1"));
    assert_ok(set("config", "dropout=0.3"));
    assert_ok(clf__recipe_copy(&begun, recipe));
    assert_ok(set("config", "dropout=0.4"));
    assert_fails(clf__recipe_check_same(recipe, begun, "out"), CLF_BAD_ARGUMENT,
                 "config: is dropout=0.4, but out was started with dropout=0.3");
    assert_ok(set("config", "dropout=0.3"));
    assert_ok(set("config", "d_model=8"));
    assert_fails(clf__recipe_check_same(recipe, begun, "out"), CLF_BAD_ARGUMENT,
                 "config: is d_model=8, but out was started with none");
    assert_fails(clf__recipe_check_same(begun, recipe, "out"), CLF_BAD_ARGUMENT,
                 "config: is not set, but out was started with d_model=8");
    assert_ok(clf_recipe_set(recipe, "train", files[1], 2));
    clf_recipe_free(begun);
    assert_ok(clf__recipe_copy(&begun, recipe));
    assert_ok(clf_recipe_set(recipe, "train", files[0], 2));
    assert_fails(clf__recipe_check_same(recipe, begun, "out"), CLF_BAD_ARGUMENT,
                 "train: is b, but out was started with c");
    clf_recipe_free(begun);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_going_on_with_another_recipe),
        TEST(test_the_same_values_in_other_words),
        TEST(test_whole_numbers_are_compared_exactly),
        TEST(test_the_difference_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
