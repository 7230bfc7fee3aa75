#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/memory.h"
#include "model/config/architectures/architecture.h"
#include "model/config/config.h"
#include "model/config/write.h"
#include "train/recipe.h"
#include "train/recipe_choices.h"

/* Writes a text to recipe.json in a new folder. */
static const char *file_of(const char *text)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/recipe.json", support_temporary_folder());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static struct clf__settings settings_of(const struct clf_recipe *of)
{
    struct clf__settings settings;
    assert_ok(clf__recipe_settings(&settings, of));
    return settings;
}

static void check_architecture_defaults(enum clf__architecture_id id)
{
    int count;
    const struct clf_recipe_key *keys = clf_recipe_keys(&count);
    for (const struct clf__architecture_default *at = clf__architecture_of(id)->recipe; at->key != NULL;
         at++) {
        int key = clf__recipe_find(at->key);
        assert_true(key >= 0 && strcmp(at->key, "preset") != 0);
        assert_ok(clf__recipe_check(key, &at->fallback, 1));
        assert_non_null(strstr(keys[key].meaning, at->fallback));
    }
}

/* The help shows the actual defaults, in brackets after the description. */
static void test_the_table_says_its_defaults(void **state)
{
    (void)state;
    int count;
    const struct clf_recipe_key *keys = clf_recipe_keys(&count);
    for (int i = 0; i < count; i++) {
        const char *fallback = clf__recipe_entry(i)->fallback;
        char shown[64];
        snprintf(shown, sizeof shown, "(%s", fallback ? fallback : "");
        if (fallback && !(strstr(keys[i].meaning, shown))) {
            fail_msg("%s: its meaning does not say that the default is %s", keys[i].name, fallback);
        }
        assert_int_equal(clf__recipe_find(keys[i].name), i);
        for (int j = i + 1; j < count; j++) { /* the keys of a group are adjacent */
            assert_true(strcmp(keys[i].group, keys[j].group) != 0 ||
                        strcmp(keys[j - 1].group, keys[j].group) == 0);
        }
    }
#define CHECK_ARCHITECTURE(name, word) check_architecture_defaults(CLF__##name);
    CLF__PRESET_LIST(CHECK_ARCHITECTURE)
    int exception_count;
    const struct clf__recipe_exception *exceptions = clf__recipe_exceptions(&exception_count);
    for (int i = 0; i < exception_count; i++) {
        int key = clf__recipe_find(exceptions[i].key);
        assert_true(key >= 0 && clf__recipe_find(exceptions[i].when) >= 0);
        assert_ok(clf__recipe_check(key, &exceptions[i].fallback, 1));
        assert_ok(clf__recipe_check(clf__recipe_find(exceptions[i].when), &exceptions[i].is, 1));
        assert_non_null(strstr(keys[key].meaning, exceptions[i].fallback));
    }
}

static void test_defaults_are_the_presets(void **state)
{
    (void)state;
    assert_ok(set("train", "pairs.tsv"));
    struct clf__settings settings = settings_of(recipe);
    assert_int_equal(settings.schedule, CLF__INVERSE_SQRT);
    assert_int_equal(settings.vocabulary, 8000);
    assert_int_equal(settings.normalize, CLF__NORMALIZE_LABELS);
    assert_true(settings.epsilon == 1e-9);
    assert_ok(set("preset", "annotated"));
    settings = settings_of(recipe);
    assert_int_equal(settings.schedule, CLF__NOAM);
    assert_int_equal(settings.loss, CLF__LOSS_KL);
    assert_int_equal(settings.warm_up, 3000);
    assert_ok(set("preset", "jadore"));
    assert_ok(set("tokens", "true"));
    settings = settings_of(recipe);
    assert_true(settings.noam_factor == 2);
    assert_int_equal(settings.normalize, CLF__NORMALIZE_NONE);
    assert_int_equal(settings.vocabulary, 0);
    assert_int_equal(settings.bleu, CLF__BLEU_SPACES);
    assert_ok(set("bleu", "13a")); /* a choice overrides any default */
    assert_int_equal(settings_of(recipe).bleu, CLF__BLEU_13A);
}

static void test_wrong_values_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *part;
    } cases[] = {
        {"bach-tokens", "1", "bach-tokens"},
        {"batch-tokens", "x", "batch-tokens: \"x\" is not an integer from 1 to 2147483647"},
        {"batch-tokens", "0", "from 1"},
        {"batch-tokens", "1.5", "integer"},
        {"batch-tokens", "", "empty"},
        {"batch-tokens", "99999999999999999999", "integer"},
        {"beta1", "1", "from 0 to 0.999999"},
        {"beta1", "0.9x", "beta1"},
        {"beta1", "NaN", "beta1"},
        {"preset", "marian|paper", "use one of marian|paper"},
        {"preset", "mari", "use one of marian|paper"},
        {"tokens", "yes", "use one of false|true"},
        {"config", "dropout", "KEY=VALUE"},
        {"config", "=1", "KEY=VALUE"},
        {"config", "dropout=", "KEY=VALUE"},
        {"config", "droput=0.1", "\"droput\" is not a key"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_fails(set(cases[i].name, cases[i].value), CLF_BAD_ARGUMENT, cases[i].part);
    }
    static const char *const three[] = {"a", "b", "c"};
    assert_fails(clf_recipe_set(recipe, "train", three, 3), CLF_BAD_ARGUMENT, "train: requires FILE [FILE]");
    assert_fails(clf_recipe_set(recipe, "seed", three, 0), CLF_BAD_ARGUMENT, "seed: requires N");
}

static void test_contradictions_are_refused(void **state)
{
    (void)state;
    struct clf__settings settings;
    assert_fails(clf__recipe_settings(&settings, recipe), CLF_BAD_ARGUMENT, "train: is missing");
    assert_ok(set("train", "pairs.tsv"));
    assert_ok(set("schedule", "linear"));
    assert_ok(set("max-updates", "4000"));
    assert_fails(clf__recipe_settings(&settings, recipe), CLF_BAD_ARGUMENT, "max-updates");
    assert_ok(set("schedule", "constant"));
    assert_ok(set("average", "3"));
    assert_fails(clf__recipe_settings(&settings, recipe), CLF_BAD_ARGUMENT,
                 "average: requires valid, because checkpoints are made at validations; add valid");
    assert_ok(set("valid", "valid.tsv"));
    assert_int_equal(settings_of(recipe).best, CLF__BEST_BLEU);
    assert_ok(set("bleu", "none"));
    assert_int_equal(settings_of(recipe).best, CLF__BEST_LOSS);
    assert_ok(set("best", "bleu"));
    assert_fails(clf__recipe_settings(&settings, recipe), CLF_BAD_ARGUMENT, "best: cannot be bleu");
    assert_ok(set("best", "loss"));
    assert_ok(set("target-vocabulary", "t.spm"));
    assert_fails(clf__recipe_settings(&settings, recipe), CLF_BAD_ARGUMENT, "separate-vocabularies");
    assert_ok(clf_recipe_set(recipe, "separate-vocabularies", NULL, 0));
    assert_fails(clf__recipe_settings(&settings, recipe), CLF_BAD_ARGUMENT, "source-vocabulary: is missing");
    assert_ok(set("from", "somewhere"));
    assert_fails(clf__recipe_settings(&settings, recipe), CLF_BAD_ARGUMENT, "from");
}

static void test_fine_tuning_changes_dropout_alone(void **state)
{
    (void)state;
    struct clf__settings settings;
    assert_ok(set("train", "pairs.tsv"));
    assert_ok(set("from", "somewhere"));
    assert_ok(set("config", "attention_dropout=0.2"));
    assert_ok(clf__recipe_settings(&settings, recipe));
    assert_ok(set("config", "d_model=64"));
    assert_fails(clf__recipe_settings(&settings, recipe), CLF_BAD_ARGUMENT, "d_model=64");
}

static void test_pairs_are_replaced_by_key(void **state)
{
    (void)state;
    assert_ok(set("train", "pairs.tsv"));
    assert_ok(set("config", "dropout=0.1"));
    assert_ok(set("config", "d_k=7"));
    assert_ok(set("config", "dropout=0.3"));
    struct clf__settings settings = settings_of(recipe);
    assert_int_equal(settings.config.count, 2);
    assert_string_equal(settings.config.items[0], "d_k=7");
    assert_string_equal(settings.config.items[1], "dropout=0.3");
}

static void test_a_written_recipe_reads_as_the_same(void **state)
{
    (void)state;
    static const char *const files[] = {"a \"b\".en", "a.d\xc3\xa9"};
    assert_ok(clf_recipe_set(recipe, "train", files, 2));
    assert_ok(clf_recipe_set(recipe, "tokens", NULL, 0));
    assert_ok(set("config", "dropout=0.3"));
    assert_ok(set("config", "activation_function=gelu"));
    assert_ok(set("config", "normalize_before=true"));
    assert_ok(set("learning-rate", "0.005"));
    assert_ok(set("seed", "123456789012345"));
    assert_ok(set("joiner", "@@"));
    char path[256];
    snprintf(path, sizeof path, "%s/recipe.json", support_temporary_folder());
    assert_ok(clf_recipe_write(recipe, path));
    struct clf_recipe *again;
    assert_ok(clf_recipe_create(&again));
    assert_ok(clf_recipe_load(again, path));
    int count;
    const struct clf_recipe_key *keys = clf_recipe_keys(&count);
    for (int i = 0; i < count; i++) {
        struct clf__texts a = clf__recipe_words(recipe, i), b = clf__recipe_words(again, i);
        if (a.count != b.count) {
            fail_msg("%s has %d values, not %d", keys[i].name, b.count, a.count);
        }
    }
    assert_ok(clf__recipe_check_same(again, recipe, "folder"));
    assert_ok(clf__recipe_check_same(recipe, again, "folder"));
    struct clf__settings settings = settings_of(again);
    assert_string_equal(settings.train.items[0], files[0]);
    assert_string_equal(settings.train.items[1], files[1]);
    assert_int_equal(settings.config.count, 3);
    assert_true(settings.learning_rate == 0.005);
    assert_true(settings.seed == 123456789012345);
    clf_recipe_free(again);

    /* Values have natural JSON types. */
    json_t *json = json_load_file(path, 0, NULL);
    assert_true(json_is_true(json_object_get(json, "tokens")));
    assert_true(json_is_integer(json_object_get(json, "batch-tokens")));
    assert_true(json_real_value(json_object_get(json_object_get(json, "config"), "dropout")) == 0.3);
    assert_true(json_is_true(json_object_get(json_object_get(json, "config"), "normalize_before")));
    assert_true(json_is_string(json_object_get(json_object_get(json, "config"), "activation_function")));
    json_decref(json);
}

static void test_a_bad_file_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"{\"seed\": 2, \"seed\": 3}", "duplicate"},
        {"{\"seed\": 2, \"sead\": 3}", "unknown setting \"sead\""},
        {"{\"seed\": 2, \"beta1\": 3}", "beta1: \"3\" is not a number from"},
        {"{\"epsilon\": 0}", "epsilon: \"0\" is not a number from 1e-18 to 1"},
        {"{\"seed\": 2, \"beta1\": \"0.9\"}", "\"beta1\": must be a number"},
        {"{\"seed\": 2, \"tokens\": 1}", "\"tokens\": must be true or false"},
        {"{\"seed\": 2, \"train\": {}}", "\"train\": must be a string"},
        {"{\"seed\": 2, \"train\": [1]}", "\"train\": must be a list of file names"},
        {"{\"seed\": 2, \"train\": [\"a\", \"b\", \"c\"]}", "train: requires FILE [FILE]"},
        {"{\"seed\": 2, \"config\": []}", "\"config\": must be an object"},
        {"{\"seed\": 2, \"config\": {\"dropout\": 1, \"dropout\": 2}}", "duplicate"},
        {"[]", "not a JSON object"},
        {"{", "recipe.json"},
    };
    assert_ok(set("train", "t"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = file_of(cases[i].text);
        assert_fails(clf_recipe_load(recipe, path), CLF_FORMAT, cases[i].part);
        assert_non_null(strstr(clf_last_error(), path));
        assert_int_equal(settings_of(recipe).seed, 1);
    }
    assert_fails(clf_recipe_load(recipe, "/nowhere/r.json"), CLF_FILE, "/nowhere/r.json");
    assert_ok(clf_recipe_load(recipe, file_of("{\"seed\": 2, \"train\": \"x\", \"from\": null}")));
    assert_int_equal(settings_of(recipe).seed, 2);
}

static void test_a_written_recipe_of_fine_tuning_reads_as_the_same(void **state)
{
    (void)state;
    assert_ok(set("train", "t"));
    assert_ok(set("from", "somewhere"));
    assert_ok(set("config", "dropout=0.2"));
    char path[256];
    snprintf(path, sizeof path, "%s/recipe.json", support_temporary_folder());
    assert_ok(clf_recipe_write(recipe, path));
    struct clf_recipe *again;
    assert_ok(clf_recipe_create(&again));
    assert_ok(clf_recipe_load(again, path));
    assert_string_equal(settings_of(again).from, "somewhere");
    assert_ok(clf__recipe_check_same(recipe, again, "out"));
    assert_ok(clf__recipe_check_same(again, recipe, "out"));
    clf_recipe_free(again);
}

/* Defaults come from the fine-tuned model. */
static void test_fine_tuning_has_the_preset_of_its_folder(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    char path[256];
    snprintf(path, sizeof path, "%s/config.json", folder);
    assert_ok(set("train", "t"));
    assert_ok(clf__recipe_take_preset(recipe)); /* no effect without `from` */
    assert_int_equal(settings_of(recipe).preset, CLF__MARIAN);
    assert_ok(set("from", folder));
    assert_fails(clf__recipe_take_preset(recipe), CLF_FILE, path);
    struct clf__model_description description = {
        .preset = "annotated", .source_vocabulary = 9, .target_vocabulary = 9, .end_id = 1, .start_id = 2};
    assert_ok(clf__model_describe(folder, &description));
    assert_ok(set("preset", "speech"));
    assert_fails(clf__recipe_take_preset(recipe), CLF_BAD_ARGUMENT, "preset: is speech");
    assert_ok(set("preset", "annotated"));
    assert_ok(clf__recipe_take_preset(recipe));
    clf_recipe_free(recipe);
    assert_ok(clf_recipe_create(&recipe));
    assert_ok(set("train", "t"));
    assert_ok(set("from", folder));
    assert_ok(clf__recipe_take_preset(recipe));
    struct clf__settings settings = settings_of(recipe);
    assert_int_equal(settings.preset, CLF__ANNOTATED);
    assert_int_equal(settings.loss, CLF__LOSS_KL);
    assert_int_equal(settings.warm_up, 3000);
}

/* The table in lib/model/config/KEYS.md: every key of config.json can be set, except those that other
 * choices determine. */
static void test_every_key_of_the_configuration_can_be_set(void **state)
{
    (void)state;
    static const char *const made[] = {"vocab_size", "decoder_vocab_size", "pad_token_id", "bos_token_id",
                                       "eos_token_id", "decoder_start_token_id",
                                       /* of LongT5, which is not trained */
                                       "encoder_attention_type", "local_radius", "global_block_size"};
    FILE *readme = fopen(CLF_SOURCE_FOLDER "/lib/model/config/KEYS.md", "r");
    assert_non_null(readme);
    char line[1024];
    int found = 0;
    while (fgets(line, sizeof line, readme) && strncmp(line, "## generation", 13) != 0) {
        if (strncmp(line, "| `", 3) != 0) {
            continue;
        }
        *strchr(line + 2, '|') = '\0'; /* the first column */
        for (char *key = strtok(line, "`"); key; key = strtok(NULL, "`")) {
            int is_made = key[0] == ' ' || key[0] == '|' || key[0] == ',';
            for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
                is_made |= strcmp(key, made[i]) == 0;
            }
            if (!is_made) {
                char pair[128];
                snprintf(pair, sizeof pair, "%s=1", key);
                assert_ok(set("config", pair));
                found++;
            }
        }
    }
    fclose(readme);
    assert_true(found > 40);
}

static clf_status use_a_recipe(const char *path)
{
    struct clf_recipe *made;
    static const char *const pairs[] = {"dropout=0.1", "d_k=3", "dropout=0.2"};
    CLF__TRY(clf_recipe_create(&made));
    clf_status status = clf_recipe_load(made, path);
    if (status == CLF_OK) {
        status = clf_recipe_set(made, "config", pairs, 3);
    }
    if (status == CLF_OK) {
        status = clf_recipe_write(made, path);
    }
    clf_recipe_free(made);
    return status;
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    const char *path = file_of("{\"train\": [\"a\", \"b\"], \"config\": {\"dropout\": 0.3, \"d_v\": 4}}");
    clf__memory_fail_at(0);
    assert_ok(use_a_recipe(path));
    uint64_t count = clf__memory_count();
    for (uint64_t n = 1; n <= count; n++) {
        clf__memory_fail_at(n);
        clf_status status = use_a_recipe(path);
        clf__memory_fail_at(0);
        assert_fails(status, CLF_OUT_OF_MEMORY, "memory");
    }
    assert_ok(use_a_recipe(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_table_says_its_defaults),
        TEST(test_defaults_are_the_presets),
        TEST(test_wrong_values_are_refused),
        TEST(test_contradictions_are_refused),
        TEST(test_fine_tuning_changes_dropout_alone),
        TEST(test_pairs_are_replaced_by_key),
        TEST(test_a_written_recipe_reads_as_the_same),
        TEST(test_a_bad_file_changes_nothing),
        TEST(test_every_key_of_the_configuration_can_be_set),
        TEST(test_every_allocation_may_fail),
        TEST(test_a_written_recipe_of_fine_tuning_reads_as_the_same),
        TEST(test_fine_tuning_has_the_preset_of_its_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
