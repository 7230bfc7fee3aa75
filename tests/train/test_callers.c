/* Errors that only C callers can make: NULL pointers. */
#include <clformer/clformer.h>

#include "support/support.h"

static void test_bleu(void **state)
{
    (void)state;
    static const char *const lines[] = {"a", "b"}, *const gap[] = {"a", NULL};
    struct clf_bleu bleu;
    assert_fails(clf_bleu_corpus(&bleu, NULL, NULL, 1, CLF_BLEU_13A, 0), CLF_BAD_ARGUMENT,
                 "line 1 of the hypotheses is NULL");
    assert_fails(clf_bleu_corpus(&bleu, lines, NULL, 1, CLF_BLEU_13A, 0), CLF_BAD_ARGUMENT,
                 "line 1 of the references is NULL");
    assert_fails(clf_bleu_corpus(&bleu, gap, lines, 2, CLF_BLEU_13A, 0), CLF_BAD_ARGUMENT,
                 "line 2 of the hypotheses is NULL");
    assert_fails(clf_bleu_corpus(&bleu, lines, gap, 2, CLF_BLEU_13A, 0), CLF_BAD_ARGUMENT,
                 "line 2 of the references is NULL");
    assert_fails(clf_bleu_corpus(&bleu, lines, lines, -1, CLF_BLEU_13A, 0), CLF_BAD_ARGUMENT,
                 "line count -1");
}

static void test_average(void **state)
{
    (void)state;
    const char *const gap[] = {"/nonexistent", NULL};
    assert_fails(clf_average("/nonexistent/mean", NULL, 1, CLF_PRECISION_FP32), CLF_BAD_ARGUMENT,
                 "folder 1 of the 1 to average is NULL");
    assert_fails(clf_average("/nonexistent/mean", gap, 2, CLF_PRECISION_FP32), CLF_BAD_ARGUMENT,
                 "folder 2 of the 2 to average is NULL");
    assert_fails(clf_average("/nonexistent/mean", NULL, 0, CLF_PRECISION_FP32), CLF_BAD_ARGUMENT, "no model");
}

static void test_recipe(void **state)
{
    (void)state;
    const char *const gap[] = {"train.fr", NULL};
    struct clf_recipe *recipe;
    assert_ok(clf_recipe_create(&recipe));
    assert_fails(clf_recipe_set(recipe, NULL, gap, 1), CLF_BAD_ARGUMENT, "is NULL");
    assert_fails(clf_recipe_set(recipe, "seed", NULL, 1), CLF_BAD_ARGUMENT, "seed: value 1 of 1 is NULL");
    assert_fails(clf_recipe_set(recipe, "train", gap, 2), CLF_BAD_ARGUMENT, "train: value 2 of 2 is NULL");
    assert_fails(clf_recipe_set(recipe, "seed", NULL, 0), CLF_BAD_ARGUMENT, "0 values");
    assert_ok(clf_recipe_set(recipe, "tokens", NULL, 0));
    assert_fails(clf_recipe_write(recipe, NULL), CLF_BAD_ARGUMENT, "file is NULL");
    assert_fails(clf_recipe_load(recipe, NULL), CLF_BAD_ARGUMENT, "file is NULL");
    clf_recipe_free(recipe);
}

static void test_train(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    struct clf_recipe *recipe;
    assert_ok(clf_recipe_create(&recipe));
    assert_fails(clf_train(NULL, recipe, "/nonexistent/model", NULL), CLF_BAD_ARGUMENT, "no device");
    assert_fails(clf_train(device, NULL, "/nonexistent/model", NULL), CLF_BAD_ARGUMENT, "no recipe");
    assert_fails(clf_train(device, recipe, NULL, NULL), CLF_BAD_ARGUMENT, "no folder");
    clf_recipe_free(recipe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bleu),
        cmocka_unit_test(test_average),
        cmocka_unit_test(test_recipe),
        cmocka_unit_test_teardown(test_train, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
