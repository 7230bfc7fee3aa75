/* Results of training: losses, gradient accumulation and clipping, every preset, fine-tuning. */
#include "support/digits.h"

#include <math.h>
#include <string.h>

#include <clformer/translator.h>

#include "support/process.h"

static void test_gathered_gradients(void **state)
{
    (void)state;
    /* The first update does not depend on how gradients of the same pairs are accumulated. */
    digits_set(task.recipe, "max-updates", "1");
    digits_set(task.recipe, "config", "dropout=0");
    digits_set(task.recipe, "batch-tokens", "10000");
    assert_ok(digits_train(digits_output(), &task.logs[0]));
    digits_set(task.recipe, "batch-tokens", "60");
    digits_set(task.recipe, "accumulate", "1000");
    assert_ok(digits_train(digits_output(), &task.logs[1]));
    assert_int_equal(task.logs[0].updates[0].target_tokens, task.logs[1].updates[0].target_tokens);
    assert_true(fabs(task.logs[0].updates[0].loss - task.logs[1].updates[0].loss) < 1e-5);
    assert_true(fabs(task.logs[0].updates[0].gradient_norm / task.logs[1].updates[0].gradient_norm - 1) <
                1e-4);
    /* A sum is the mean times the number of labels. */
    digits_set(task.recipe, "normalize", "none");
    assert_ok(digits_train(digits_output(), &task.logs[1]));
    double labels = (double)task.logs[1].updates[0].target_tokens;
    assert_true(
        fabs(task.logs[1].updates[0].gradient_norm / (labels * task.logs[0].updates[0].gradient_norm) - 1) <
        1e-4);
    assert_true(fabs(task.logs[0].updates[0].loss - task.logs[1].updates[0].loss) < 1e-5);
}

/* With a large epsilon, Adam's step is proportional to the gradient: clipping to zero changes nothing. */
static void test_gradients_are_clipped(void **state)
{
    (void)state;
    digits_set(task.recipe, "max-updates", "2");
    digits_set(task.recipe, "validate-every", "2");
    digits_set(task.recipe, "config", "dropout=0");
    digits_set(task.recipe, "batch-tokens", "10000"); /* one batch, so that both updates have the same */
    digits_set(task.recipe, "schedule", "constant");
    digits_set(task.recipe, "warm-up", "0");
    digits_set(task.recipe, "learning-rate", "0.1");
    digits_set(task.recipe, "epsilon", "1");
    assert_ok(digits_train(digits_output(), &task.logs[0]));
    const struct clf_train_update *updates = task.logs[0].updates;
    assert_true(updates[1].loss < updates[0].loss - 1e-3);
    digits_set(task.recipe, "clip-norm", "1e-6");
    assert_ok(digits_train(digits_output(), &task.logs[1]));
    assert_true(task.logs[1].updates[0].gradient_norm == updates[0].gradient_norm); /* before it is clipped */
    assert_true(fabs(task.logs[1].updates[1].loss - updates[0].loss) < 1e-5);
}

/* Each preset learns, and its folder loads. */
static void test_every_preset_trains(void **state)
{
    (void)state;
    static const char *const presets[] = {"marian", "paper", "jadore", "annotated", "illustrated"};
    digits_set(task.recipe, "learning-rate", "0.005");
    digits_set(task.recipe, "schedule", "constant");
    digits_set(task.recipe, "normalize", "labels");
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
        const char *output = digits_output();
        digits_set(task.recipe, "preset", presets[i]);
        assert_ok(digits_train(output, task.logs));
        if (!(task.logs->validations[1].loss < task.logs->updates[0].loss)) {
            fail_msg("%s: loss went from %g to %g", presets[i], task.logs->updates[0].loss,
                     task.logs->validations[1].loss);
        }
        struct clf_model *model;
        assert_ok(clf_model_load(&model, digits_device(), output, NULL));
        assert_string_equal(clf_model_describe(model)->architecture, presets[i]);
        clf_model_free(model);
    }
}

static void test_speech_trains(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder(), *output = digits_output();
    const char *table = process_format("%s/table.tsv", folder);
    const char *speech = process_format("%s", support_fixture("models/speech"));
    char *text = process_format("%1$s/frames0_0.npy\tone two\n%1$s/frames0_1.npy\ttwo\n"
                                "%1$s/frames0_2.npy\tone\n%1$s/missing.npy\tthree\n",
                                speech);
    process_write(folder, "table.tsv", text, strlen(text));
    clf_recipe_free(task.recipe);
    assert_ok(clf_recipe_create(&task.recipe));
    digits_set(task.recipe, "preset", "speech");
    digits_set(task.recipe, "size", "tiny");
    digits_set(task.recipe, "train", table);
    digits_set(task.recipe, "valid", table);
    digits_set(task.recipe, "max-updates", "4");
    digits_set(task.recipe, "warm-up", "1");
    assert_ok(digits_train(output, task.logs));
    assert_int_equal(task.logs->start.pairs, 3);
    assert_int_equal(task.logs->start.left_out_broken, 1);
    assert_non_null(strstr(task.warnings, "lines (invalid): line 4 of "));
    assert_true(task.logs->validations[task.logs->validation_count - 1].loss < task.logs->updates[0].loss);
}

/* Returns -log p per label of whole targets, from the public functions. */
static double score(const char *folder, const char *const *lines, int count, int tokens)
{
    struct clf_model *model;
    struct clf_translator *translator;
    struct clf_translate_options options;
    struct clf_score *scores;
    struct clf_line *sources = support_array((size_t)count, sizeof *sources);
    struct clf_line *targets = support_array((size_t)count, sizeof *targets);
    for (int i = 0; i < count; i++) {
        const char *tab = strchr(lines[i], '\t');
        sources[i] = (struct clf_line){lines[i], (size_t)(tab - lines[i])};
        targets[i] = (struct clf_line){tab + 1, strlen(tab + 1)};
    }
    assert_ok(clf_model_load(&model, digits_device(), folder, NULL));
    clf_translate_options_init(&options, model);
    options.subwords = tokens;
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_ok(clf_score(&scores, translator, sources, targets, count));
    double nll = 0;
    int labels = 0;
    for (int i = 0; i < count; i++) {
        assert_int_equal(scores[i].status, CLF_OK);
        nll -= scores[i].log_probability;
        labels += scores[i].count;
    }
    clf_scores_free(scores, count);
    clf_translator_free(translator);
    clf_model_free(model);
    return nll / labels;
}

/* Fine-tunes the model of a folder: the first loss is the model's own, the last one is lower. */
static void fine_tune(const char *from, const char *output, const char *const *lines, int count, int tokens)
{
    char *text = process_format("%s", "");
    for (int i = 0; i < count; i++) {
        text = process_format("%s%s\n", text, lines[i]);
    }
    const char *folder = support_temporary_folder(), *path = process_format("%s/pairs.tsv", folder);
    process_write(folder, "pairs.tsv", text, strlen(text));
    clf_recipe_free(task.recipe);
    assert_ok(clf_recipe_create(&task.recipe));
    digits_set(task.recipe, "from", from);
    digits_set(task.recipe, "train", path);
    digits_set(task.recipe, "valid", path);
    digits_set(task.recipe, "tokens", tokens ? "true" : "false");
    digits_set(task.recipe, "config", "dropout=0");
    digits_set(task.recipe, "config", "embedding_dropout=0");
    digits_set(task.recipe, "config", "attention_dropout=0");
    digits_set(task.recipe, "config", "activation_dropout=0");
    digits_set(task.recipe, "schedule", "constant");
    digits_set(task.recipe, "learning-rate", "0.001");
    digits_set(task.recipe, "warm-up", "0");
    digits_set(task.recipe, "max-updates", "8");
    digits_set(task.recipe, "validate-every", "8");
    assert_ok(digits_train(output, task.logs));
    double nll = score(from, lines, count, tokens);
    if (!(fabs(nll - task.logs->updates[0].nll) < 1e-4 * nll)) {
        fail_msg("%s: the first loss is %.9g, not %.9g", from, task.logs->updates[0].nll, nll);
    }
    assert_true(task.logs->validations[0].nll < nll);
    double tuned = score(output, lines, count, tokens);
    assert_true(fabs(tuned - task.logs->validations[0].nll) < 1e-4 * tuned);
}

static void test_fine_tuning(void **state)
{
    (void)state;
    static const char *const lines[] = {"Bonjour le monde.\tHello world.", "Je suis fatigué.\tI am tired.",
                                        "Il pleut.\tIt's raining.", "Merci.\tThank you."};
    const char *output = digits_output();
    fine_tune(DEMO_MODEL, output, lines, 4, 0);
    assert_true(task.logs->validations[0].nll < 0.5 * task.logs->updates[0].nll);
    size_t size;
    assert_non_null(strstr(process_read(output, "config.json", &size), "\"float32\""));
    assert_true(digits_has_file(output, "source.spm") && !digits_has_file(output, "README.md"));
}

/* Checkpoints with the original tensor names, in shards and in half precision. */
static void test_fine_tuning_of_every_architecture(void **state)
{
    (void)state;
    static const char *const lines[] = {"w4 w5 w6\tw7 w8", "w9\tw10 w11 w12", "w13 w13\tw14"};
    static const char *const names[] = {"jadore-emb",     "jadore-prj-output-embeddings",
                                        "annotated",      "marian-shards",
                                        "marian-float16", "paper-separate",
                                        "illustrated",    "clformer-relative"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *from = process_format("%s/tests/fixtures/models/%s", CLF_SOURCE_FOLDER, names[i]);
        fine_tune(from, digits_output(), lines, 3, 1);
    }
}

/* Logits that are all zero: both losses have a closed form. */
static void test_losses_of_a_uniform_model(void **state)
{
    (void)state;
    static const char *const losses[] = {"cross-entropy", "kl"};
    digits_set(task.recipe, "preset", "annotated");
    digits_set(task.recipe, "schedule", "constant");
    digits_set(task.recipe, "config", "output_scale=0");
    digits_set(task.recipe, "config", "add_bias_logits=false");
    digits_set(task.recipe, "max-updates", "1");
    digits_set(task.recipe, "validate-every", "1");
    digits_set(task.recipe, "label-smoothing", "0.2");
    const double words = 14; /* ten digits and <s>, </s>, <pad>, <unk> */
    const double entropy = -0.8 * log(0.8) - 0.2 * log(0.2 / (words - 2));
    for (int i = 0; i < 2; i++) {
        digits_set(task.recipe, "loss", losses[i]);
        assert_ok(digits_train(digits_output(), task.logs));
        double expected = log(words) - (i == 1 ? entropy : 0);
        assert_true(fabs(task.logs->updates[0].nll - log(words)) < 1e-5);
        assert_true(fabs(task.logs->updates[0].loss - expected) < 1e-5);
        assert_true(fabs(task.logs->validations[0].loss - expected) < 1e-5);
        assert_true(fabs(task.logs->validations[0].perplexity - words) < 1e-3);
    }
}

static int joined_samples;

static void check_samples(const struct clf_train_validation *validation, void *user)
{
    (void)user;
    for (int i = 0; i < validation->sample_count; i++) {
        assert_string_equal(validation->samples[i].source, "12 3@@4");
        assert_string_equal(validation->samples[i].reference, "43 21");
        assert_null(strstr(validation->samples[i].translation, "@@ "));
        joined_samples++;
    }
}

static void test_tokens_are_joined_for_bleu(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder(), *path = process_format("%s/pairs.tsv", folder);
    const char *text = "1@@ 2 3@@4\t4@@ 3 2@@ 1@@\n";
    struct clf_train_hooks hooks = {.size = sizeof hooks, .validated = check_samples};
    process_write(folder, "pairs.tsv", text, strlen(text));
    digits_set(task.recipe, "train", path);
    digits_set(task.recipe, "valid", path);
    digits_set(task.recipe, "joiner", "@@");
    digits_set(task.recipe, "max-updates", "6");
    joined_samples = 0;
    assert_ok(clf_train(digits_device(), task.recipe, digits_output(), &hooks));
    assert_int_equal(joined_samples, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, digits_setup, digits_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_gathered_gradients),
        TEST(test_gradients_are_clipped),
        TEST(test_every_preset_trains),
        TEST(test_speech_trains),
        TEST(test_fine_tuning),
        TEST(test_fine_tuning_of_every_architecture),
        TEST(test_losses_of_a_uniform_model),
        TEST(test_tokens_are_joined_for_bleu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
