/* CTranslate2 folders on random models: CTranslate2's tokens and scores, greedy and with beams, in every
 * version of the file. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <clformer/clformer.h>

#include "base/file.h"
#include "base/memory.h"
#include "support/support.h"

enum { LONGEST = 1024, LONGEST_OUTPUT = 20, UNKNOWN = 5 /* words of a prefix */ };

static const char *folder_of(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "formats/ctranslate2/%s", name);
    return support_fixture(path);
}

/* Joins tokens with spaces. */
static char *join(const json_t *tokens)
{
    char *text = support_array(LONGEST, 1);
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        used += (size_t)snprintf(text + used, LONGEST - used, "%s%s", i > 0 ? " " : "",
                                 json_string_value(json_array_get(tokens, i)));
        assert_true(used < LONGEST);
    }
    return text;
}

static void check_line(const struct clf_translation *actual, const json_t *expected, const char *name,
                       size_t line)
{
    if (actual->status != CLF_OK) {
        fail_msg("%s, line %zu: %s", name, line + 1, actual->problem);
    }
    assert_int_equal(actual->count, json_array_size(expected));
    for (int n = 0; n < actual->count; n++) {
        const json_t *wanted = json_array_get(expected, (size_t)n);
        const char *text = join(json_object_get(wanted, "tokens"));
        double score = json_real_value(json_object_get(wanted, "score"));
        const struct clf_hypothesis *one = &actual->hypotheses[n];
        if (strcmp(one->text, text) != 0 || fabs((double)one->score - score) > 1e-4) {
            fail_msg("%s, line %zu, hypothesis %d: \"%s\" with score %.6f, expected \"%s\" with %.6f", name,
                     line + 1, n + 1, one->text, (double)one->score, text, score);
        }
    }
}

static void check_beams(struct clf_model *model, const json_t *cases, int beams, const char *name)
{
    char key[16];
    size_t count = json_array_size(cases);
    struct clf_line *lines = support_array(count, sizeof *lines);
    struct clf_line *prefixes = support_array(count, sizeof *prefixes);
    int has_prefixes = json_object_get(json_array_get(cases, 0), "prefix") != NULL;
    for (size_t i = 0; i < count; i++) {
        lines[i].text = join(json_object_get(json_array_get(cases, i), "source"));
        lines[i].size = strlen(lines[i].text);
        prefixes[i].text = join(json_object_get(json_array_get(cases, i), "prefix"));
        prefixes[i].size = strlen(prefixes[i].text);
    }
    struct clf_translate_options options;
    struct clf_translator *translator;
    struct clf_translation *translations;
    clf_translate_options_init(&options, model);
    assert_int_equal(options.beam, 2); /* CTranslate2's own */
    options.subwords = 1;
    options.beam = options.n_best = beams;
    options.max_length = LONGEST_OUTPUT;
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_ok(
        clf_translate_prefixed(&translations, translator, lines, has_prefixes ? prefixes : NULL, (int)count));
    snprintf(key, sizeof key, "beam%d", beams);
    for (size_t i = 0; i < count; i++) {
        check_line(&translations[i], json_object_get(json_array_get(cases, i), key), name, i);
    }
    clf_translations_free(translations, (int)count);
    clf_translator_free(translator);
}

static void test_translations(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    const char *const *name = support_fixture_folders("formats/ctranslate2", "expected.json");
    for (; *name != NULL; name++) {
        char path[512];
        snprintf(path, sizeof path, "formats/ctranslate2/%s/expected.json", *name);
        json_t *cases = json_load_file(support_fixture(path), 0, NULL);
        assert_true(json_array_size(cases) > 0);
        struct clf_model *model;
        struct clf_model_options options;
        clf_model_options_init(&options);
        options.precision = CLF_PRECISION_FP32;
        assert_ok(clf_model_load(&model, device, folder_of(*name), &options));
        check_beams(model, cases, 1, *name);
        check_beams(model, cases, 4, *name);
        clf_model_free(model);
        json_decref(cases);
    }
}

/* Variants: unknown tokens replaced by the single head that CTranslate2 uses; alternatives after a prefix; or
 * a coverage penalty from that head, with beams, greedy search and alternatives. */
static void check_record(struct clf_model *model, const json_t *record, const char *key, const char *name,
                         size_t number)
{
    struct clf_translate_options options;
    struct clf_translator *translator;
    struct clf_translation *translation;
    const json_t *outputs = json_object_get(record, "outputs");
    clf_translate_options_init(&options, model);
    options.subwords = 1;
    options.beam = (int)json_integer_value(json_object_get(record, "beams"));
    options.max_length = LONGEST_OUTPUT;
    if (strcmp(key, "replaced") == 0) {
        options.n_best = options.beam;
        options.replace_unknown = 1;
    } else if (strcmp(key, "covered") == 0) {
        int has_alternatives = json_is_true(json_object_get(record, "alternatives"));
        options.n_best = has_alternatives ? 1 : options.beam;
        options.alternatives = has_alternatives ? (int)json_array_size(outputs) : 0;
        options.coverage_penalty = json_real_value(json_object_get(record, "penalty"));
    } else if (strcmp(key, "stopped") == 0) {
        options.n_best = (int)json_array_size(outputs);
        options.patience = json_real_value(json_object_get(record, "patience"));
        options.length_penalty = json_real_value(json_object_get(record, "length_penalty"));

    } else {
        options.alternatives = (int)json_array_size(outputs);
    }
    assert_ok(clf_translator_create(&translator, model, &options));
    struct clf_line line = {.text = join(json_object_get(record, "source"))};
    struct clf_line prefix = {.text = join(json_object_get(record, "prefix"))};
    line.size = strlen(line.text);
    prefix.size = strlen(prefix.text);
    assert_ok(clf_translate_prefixed(&translation, translator, &line, &prefix, 1));
    check_line(translation, outputs, name, number);
    assert_null(translation->hypotheses[0].alignment);
    clf_translations_free(translation, 1);
    clf_translator_free(translator);
}

static void check_records(struct clf_model *model, const json_t *cases, const char *key, const char *name)
{
    const json_t *records = json_object_get(cases, key);
    assert_true(json_array_size(records) > 0);
    for (size_t k = 0; k < json_array_size(records); k++) {
        check_record(model, json_array_get(records, k), key, name, k);
    }
}

static void test_decoding(void **state)
{
    (void)state;
    const char *const *name = support_fixture_folders("formats/ctranslate2", "decoding.json");
    for (; *name != NULL; name++) {
        char path[512];
        snprintf(path, sizeof path, "formats/ctranslate2/%s/decoding.json", *name);
        json_t *cases = json_load_file(support_fixture(path), 0, NULL);
        struct clf_model *model;
        struct clf_model_options options;
        clf_model_options_init(&options);
        options.precision = CLF_PRECISION_FP32;
        assert_ok(clf_model_load(&model, support_device(CLF_VARIANT_AUTO), folder_of(*name), &options));
        check_records(model, cases, "replaced", *name);
        check_records(model, cases, "alternatives", *name);
        check_records(model, cases, "covered", *name);
        check_records(model, cases, "stopped", *name);
        clf_model_free(model);
        json_decref(cases);
    }
}

/* A model whose decoder start token comes from the caller requires one. */
static void test_no_start(void **state)
{
    (void)state;
    struct clf_model *model;
    struct clf_translator *translator;
    assert_ok(clf_model_load(&model, support_device(CLF_VARIANT_AUTO), folder_of("given-start"), NULL));
    assert_ok(clf_translator_create(&translator, model, NULL));
    struct clf_line line = {"s1 s2", 5}, none = {"", 0};
    struct clf_line prefixes[] = {none, {"s3", 2}, none}, lines[] = {line, line, none};
    struct clf_translation *translations;
    assert_fails(clf_translate(&translations, translator, &line, 1), CLF_BAD_ARGUMENT,
                 "given-start: does not define the decoder's start token; pass it as the first token of a "
                 "target prefix");
    struct clf_score *scores;
    assert_fails(clf_score(&scores, translator, &line, &line, 1), CLF_BAD_ARGUMENT,
                 "does not define the decoder's start");
    /* A missing prefix fails only its line; an empty line needs none. */
    assert_ok(clf_translate_prefixed(&translations, translator, lines, prefixes, 3));
    assert_int_equal(translations[0].status, CLF_TEXT);
    assert_non_null(strstr(translations[0].problem, "the target prefix is empty"));
    assert_true(translations[1].status == CLF_OK && translations[1].count > 0);
    assert_int_equal(translations[2].status, CLF_OK);
    clf_translations_free(translations, 3);
    clf_translator_free(translator);
    clf_model_free(model);
}

/* With Hugging Face tokenizer files beside the model: text in, text out. */
static void test_texts_by_a_tokenizer(void **state)
{
    (void)state;
    static const struct {
        const char *folder, *source, *target;
    } rows[] = {{"nllb", "fra_Latn", "por_Latn"},
                {"m2m100", "fr", "pt"},
                {"t5", NULL, NULL},
                {"bart", NULL, NULL},
                {"mbart", "fr_XX", "ro_RO"}};
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char path[300];
        snprintf(path, sizeof path, "formats/ctranslate2-text/%s", rows[r].folder);
        struct clf_model *model;
        struct clf_model_options model_options;
        clf_model_options_init(&model_options);
        model_options.precision = CLF_PRECISION_FP32;
        assert_ok(clf_model_load(&model, device, support_fixture(path), &model_options));
        struct clf_translate_options options;
        clf_translate_options_init(&options, model);
        options.source_language = rows[r].source;
        options.target_language = rows[r].target;
        options.max_length = LONGEST_OUTPUT;
        struct clf_translator *translator;
        assert_ok(clf_translator_create(&translator, model, &options));
        strcat(path, "/expected.json");
        json_t *cases = json_load_file(support_fixture(path), 0, NULL);
        assert_true(json_array_size(cases) > 0);
        for (size_t i = 0; i < json_array_size(cases); i++) {
            const json_t *one = json_array_get(cases, i);
            const char *text = json_string_value(json_object_get(one, "text"));
            struct clf_line line = {.text = text, .size = strlen(text)};
            struct clf_translation *translations;
            assert_ok(clf_translate(&translations, translator, &line, 1));
            assert_string_equal(translations->hypotheses[0].text,
                                json_string_value(json_object_get(one, "expected")));
            clf_translations_free(translations, 1);
        }
        json_decref(cases);
        clf_translator_free(translator);
        clf_model_free(model);
    }
}

/* The first word repeated, then the second. */
static char *write_words(const char *first, int count, const char *second)
{
    char *text = support_array(((size_t)count + 1) * 16, 1), *end = text;
    for (int i = 0; i < count; i++) {
        end += sprintf(end, "%s ", first);
    }
    strcpy(end, second);
    return text;
}

/* Truncation keeps the last word: an unknown word aligned with it is replaced by it, not by the word
 * originally at its position. */
static void check_cut(const char *folder, int framing)
{
    struct clf_model *model;
    struct clf_translator *translator;
    struct clf_translate_options options;
    struct clf_translation *translation;
    assert_ok(clf_model_load(&model, support_device(CLF_VARIANT_AUTO), folder, NULL));
    int longest = clf_model_describe(model)->max_source_length, at_last = 0;
    clf_translate_options_init(&options, model);
    options.subwords = options.beam = options.n_best = options.replace_unknown = options.alignment_layer = 1;
    options.max_length = UNKNOWN + 2;
    assert_ok(clf_translator_create(&translator, model, &options));
    for (int32_t id = 8; id < 24; id++) {
        const char *one = clf_model_token(model, 7), *other = clf_model_token(model, id);
        struct clf_line line = {.text = write_words(one, longest + 3, other)};
        struct clf_line prefix = {.text = write_words("<unk>", UNKNOWN - 1, "<unk>")};
        line.size = strlen(line.text);
        prefix.size = strlen(prefix.text);
        assert_ok(clf_translate_prefixed(&translation, translator, &line, &prefix, 1));
        assert_int_equal(translation->cut_from, longest + 4 + framing);
        const struct clf_hypothesis *found = translation->hypotheses;
        const char *text = found->text;
        for (int i = 0; i < UNKNOWN; i++) {
            int is_last = found->alignment[i] == longest - 1 - framing;
            const char *wanted = is_last ? other : one;
            assert_memory_equal(text, wanted, strlen(wanted));
            text += strlen(wanted) + 1;
            at_last += is_last;
        }
        clf_translations_free(translation, 1);
    }
    assert_true(at_last > 0);
    clf_translator_free(translator);
    clf_model_free(model);
}

/* Copies a file into a folder. */
static void copy(const char *folder, const char *name, const char *from)
{
    char *path = NULL;
    assert_ok(clf__path_join(&path, folder, name));
    assert_ok(clf__file_copy(path, from));
    clf__free(path);
}

/* The fixture with a start token for sources. */
static const char *with_start(void)
{
    static const char *const files[] = {"model.bin", "shared_vocabulary.json"};
    const char *folder = support_temporary_folder();
    char path[LONGEST];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder_of("embedding-norm"), files[i]);
        copy(folder, files[i], path);
    }
    snprintf(path, sizeof path, "%s/config.json", folder_of("embedding-norm"));
    json_t *config = json_load_file(path, 0, NULL);
    assert_int_equal(json_object_set_new(config, "add_source_bos", json_true()), 0);
    snprintf(path, sizeof path, "%s/config.json", folder);
    assert_int_equal(json_dump_file(config, path, 0), 0);
    json_decref(config);
    return folder;
}

static void test_replaced_where_cut(void **state)
{
    (void)state;
    check_cut(folder_of("embedding-norm"), 0);
    check_cut(with_start(), 1);
}

/* A CTranslate2 folder in an Argos Translate package. */
static const char *pack(const char *metadata, const char *text_model)
{
    static const char *const kept[] = {"config.json", "shared_vocabulary.json", "model.bin"};
    const char *folder = support_temporary_folder();
    char *model = NULL, *path = NULL;
    assert_ok(clf__path_join(&model, folder, "model"));
    assert_ok(clf__folder_create(model));
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        char from[300];
        snprintf(from, sizeof from, "formats/ctranslate2/post-norm/%s", kept[i]);
        copy(model, kept[i], support_fixture(from));
    }
    clf__free(model);
    assert_ok(clf__path_join(&path, folder, "metadata.json"));
    assert_ok(clf__file_write(path, metadata, strlen(metadata)));
    clf__free(path);
    if (text_model != NULL) {
        copy(folder, text_model, support_fixture("text/t5/spiece.model"));
    }
    return folder;
}

static void check_refused(const char *folder, clf_status status, const char *part)
{
    char *json;
    assert_fails(clf_inspect(&json, folder), status, part);
    clf_string_free(json); /* the description of an unsupported model */
}

static void test_argos(void **state)
{
    (void)state;
    const char *folder = pack("{\"from_code\": \"fr\", \"to_code\": \"en\"}", "sentencepiece.model");
    struct clf_model *model;
    struct clf_translate_options options;
    assert_ok(clf_model_load(&model, support_device(CLF_VARIANT_AUTO), folder, NULL));
    clf_translate_options_init(&options, model);
    assert_int_equal(options.beam, 4);
    assert_float_equal(options.length_penalty, 0.2, 1e-12);
    clf_model_free(model);
    char *json;
    assert_ok(clf_inspect(&json, folder));
    assert_non_null(strstr(json, "\"format\":\"Argos Translate\""));
    clf_string_free(json);
    check_refused(pack("{}", "bpe.model"), CLF_FORMAT,
                  "\"from_code\" is missing, but the tokenizer of bpe.model requires");
    check_refused(pack("{}", NULL), CLF_FILE,
                  "neither sentencepiece.model nor bpe.model in the package; download");
    check_refused(pack("{\"type\": \"sbd\"}", "sentencepiece.model"), CLF_UNSUPPORTED, "\"type\" is \"sbd\"");
    check_refused(pack("{\"target_prefix\": \"__pt__\"}", "sentencepiece.model"), CLF_FORMAT,
                  "\"target_prefix\" \"__pt__\" is not in the model's vocabulary");
}

/* A copy of a folder in which one file is replaced. */
static const char *change(const char *name, const char *file, const char *text)
{
    static const char *const kept[] = {"config.json", "shared_vocabulary.json", "model.bin"};
    const char *copy = support_temporary_folder();
    char *path = NULL;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        char *from = NULL;
        assert_ok(clf__path_join(&from, folder_of(name), kept[i]));
        assert_ok(clf__path_join(&path, copy, kept[i]));
        assert_ok(clf__file_copy(path, from));
        clf__free(from);
        clf__free(path);
    }
    assert_ok(clf__path_join(&path, copy, file));
    assert_ok(clf__file_write(path, text, strlen(text)));
    clf__free(path);
    return copy;
}

static void test_bad_folders(void **state)
{
    (void)state;
    check_refused(change("post-norm", "config.json", "{\"eos_token\": \"<end>\"}"), CLF_FORMAT,
                  "the end token \"<end>\" is missing");
    check_refused(change("post-norm", "shared_vocabulary.json", "[\"</s>\", \"<unk>\"]"), CLF_FORMAT,
                  "shared_vocabulary.json: 2 tokens, but model.bin has 61 rows");
    check_refused(change("post-norm", "shared_vocabulary.json", "[\"</s>\", 7]"), CLF_FORMAT,
                  "token 1 is not a string");
    check_refused(change("post-norm", "shared_vocabulary.json", "{}"), CLF_FORMAT, "not a list of tokens");
    check_refused(change("post-norm", "model.bin", "\6"), CLF_FORMAT,
                  "model.bin: the list of variables is truncated");
}

/* Replaces a number in model.bin, which follows its name, type and size. */
static const char *set_number(const char *name, const char *setting, float number)
{
    enum { RANK_TYPE_SIZE = 1 + 1 + 4 };
    const char *copy = change(name, "unused.txt", "");
    size_t size, length = strlen(setting) + 1, at = 0;
    char *path = NULL, *bytes;
    assert_ok(clf__path_join(&path, copy, "model.bin"));
    assert_ok(clf__file_read(&bytes, &size, path, 1 << 24));
    while (at + length < size && memcmp(bytes + at, setting, length) != 0) {
        at++;
    }
    at += length + RANK_TYPE_SIZE;
    assert_true(at + sizeof number <= size);
    memcpy(bytes + at, &number, sizeof number);
    assert_ok(clf__file_write(path, bytes, size));
    clf__free(bytes);
    clf__free(path);
    return copy;
}

static void test_numbers_that_cannot_be(void **state)
{
    (void)state;
    check_refused(set_number("t5", "encoder/layer_0/self_attention/queries_scale", NAN), CLF_FORMAT,
                  "\"encoder/layer_0/self_attention/queries_scale\" is ");
    check_refused(set_number("t5", "decoder/scale_outputs", INFINITY), CLF_FORMAT,
                  "\"decoder/scale_outputs\" is inf; download the file or convert the model again");
    check_refused(set_number("t5", "decoder/layer_0/attention/queries_scale", 0.25f), CLF_UNSUPPORTED,
                  "\"decoder/layer_0/attention/queries_scale\" is 0.25, but 1 in the first encoder layer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_translations, support_teardown),
        cmocka_unit_test_teardown(test_decoding, support_teardown),
        cmocka_unit_test_teardown(test_no_start, support_teardown),
        cmocka_unit_test_teardown(test_replaced_where_cut, support_teardown),
        cmocka_unit_test_teardown(test_texts_by_a_tokenizer, support_teardown),
        cmocka_unit_test_teardown(test_argos, support_teardown),
        cmocka_unit_test_teardown(test_bad_folders, support_teardown),
        cmocka_unit_test_teardown(test_numbers_that_cannot_be, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
