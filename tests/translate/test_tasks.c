/* Tasks of T5 and BART: transformers' results for each, and the interaction of options and tasks. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <clformer/clformer.h>

#include "base/file.h"
#include "support/named_rows.h"
#include "support/support.h"

/* A copy of a fixture with a member of its config.json. */
static const char *with_member(const char *name, const char *key, json_t *value)
{
    char path[600], to[600];
    struct clf__names names;
    const char *fixture = support_fixture(name), *folder = support_temporary_folder();
    assert_ok(clf__folder_list(&names, fixture));
    for (int i = 0; i < names.count; i++) {
        snprintf(path, sizeof path, "%s/%s", fixture, names.items[i]);
        snprintf(to, sizeof to, "%s/%s", folder, names.items[i]);
        assert_ok(clf__file_copy(to, path));
    }
    clf__names_free(&names);
    snprintf(path, sizeof path, "%s/config.json", folder);
    json_t *config = json_load_file(path, 0, NULL);
    assert_int_equal(json_object_set_new(config, key, value), 0);
    assert_int_equal(json_dump_file(config, path, 0), 0);
    json_decref(config);
    return folder;
}

/* A copy whose config.json has the recorded tasks. */
static const char *with_tasks(const char *name, json_t **recorded)
{
    static const char key[] = "task_specific_params";
    char path[600];
    snprintf(path, sizeof path, "%s/tasks.json", support_fixture(name));
    *recorded = json_load_file(path, 0, NULL);
    assert_non_null(*recorded);
    return with_member(name, key, json_incref(json_object_get(*recorded, key)));
}

static struct clf_model *load(const char *folder)
{
    struct clf_model *model;
    assert_ok(clf_model_load(&model, support_device(CLF_VARIANT_AUTO), folder, NULL));
    return model;
}

/* The first translation of a text; the caller frees it. */
static struct clf_translation *translate(struct clf_model *model, const struct clf_translate_options *options,
                                         const char *text)
{
    struct clf_translator *translator;
    struct clf_translation *translation;
    const struct clf_line line = {text, strlen(text)};
    assert_ok(clf_translator_create(&translator, model, options));
    assert_ok(clf_translate(&translation, translator, &line, 1));
    assert_true(translation->count > 0);
    clf_translator_free(translator);
    return translation;
}

static void check_case(struct clf_model *model, const json_t *one)
{
    struct clf_translate_options options;
    const json_t *ids = json_object_get(one, "ids");
    const char *task = json_string_value(json_object_get(one, "task"));
    assert_ok(clf_translate_options_init_task(&options, model, task));
    struct clf_translation *translation =
        translate(model, &options, json_string_value(json_object_get(one, "text")));
    const struct clf_hypothesis *best = &translation->hypotheses[0];
    assert_int_equal(best->count, json_array_size(ids));
    for (int i = 0; i < best->count; i++) {
        assert_int_equal(best->ids[i], json_integer_value(json_array_get(ids, (size_t)i)));
    }
    assert_string_equal(best->text, json_string_value(json_object_get(one, "translation")));
    clf_translations_free(translation, 1);
}

static void test_as_transformers(void **state)
{
    (void)state;
    static const char *const names[] = {"models/t5-text", "models/bart-text"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        json_t *recorded;
        const char *folder = with_tasks(names[n], &recorded);
        if (strcmp(names[n], "models/t5-text") == 0) {
            name_rows(folder, 260, 279);
        }
        struct clf_model *model = load(folder);
        const json_t *cases = json_object_get(recorded, "cases");
        assert_true(json_array_size(cases) > 0);
        for (size_t i = 0; i < json_array_size(cases); i++) {
            check_case(model, json_array_get(cases, i));
        }
        clf_model_free(model);
        json_decref(recorded);
    }
}

/* Options set after the task take precedence; without a task it has no effect. */
static void test_options(void **state)
{
    (void)state;
    json_t *recorded;
    struct clf_translate_options options, plain;
    struct clf_model *model = load(with_tasks("models/t5-text", &recorded));
    json_decref(recorded);
    clf_translate_options_init(&plain, model);
    assert_null(plain.task);
    assert_int_not_equal(plain.beam, 4);
    assert_ok(clf_translate_options_init_task(&options, model, "summarization"));
    assert_string_equal(options.task, "summarization");
    assert_int_equal(options.beam, 4);
    assert_int_equal(options.no_repeat_ngram_size, 3);
    assert_int_equal(options.max_length, 23); /* 24 with the start token */
    assert_true(options.early_stopping == CLF_STOP_TRUE);
    assert_float_equal(options.length_penalty, 2.0, 1e-12);
    /* Only the prefix is left: equal to a text that begins with it. */
    plain.max_length = 8;
    struct clf_translation *expected = translate(model, &plain, "summarize: Je suis.");
    plain.task = "summarization";
    struct clf_translation *actual = translate(model, &plain, "Je suis.");
    assert_string_equal(actual->hypotheses[0].text, expected->hypotheses[0].text);
    assert_memory_equal(&actual->hypotheses[0].score, &expected->hypotheses[0].score, sizeof(float));
    clf_translations_free(actual, 1);
    clf_translations_free(expected, 1);
    clf_model_free(model);
}

/* An unknown token is replaced by the aligned source token, which may be in the task prefix; alternatives and
 * scores also use the whole text. */
static void test_with_other_options(void **state)
{
    (void)state;
    json_t *recorded;
    struct clf_translate_options options;
    struct clf_model *model = load(with_tasks("models/t5-text", &recorded));
    json_decref(recorded);
    clf_translate_options_init(&options, model);
    options.max_length = 6;
    options.forced_first = clf_model_token_id(model, "<unk>");
    options.replace_unknown = 1;
    for (options.alternatives = 0; options.alternatives <= 3; options.alternatives += 3) {
        options.task = NULL;
        struct clf_translation *expected = translate(model, &options, "summarize: Je suis.");
        assert_int_equal(expected->hypotheses[0].ids[0], options.forced_first);
        options.task = "summarization";
        struct clf_translation *actual = translate(model, &options, "Je suis.");
        assert_int_equal(actual->count, expected->count);
        for (int i = 0; i < actual->count; i++) {
            assert_string_equal(actual->hypotheses[i].text, expected->hypotheses[i].text);
            assert_memory_equal(&actual->hypotheses[i].score, &expected->hypotheses[i].score, sizeof(float));
        }
        clf_translations_free(actual, 1);
        clf_translations_free(expected, 1);
    }
    clf_model_free(model);
}

static double score(struct clf_model *model, const char *task)
{
    struct clf_translate_options options;
    struct clf_translator *translator;
    struct clf_score *scores;
    const struct clf_line source = {"Je suis.", 8}, target = {"I am.", 5};
    clf_translate_options_init(&options, model);
    options.task = task;
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_ok(clf_score(&scores, translator, &source, &target, 1));
    assert_int_equal(scores->status, CLF_OK);
    double found = scores->log_probability;
    clf_scores_free(scores, 1);
    clf_translator_free(translator);
    return found;
}

/* A task's decoder start token also applies to given targets. */
static void test_start(void **state)
{
    (void)state;
    struct clf_model *with_task =
        load(with_member("models/t5-text", "task_specific_params",
                         json_pack("{s:{s:i}, s:{}}", "other", "decoder_start_token_id", 5, "same")));
    struct clf_model *plain = load(with_member("models/t5-text", "decoder_start_token_id", json_integer(5)));
    double expected = score(plain, NULL);
    assert_true(score(with_task, "other") == expected);
    assert_true(score(with_task, "same") == score(with_task, NULL));
    assert_true(score(with_task, NULL) != expected);
    clf_model_free(with_task);
    clf_model_free(plain);
}

/* Frames have no text prefix. */
static void test_frames(void **state)
{
    (void)state;
    struct clf_translate_options options;
    struct clf_translator *translator;
    struct clf_model *model = load(
        with_member("models/speech", "task_specific_params",
                    json_pack("{s:{s:s}, s:{s:i}}", "told", "prefix", "hear: ", "silent", "num_beams", 2)));
    clf_translate_options_init(&options, model);
    options.task = "told";
    assert_fails(clf_translator_create(&translator, model, &options), CLF_BAD_ARGUMENT, "reads audio frames");
    options.task = "silent";
    assert_ok(clf_translator_create(&translator, model, &options));
    clf_translator_free(translator);
    clf_model_free(model);
}

static void test_refused(void **state)
{
    (void)state;
    json_t *recorded;
    struct clf_translate_options options;
    struct clf_translator *translator;
    struct clf_model *model = load(with_tasks("models/t5-text", &recorded));
    json_decref(recorded);
    assert_fails(clf_translate_options_init_task(&options, model, "sumarization"), CLF_BAD_ARGUMENT,
                 "did you mean \"summarization\"?); use one of summarization, translation_en_to_de, ");
    assert_fails(clf_translate_options_init_task(&options, model, NULL), CLF_BAD_ARGUMENT, "task: is NULL");
    clf_translate_options_init(&options, model);
    options.task = "nothing of this";
    assert_fails(clf_translator_create(&translator, model, &options), CLF_BAD_ARGUMENT, "no task");
    options.task = "summarization";
    options.subwords = 1;
    assert_fails(clf_translator_create(&translator, model, &options), CLF_BAD_ARGUMENT,
                 "the input is tokens");
    clf_model_free(model);
    model = load(support_fixture("models/t5-text"));
    assert_fails(clf_translate_options_init_task(&options, model, "x"), CLF_BAD_ARGUMENT,
                 "no tasks in config.json");
    clf_model_free(model);
}

static void test_inspected(void **state)
{
    (void)state;
    json_t *recorded;
    char *json;
    assert_ok(clf_inspect(&json, with_tasks("models/t5-text", &recorded)));
    json_t *object = json_loads(json, 0, NULL);
    assert_true(
        json_equal(json_object_get(object, "tasks"), json_object_get(recorded, "task_specific_params")));
    json_decref(object);
    json_decref(recorded);
    clf_string_free(json);
    assert_fails(clf_inspect(&json, NULL), CLF_BAD_ARGUMENT, "folder is NULL");
    assert_null(json);
}

/* A model whose task "long" has this prefix and whose tokenizer has this limit of tokens. */
static struct clf_model *load_limited(const char *prefix, int limit)
{
    char path[600], text[128];
    const char *folder = with_member("models/t5-text", "task_specific_params",
                                     json_pack("{s:{s:s}}", "long", "prefix", prefix));
    snprintf(path, sizeof path, "%s/tokenizer_config.json", folder);
    snprintf(text, sizeof text, "{\"tokenizer_class\": \"T5Tokenizer\", \"model_max_length\": %d}", limit);
    assert_ok(clf__file_write(path, text, strlen(text)));
    return load(folder);
}

/* A task's prefix is added to every part of a line, and counts towards the limit of a part. */
static void test_long_prefix(void **state)
{
    (void)state;
    static const char line[] = "Je suis Je suis Je suis";
    char prefix[1024] = "";
    for (int i = 0; i < 40; i++) {
        strcat(prefix, "Je suis ");
    }
    struct clf_translate_options options;
    struct clf_model *model = load_limited(prefix, 1000);
    clf_translate_options_init(&options, model);
    options.task = "long";
    options.max_length = 3;
    struct clf_translation *translation = translate(model, &options, line);
    int whole = translation->source_count;
    assert_int_equal(translation->cut_from, 0);
    assert_true(whole > 4 * (int)strlen(line) + 2); /* otherwise the line itself would reveal it */
    clf_translations_free(translation, 1);
    clf_model_free(model);
    model = load_limited(prefix, whole - 1);
    translation = translate(model, &options, line);
    assert_int_equal(translation->cut_from, whole);
    clf_translations_free(translation, 1);
    options.split_sentences = 1;
    translation = translate(model, &options, line);
    assert_int_equal(translation->cut_from, 0);
    clf_translations_free(translation, 1);
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_as_transformers, support_teardown),
        cmocka_unit_test_teardown(test_options, support_teardown),
        cmocka_unit_test_teardown(test_with_other_options, support_teardown),
        cmocka_unit_test_teardown(test_start, support_teardown),
        cmocka_unit_test_teardown(test_long_prefix, support_teardown),
        cmocka_unit_test_teardown(test_frames, support_teardown),
        cmocka_unit_test_teardown(test_refused, support_teardown),
        cmocka_unit_test_teardown(test_inspected, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
