/* Training runs of a few updates: their files, resuming, ending. test_folder.c covers the contents of the
 * folder. */
#include "support/digits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <clformer/model.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/config/config.h"
#include "model/parameters.h"
#include "support/process.h"

static void test_a_run_leaves_a_model(void **state)
{
    (void)state;
    const char *output = digits_output();
    assert_ok(digits_train(output, task.logs));
    assert_int_equal(task.logs->count, 12);
    assert_int_equal(task.logs->start.first_update, 1);
    assert_int_equal(task.logs->start.pairs, 60);
    assert_int_equal(task.logs->start.validation_pairs, 10);
    assert_true(task.logs->start.device_bytes > 0 && task.logs->start.parameters > 0);
    assert_int_equal(task.logs->validation_count, 2);
    assert_int_equal(task.logs->validations[1].update, 12);
    assert_true(task.logs->validations[1].bleu >= 0 && task.logs->validations[1].sample_count == 3);
    assert_true(fabs(task.logs->validations[1].perplexity - exp(task.logs->validations[1].nll)) < 1e-9);
    assert_true(task.logs->updates[11].loss < task.logs->updates[0].loss);
    assert_true(digits_has_file(output, "recipe.json") && digits_has_file(output, "config.json"));
    assert_true(digits_has_file(output, "vocab.json") && digits_has_file(output, "model.safetensors"));
    assert_true(digits_has_checkpoint(output, 12) && digits_has_checkpoint(output, 8) &&
                !digits_has_checkpoint(output, 4));
    /* The folder is a model with the measured loss. */
    struct clf_model *model;
    assert_ok(clf_model_load(&model, digits_device(), output, NULL));
    assert_string_equal(clf_model_describe(model)->architecture, "marian");
    clf_model_free(model);
    assert_string_equal(task.warnings, "");
    /* A repeated call has nothing left to do. */
    assert_ok(digits_train(output, &task.logs[1]));
    assert_int_equal(task.logs[1].count, 0);
    assert_int_equal(task.logs[1].start.first_update, 13);
}

/* The pad token's row is zero, the start of decoding, as in all MarianMT folders: CTranslate2 relies on
 * it. */
static void test_marians_padding_stays_zero(void **state)
{
    (void)state;
    const char *output = digits_output();
    struct clf__config config;
    struct clf__parameters *parameters;
    digits_set(task.recipe, "optimizer", "adamw");
    digits_set(task.recipe, "decay", "0.1");
    assert_ok(digits_train(output, task.logs));
    assert_ok(clf__config_load(&config, output));
    assert_ok(clf__parameters_load(&parameters, &config, output));
    int rows = config.target_vocabulary, columns = config.d_model;
    assert_int_equal(config.pad_id, rows - 1);
    float *values = support_array((size_t)(rows * columns), sizeof *values);
    assert_ok(clf__parameters_read(parameters, "model.shared.weight", values));
    for (int i = 0; i < columns; i++) {
        assert_true(values[(rows - 1) * columns + i] == 0 && values[i] != 0);
    }
    clf__parameters_free(parameters);
    clf__config_free(&config);
}

/* Every n-th allocation of a run fails: an error message, no leak, and the next run is undisturbed. */
static void test_allocations_may_fail(void **state)
{
    (void)state;
    enum { TRIES = 60 };
    digits_set(task.recipe, "max-updates", "2");
    digits_set(task.recipe, "save-every", "1");
    const char *folder = support_temporary_folder();
    clf__memory_fail_at(0);
    assert_ok(digits_train(digits_output(), task.logs));
    uint64_t count = clf__memory_count();
    for (uint64_t n = 1; n <= count; n += 1 + count / TRIES) {
        const char *output = process_format("%s/%d", folder, (int)n);
        clf__memory_fail_at(n);
        clf_status status = digits_train(output, task.logs);
        clf__memory_fail_at(0);
        if (status != CLF_OK) {
            assert_fails(status, CLF_OUT_OF_MEMORY, "memory");
            assert_int_equal(clf__folder_exists(output),
                             digits_has_checkpoint(output, 1) || digits_has_checkpoint(output, 2));
        }
        assert_ok(digits_train(output, task.logs));
        assert_true(digits_has_file(output, "config.json"));
    }
}

static void test_the_same_command_gives_the_same_bits(void **state)
{
    (void)state;
    const char *first = digits_output(), *second = digits_output();
    assert_ok(digits_train(first, &task.logs[0]));
    assert_ok(digits_train(second, &task.logs[1]));
    digits_assert_same_updates(&task.logs[1], &task.logs[0], 1);
    size_t sizes[2];
    const char *files[] = {process_read(first, "model.safetensors", &sizes[0]),
                           process_read(second, "model.safetensors", &sizes[1])};
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(files[0], files[1], sizes[0]);
    digits_set(task.recipe, "seed", "2");
    assert_ok(digits_train(digits_output(), &task.logs[1]));
    assert_true(task.logs[1].updates[0].loss != task.logs[0].updates[0].loss);
}

static void test_an_interrupted_run_goes_on(void **state)
{
    (void)state;
    digits_set(task.recipe, "accumulate", "2");
    assert_ok(digits_train(digits_output(), &task.logs[0]));
    for (int after = 1; after < 12; after += 2) {
        const char *output = digits_output();
        task.logs[1].interrupt_after = after;
        assert_fails(digits_train(output, &task.logs[1]), CLF_INTERRUPTED,
                     process_format("after update %d", after));
        assert_true(digits_has_checkpoint(output, after));
        assert_ok(digits_train(output, &task.logs[1]));
        assert_int_equal(task.logs[1].start.first_update, after + 1);
        digits_assert_same_updates(&task.logs[1], &task.logs[0], after + 1);
    }
}

static void test_best_and_averaged_checkpoints_are_kept(void **state)
{
    (void)state;
    const char *output = digits_output();
    digits_set(task.recipe, "validate-every", "2");
    digits_set(task.recipe, "save-every", "1");
    digits_set(task.recipe, "keep-last", "1");
    digits_set(task.recipe, "average", "3");
    digits_set(task.recipe, "bleu", "none");
    assert_ok(digits_train(output, &task.logs[0]));
    assert_int_equal(task.logs[0].validation_count, 6);
    assert_true(task.logs[0].validations[5].bleu < 0);
    int best = 0;
    for (int i = 1; i < 6; i++) {
        assert_true(task.logs[0].validations[i].is_best ==
                    (task.logs[0].validations[i].loss < task.logs[0].validations[best].loss));
        best = task.logs[0].validations[i].is_best ? i : best;
    }
    for (int update = 0; update <= 12; update++) {
        int is_kept = update % 2 == 0 && (update >= 8 || update == 2 * (best + 1));
        assert_int_equal(digits_has_checkpoint(output, update), is_kept);
    }
    /* The final model is the mean of the last three. */
    size_t size, sizes[3];
    const char *mean = process_read(output, "model.safetensors", &size);
    const char *parts[3];
    for (int i = 0; i < 3; i++) {
        const char *folder = process_format("%s/checkpoints/update-%08d", output, 8 + 2 * i);
        parts[i] = process_read(folder, "model.safetensors", &sizes[i]);
        assert_int_equal(sizes[i], size);
    }
    for (size_t at = size - 4000; at < size; at += 4) { /* valid numbers, whatever the header is */
        float values[4];
        memcpy(&values[3], mean + at, 4);
        for (int i = 0; i < 3; i++) {
            memcpy(&values[i], parts[i] + at, 4);
        }
        assert_true(fabs(values[3] - ((double)values[0] + values[1] + values[2]) / 3) < 1e-6);
    }
}

static void test_patience_ends_a_run(void **state)
{
    (void)state;
    digits_set(task.recipe, "learning-rate", "0"); /* never better than the first time */
    digits_set(task.recipe, "validate-every", "2");
    digits_set(task.recipe, "bleu", "none");
    digits_set(task.recipe, "patience", "3");
    digits_set(task.recipe, "max-updates", "100");
    assert_ok(digits_train(digits_output(), &task.logs[0]));
    assert_int_equal(task.logs[0].count, 8);
    assert_int_equal(task.logs[0].validation_count, 4);
    assert_non_null(
        strstr(task.notices, "training stops early: 3 validations without improvement since update 2\n"));
}

/* BLEU is available, but loss decides. */
static void test_the_best_by_loss(void **state)
{
    (void)state;
    digits_set(task.recipe, "validate-every", "2");
    digits_set(task.recipe, "best", "loss");
    assert_ok(digits_train(digits_output(), task.logs));
    assert_int_equal(task.logs->validation_count, 6);
    double best = INFINITY;
    int bests = 0;
    for (int i = 0; i < 6; i++) {
        const struct clf_train_validation *validation = &task.logs->validations[i];
        assert_true(validation->bleu >= 0);
        assert_true(validation->is_best == (validation->loss < best));
        assert_int_equal(validation->better_by != NULL, i > 0 && validation->is_best);
        assert_string_equal(validation->better_by ? validation->better_by : "loss", "loss");
        best = validation->is_best ? validation->loss : best;
        bests += validation->is_best;
    }
    assert_true(bests > 1); /* while BLEU stays equal */
}

/* A checkpoint in the middle of an epoch, where a run ends, is validated but is not an epoch's. */
static void test_a_cut_epoch_is_not_averaged(void **state)
{
    (void)state;
    const char *output = digits_output(), *cut = digits_output();
    digits_set(task.recipe, "validate-every", "0");
    digits_set(task.recipe, "average", "2");
    digits_set(task.recipe, "keep-last", "1");
    digits_set(task.recipe, "max-updates", "0");
    digits_set(task.recipe, "max-epochs", "2");
    assert_ok(digits_train(output, &task.logs[0]));
    int end = task.logs[0].count, middle = end + 1;
    digits_set(task.recipe, "max-epochs", "0");
    digits_set(task.recipe, "max-updates", process_format("%d", middle));
    assert_ok(digits_train(cut, &task.logs[1]));
    assert_int_equal(task.logs[1].validation_count, 3);
    assert_int_equal(task.logs[1].validations[2].update, middle);
    assert_true(digits_has_checkpoint(cut, middle) && digits_has_checkpoint(cut, end) &&
                digits_has_checkpoint(cut, end / 2));
    size_t sizes[2];
    const char *means[] = {process_read(output, "model.safetensors", &sizes[0]),
                           process_read(cut, "model.safetensors", &sizes[1])};
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(means[0], means[1], sizes[0]);
    /* Nothing to average: the best checkpoint is used. */
    cut = digits_output();
    digits_set(task.recipe, "max-updates", "1");
    assert_ok(digits_train(cut, &task.logs[1]));
    assert_true(digits_has_file(cut, "config.json"));
    assert_non_null(strstr(task.warnings,
                           "the model is the best checkpoint, because there are no checkpoints to average"));
}

static void assert_published(const char *output, int update)
{
    size_t sizes[2];
    const char *folder = process_format("%s/checkpoints/update-%08d", output, update);
    const char *weights[] = {process_read(output, "model.safetensors", &sizes[0]),
                             process_read(folder, "model.safetensors", &sizes[1])};
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(weights[0], weights[1], sizes[0]);
}

/* If the best checkpoint was deleted, because the run resumed with other choices, the best of the rest is
 * used, not the last. */
static void test_the_best_one_that_is_there(void **state)
{
    (void)state;
    static const double losses[] = {3, 1, 2, 4, 5, 6};
    static const int order[] = {4, 6, 2, 8}; /* updates, the best first */
    const char *output = digits_output();
    digits_set(task.recipe, "validate-every", "2");
    digits_set(task.recipe, "keep-last", "99");
    digits_set(task.recipe, "bleu", "none");
    assert_ok(digits_train(output, task.logs));
    const char *path = process_format("%s/checkpoints/update-00000012/state.json", output);
    json_t *root = json_load_file(path, 0, NULL), *history = json_object_get(root, "history");
    assert_int_equal(json_array_size(history), 6);
    for (size_t i = 0; i < 6; i++) {
        json_object_set_new(json_array_get(history, i), "loss", json_real(losses[i]));
    }
    assert_int_equal(json_dump_file(root, path, 0), 0);
    json_decref(root);
    for (int i = 0; i < 4; i++) {
        task.warnings[0] = '\0';
        assert_ok(digits_train(output, task.logs)); /* only the end of the run is left to do */
        assert_published(output, order[i]);
        const char *warning = process_format("update %d, the best one that still exists", order[i]);
        assert_true(i == 0 ? task.warnings[0] == '\0' : strstr(task.warnings, warning) != NULL);
        assert_ok(clf__folder_remove(process_format("%s/checkpoints/update-%08d", output, order[i])));
    }
    assert_non_null(
        strstr(task.warnings, "the checkpoint of update 4, with the best validation, was not kept"));
}

static void test_epochs_are_counted(void **state)
{
    (void)state;
    digits_set(task.recipe, "max-updates", "0");
    digits_set(task.recipe, "max-epochs", "2");
    digits_set(task.recipe, "validate-every", "0");
    assert_ok(digits_train(digits_output(), &task.logs[0]));
    assert_int_equal(task.logs[0].validation_count, 2);
    assert_int_equal(task.logs[0].validations[0].epoch, 1);
    assert_int_equal(task.logs[0].validations[1].epoch, 2);
    assert_int_equal(task.logs[0].validations[1].update, task.logs[0].count);
    assert_non_null(strstr(task.notices, "training ends: max-epochs 2 reached\n"));
    int64_t tokens[2] = {0, 0};
    for (int i = 0; i < task.logs[0].count; i++) {
        /* The expected total is the first limit from the start, and exact in the last epoch. */
        int64_t expected = task.logs[0].updates[i].expected_updates;
        assert_true(llabs(expected - task.logs[0].count) <= (task.logs[0].updates[i].epoch == 1));
        tokens[task.logs[0].updates[i].epoch - 1] += task.logs[0].updates[i].target_tokens;
    }
    assert_true(tokens[0] > 0 && tokens[0] == tokens[1]);
    digits_set(task.recipe, "max-updates", "5");
    assert_ok(digits_train(digits_output(), &task.logs[1]));
    assert_int_equal(task.logs[1].updates[0].expected_updates, 5);
}

/* By updates or by epochs; a run that is long enough gets no warning (test_a_run_leaves_a_model). */
static void test_a_warm_up_longer_than_the_run(void **state)
{
    (void)state;
    digits_set(task.recipe, "warm-up", "13");
    assert_ok(digits_train(digits_output(), task.logs));
    assert_string_equal(task.warnings,
                        "warm-up: is 13 updates, but the run has only 12 (max-updates), so the learning rate "
                        "never reaches its maximum; use a shorter warm-up\n");
    task.warnings[0] = '\0';
    digits_set(task.recipe, "warm-up", "4000");
    digits_set(task.recipe, "max-updates", "100000");
    digits_set(task.recipe, "max-epochs", "1");
    assert_ok(digits_train(digits_output(), task.logs));
    assert_non_null(strstr(task.warnings, "warm-up: is 4000 updates, but the run has only about "));
    assert_non_null(strstr(task.warnings, "(max-epochs), so"));
}

static void test_gradients_that_are_not_finite(void **state)
{
    (void)state;
    const char *output = digits_output();
    digits_set(task.recipe, "learning-rate", "1000");
    digits_set(task.recipe, "warm-up", "0");
    digits_set(task.recipe, "schedule", "constant");
    digits_set(task.recipe, "bad-updates", "3");
    digits_set(task.recipe, "max-updates", "1000");
    digits_set(task.recipe, "validate-every", "1000");
    digits_set(task.recipe, "normalize", "none");
    digits_set(task.recipe, "optimizer", "adamw");
    digits_set(task.recipe, "decay", "1"); /* w grows 999-fold with each update */
    assert_fails(digits_train(output, &task.logs[0]), CLF_UNSUPPORTED,
                 "3 consecutive updates are not finite");
    const struct clf_train_update *last = &task.logs[0].updates[task.logs[0].count - 1];
    assert_true(last->skipped >= 3 && last->skipped == last[-1].skipped + 1); /* the last one is reported
                                                                                 too */
    assert_non_null(
        strstr(clf_last_error(), process_format("the last of them update %d;", (int)last->update)));
    assert_non_null(strstr(task.warnings, "is skipped, because its gradients are not finite"));
}

/* jadore validates without label smoothing; the others with the full loss. */
static void test_the_loss_of_validations(void **state)
{
    (void)state;
    digits_set(task.recipe, "max-updates", "2");
    assert_ok(digits_train(digits_output(), task.logs));
    assert_true(fabs(task.logs->validations[0].loss - task.logs->validations[0].nll) > 1e-4);
    digits_set(task.recipe, "preset", "jadore");
    digits_set(task.recipe, "schedule", "constant");
    assert_ok(digits_train(digits_output(), task.logs));
    assert_true(fabs(task.logs->updates[1].loss - task.logs->updates[1].nll) > 1e-4);
    assert_true(task.logs->validations[0].loss == task.logs->validations[0].nll);
}

/* Before any text is read: even a missing file is not reported first. */
static void test_a_wrong_configuration_shows_at_once(void **state)
{
    (void)state;
    static const struct {
        const char *pair, *sentence;
    } cases[] = {
        {"dropout=2", "config: \"dropout\" is 2"},
        {"dropout=\"0.1\"", "config: \"dropout\" must be"},
        {"activation_function=foo", "config: \"activation_function\" is \"foo\""},
        {"num_beams=x", "config: \"num_beams\" must be an integer"},
        {"d_model=33", "config: \"d_model\" 33 is not a multiple"},
        {"norm=rms", "\"norm\" cannot be set, because the preset"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *output = digits_output();
        clf_recipe_free(task.recipe);
        task.recipe = digits_recipe(task.data);
        digits_set(task.recipe, "train", "/no/such/text");
        digits_set(task.recipe, "config", cases[i].pair);
        assert_fails(digits_train(output, task.logs), CLF_BAD_ARGUMENT, cases[i].sentence);
        assert_false(clf__folder_exists(output));
    }
}

/* A new run rejects choices without effect; a resumed one accepts them. */
static void test_choices_without_effect_are_refused(void **state)
{
    (void)state;
    const char *output = digits_output(), *begun = digits_output();
    digits_set(task.recipe, "noam-factor", "2");
    assert_fails(digits_train(output, task.logs), CLF_BAD_ARGUMENT,
                 "noam-factor: has no effect without schedule noam; remove it");
    assert_false(clf__folder_exists(output));
    digits_set(task.recipe, "noam-factor", "1.0"); /* the default, as stored in recipe.json */
    digits_set(task.recipe, "max-updates", "1");
    assert_ok(digits_train(begun, task.logs));
    assert_ok(clf_recipe_load(task.recipe, process_format("%s/recipe.json", begun)));
    assert_ok(digits_train(output, task.logs));
    digits_set(task.recipe, "schedule", "noam");
    assert_fails(digits_train(digits_output(), task.logs), CLF_BAD_ARGUMENT,
                 "learning-rate: has no effect with");
    /* A given vocabulary is used unchanged. */
    clf_recipe_free(task.recipe);
    task.recipe = digits_recipe(task.data);
    digits_set(task.recipe, "source-vocabulary", process_format("%s/vocab.json", begun));
    digits_set(task.recipe, "vocabulary", "9");
    assert_fails(digits_train(digits_output(), task.logs), CLF_BAD_ARGUMENT,
                 "vocabulary: has no effect with a source");
    /* Such a run of an older version. */
    clf_recipe_free(task.recipe);
    task.recipe = digits_recipe(task.data);
    digits_set(task.recipe, "noam-factor", "3");
    begun = digits_output();
    assert_ok(clf__folder_create(begun));
    assert_ok(clf_recipe_write(task.recipe, process_format("%s/recipe.json", begun)));
    digits_set(task.recipe, "max-updates", "1");
    assert_ok(digits_train(begun, task.logs));
    /* Without validation. */
    clf_recipe_free(task.recipe);
    assert_ok(clf_recipe_create(&task.recipe));
    digits_set(task.recipe, "train", "/no/such/text");
    digits_set(task.recipe, "patience", "3");
    assert_fails(digits_train(digits_output(), task.logs), CLF_BAD_ARGUMENT,
                 "patience: has no effect without valid");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, digits_setup, digits_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_run_leaves_a_model),
        TEST(test_marians_padding_stays_zero),
        TEST(test_allocations_may_fail),
        TEST(test_the_same_command_gives_the_same_bits),
        TEST(test_an_interrupted_run_goes_on),
        TEST(test_best_and_averaged_checkpoints_are_kept),
        TEST(test_patience_ends_a_run),
        TEST(test_the_best_by_loss),
        TEST(test_a_cut_epoch_is_not_averaged),
        TEST(test_the_best_one_that_is_there),
        TEST(test_epochs_are_counted),
        TEST(test_a_warm_up_longer_than_the_run),
        TEST(test_gradients_that_are_not_finite),
        TEST(test_the_loss_of_validations),
        TEST(test_choices_without_effect_are_refused),
        TEST(test_a_wrong_configuration_shows_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
