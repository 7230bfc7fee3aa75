/* Folders with only a tokenizer.json give transformers' ids and text, recorded by
 * tests/fixtures/text/make_json.py. */
#include "support/tokenizer_fixture.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "support/spm_fixture.h"
#include "text/tokenizers/segmenters/segmenter.h"

/* For a model without framing, unless the class has one. */
#define ROWS(rows, start, end)                                                                               \
    {                                                                                                        \
        (rows), (rows), 0, (start), (end), -1, -1, -1, NULL                                                  \
    }
static const struct folder {
    const char *name, *model;
    struct clf__tokenizer_options options;
    int languages;
} folders[] = {
    {"t5", "Unigram", ROWS(266, -1, 1), 2},        {"mbart", "Unigram", ROWS(190, -1, 2), 25},
    {"mbart50", "Unigram", ROWS(214, -1, 2), 52},  {"nllb", "BPE", ROWS(366, -1, 2), 202},
    {"nllb-legacy", "BPE", ROWS(364, -1, 2), 202}, {"pegasus", "Unigram", ROWS(263, -1, 1), 0},
    {"bart", "BPE", ROWS(331, 0, 2), 0},           {"blenderbot", "BPE", ROWS(331, -1, 2), 0},
    {"llama", "BPE", ROWS(336, 7, 8), 0},          {"llama-first", "BPE", ROWS(340, -1, -1), 0},
    {"bert", "WordPiece", ROWS(200, -1, 9), 0},    {"wordlevel", "WordLevel", ROWS(121, -1, -1), 0},
    {"pairs", "BPE", ROWS(330, -1, -1), 0},        {"suffix", "BPE", ROWS(150, -1, -1), 0},
    {"prefix", "BPE", ROWS(150, -1, -1), 0},
};
enum { FOLDERS = sizeof folders / sizeof *folders };

static const char *path_of(const char *name, const char *file)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/tests/fixtures/text/json/%s%s%s", CLF_SOURCE_FOLDER, name,
             *file != '\0' ? "/" : "", file);
    return path;
}

static int same_ids(const struct clf__ids *ids, const json_t *expected)
{
    int same = ids->count == (int)json_array_size(expected);
    for (int i = 0; same && i < ids->count; i++) {
        same = ids->data[i] == json_integer_value(json_array_get(expected, (size_t)i));
    }
    return same;
}

/* Rows with only ids are only decoded. */
static void check_row(const struct clf__tokenizer *tokenizer, const char *name, const json_t *row)
{
    const char *line = json_string_value(json_object_get(row, "text"));
    const json_t *expected = json_object_get(row, "ids");
    struct clf__framing framing;
    struct clf__ids ids = {0};
    char *text;
    if (line != NULL) {
        assert_ok(clf__tokenizer_frame(&framing, tokenizer, json_string_value(json_object_get(row, "source")),
                                       NULL));
        assert_ok(clf__tokenizer_encode_source(tokenizer, &framing, &ids, line, strlen(line), 0));
        if (!same_ids(&ids, expected)) {
            fail_msg("%s: other ids than recorded for: %s", name, line);
        }
    }
    ids.count = 0;
    for (size_t i = 0; i < json_array_size(expected); i++) {
        assert_ok(clf__ids_append(&ids, (int32_t)json_integer_value(json_array_get(expected, i))));
    }
    assert_ok(clf__tokenizer_decode(tokenizer, &text, ids.data, ids.count, 0));
    if (strcmp(text, json_string_value(json_object_get(row, "decoded"))) != 0) {
        fail_msg("%s: \"%s\", not as recorded for: %s", name, text, line != NULL ? line : "ids alone");
    }
    clf__free(text);
    clf__ids_free(&ids);
}

static void test_every_folder_is_listed(void **state)
{
    (void)state;
    for (const char *const *name = support_fixture_folders("text/json", "lines.json"); *name != NULL;
         name++) {
        int i = 0;
        while (i < FOLDERS && strcmp(folders[i].name, *name) != 0) {
            i++;
        }
        if (i == FOLDERS) {
            fail_msg("tests/fixtures/text/json/%s has lines.json; add a row to `folders`", *name);
        }
    }
}

static void test_transformers_ids(void **state)
{
    (void)state;
    for (int i = 0; i < FOLDERS; i++) {
        struct clf__tokenizer *tokenizer = tokenizer_load(path_of(folders[i].name, ""), &folders[i].options);
        const char *segmenter = clf__tokenizer_segmenter(tokenizer)->name;
        assert_ptr_equal(strstr(segmenter, "tokenizer.json, "), segmenter);
        assert_string_equal(segmenter + strlen("tokenizer.json, "), folders[i].model);
        assert_int_equal(clf__tokenizer_languages(tokenizer), folders[i].languages);
        json_t *rows = json_load_file(path_of(folders[i].name, "lines.json"), 0, NULL), *row;
        size_t index;
        assert_true(json_array_size(rows) > 100);
        json_array_foreach(rows, index, row)
        {
            check_row(tokenizer, folders[i].name, row);
        }
        json_decref(rows);
        clf__tokenizer_free(tokenizer);
    }
}

static const struct clf__tokenizer_options *options_of(const char *name)
{
    int i = 0;
    while (strcmp(folders[i].name, name) != 0) {
        i++;
    }
    return &folders[i].options;
}

static struct clf__tokenizer *load(const char *name)
{
    return tokenizer_load(path_of(name, ""), options_of(name));
}

static void check_frame(const struct clf__tokenizer *tokenizer, const char *source, const char *target,
                        struct clf__framing expected)
{
    struct clf__framing framing;
    assert_ok(clf__tokenizer_frame(&framing, tokenizer, source, target));
    assert_memory_equal(framing.before, expected.before, sizeof framing.before);
    assert_memory_equal(framing.behind, expected.behind, sizeof framing.behind);
    assert_int_equal(framing.forced_first, expected.forced_first);
    assert_int_equal(framing.decoder_start, expected.decoder_start);
}

/* Languages have the positions of the class's own files; a general class frames as its file says. */
static void test_framing(void **state)
{
    (void)state;
    struct clf__tokenizer *tokenizer = load("mbart");
    int32_t english = clf__tokenizer_target_id(tokenizer, "en_XX");
    int32_t french = clf__tokenizer_target_id(tokenizer, "fr_XX");
    check_frame(tokenizer, "fr", "en", (struct clf__framing){{-1, -1}, {2, french}, NULL, -1, english});
    clf__tokenizer_free(tokenizer);
    tokenizer = load("nllb");
    int32_t portuguese = clf__tokenizer_target_id(tokenizer, "por_Latn");
    int32_t default_source = clf__tokenizer_target_id(tokenizer, "eng_Latn");
    check_frame(tokenizer, NULL, "pt",
                (struct clf__framing){{default_source, -1}, {2, -1}, NULL, portuguese, -1});
    clf__tokenizer_free(tokenizer);
    tokenizer = load("nllb-legacy");
    check_frame(tokenizer, NULL, NULL, (struct clf__framing){{-1, -1}, {2, default_source}, NULL, -1, -1});
    clf__tokenizer_free(tokenizer);
    tokenizer = load("llama");
    check_frame(tokenizer, NULL, NULL, (struct clf__framing){{1, -1}, {2, -1}, NULL, -1, -1});
    clf__tokenizer_free(tokenizer);
    tokenizer = load("bert");
    check_frame(tokenizer, NULL, NULL, (struct clf__framing){{2, -1}, {3, -1}, NULL, -1, -1});
    clf__tokenizer_free(tokenizer);
    tokenizer = load("blenderbot");
    check_frame(tokenizer, NULL, NULL, (struct clf__framing){{-1, -1}, {-1, -1}, NULL, -1, -1});
    clf__tokenizer_free(tokenizer);
}

/* The class of an architecture adds no languages to a text if the folder names a general class; on request it
 * does. */
static void test_general_class_of_an_architecture(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    char *text = NULL;
    json_t *root = json_load_file(path_of("nllb", "tokenizer.json"), 0, NULL);
    assert_non_null(root);
    assert_int_equal(json_object_set_new(root, "post_processor", json_null()), 0);
    text = json_dumps(root, 0);
    tokenizer_write(folder, "tokenizer.json", text);
    tokenizer_write(folder, "tokenizer_config.json", "{\"tokenizer_class\": \"PreTrainedTokenizerFast\"}");
    struct clf__tokenizer_options options = *options_of("nllb");
    options.class_name = "NllbTokenizer";
    struct clf__tokenizer *tokenizer = tokenizer_load(folder, &options);
    check_frame(tokenizer, NULL, NULL, (struct clf__framing){{-1, -1}, {-1, -1}, NULL, -1, -1});
    int32_t french = clf__tokenizer_target_id(tokenizer, "fra_Latn");
    check_frame(tokenizer, "fr", "fr", (struct clf__framing){{french, -1}, {-1, -1}, NULL, french, -1});
    clf__tokenizer_free(tokenizer);
    json_decref(root);
    free(text);
}

/* The files of a class take precedence over tokenizer.json; a folder without either is an error that names
 * the missing file. */
static void test_which_file(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    struct clf__tokenizer_options options = *options_of("bart");
    struct clf__tokenizer *tokenizer;
    tokenizer_write(folder, "tokenizer_config.json", "{\"tokenizer_class\": \"BartTokenizer\"}");
    assert_fails(clf__tokenizer_load(&tokenizer, folder, &options), CLF_FILE,
                 "merges.txt: the file is missing, but BartTokenizer requires it");
    tokenizer_write(folder, "tokenizer.json", "{}");
    assert_fails(clf__tokenizer_load(&tokenizer, folder, &options), CLF_FORMAT, "tokenizer.json: \"model\"");
    tokenizer_write(folder, "merges.txt", "");
    assert_fails(clf__tokenizer_load(&tokenizer, folder, &options), CLF_FORMAT, "tokenizer.json: \"model\"");
    tokenizer_write(folder, "vocab.json", "{\"a\": 0}");
    options.source_vocabulary = options.target_vocabulary = 1;
    assert_fails(clf__tokenizer_load(&tokenizer, folder, &options), CLF_FORMAT,
                 "vocab.json: the unknown token \"<unk>\"");
}

/* All pairs of tokens that form another are searched: if all do, this takes cubic time. */
static void test_tokens_of_each_other(void **state)
{
    (void)state;
    enum { LONGEST = 4000, MORE = 300, TOKEN_TEXT = 1 << 3 | 2 };
    struct bytes model = {0};
    char text[LONGEST];
    memset(text, 'a', sizeof text);
    for (size_t length = 1; length <= LONGEST; length++) {
        struct bytes token = {0};
        spm_append_field(&token, TOKEN_TEXT, text, length);
        spm_append_field(&model, SPM_PIECE, token.data, token.size);
        clf__free(token.data);
    }
    const char *folder = support_temporary_folder();
    char *path = NULL;
    assert_ok(clf__path_join(&path, folder, "sentencepiece.bpe.model"));
    assert_ok(clf__file_write(path, model.data, model.size));
    clf__free(path);
    clf__free(model.data);
    struct clf__tokenizer_options options = *options_of("nllb");
    struct clf__tokenizer *tokenizer;
    options.class_name = "NllbTokenizer";
    options.source_vocabulary = options.target_vocabulary = LONGEST + MORE;
    assert_fails(clf__tokenizer_load(&tokenizer, folder, &options), CLF_FORMAT,
                 "sentencepiece.bpe.model: \"model\", BPE: loading takes too long");
}

static clf_status load_and_use(const char *name)
{
    struct clf__tokenizer *tokenizer = NULL;
    struct clf__ids ids = {0};
    char *text = NULL;
    static const char line[] = "Je<unk> suis</s> l\u00e0 tok new_token x";
    clf_status status = clf__tokenizer_load(&tokenizer, path_of(name, ""), options_of(name));
    if (status == CLF_OK) {
        status = clf__tokenizer_encode(tokenizer, &ids, line, sizeof line - 1, 0, 0);
    }
    if (status == CLF_OK) {
        status = clf__tokenizer_decode(tokenizer, &text, ids.data, ids.count, 0);
    }
    clf__free(text);
    clf__ids_free(&ids);
    clf__tokenizer_free(tokenizer);
    return status;
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    static const char *const chosen[] = {"t5", "llama", "bert", "wordlevel", "suffix"};
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        clf__memory_fail_at(0);
        assert_ok(load_and_use(chosen[i]));
        uint64_t allocations = clf__memory_count();
        assert_true(allocations > 10);
        for (uint64_t n = 1; n <= allocations; n++) {
            clf__memory_fail_at(n);
            assert_fails(load_and_use(chosen[i]), CLF_OUT_OF_MEMORY, "");
        }
        clf__memory_fail_at(0);
    }
}

/* Unknown text is restored as it was written. */
static void test_unknown_tokens(void **state)
{
    (void)state;
    static const char text[] = "la \u6f22\u5b57 et \u2603\u6f22 a";
    static const struct {
        const char *name, *restored;
        int unknown;
    } rows[] = {
        {"t5", text, 2},      {"mbart", text, 2},
        {"mbart50", text, 2}, {"nllb", text, 2},
        {"pegasus", text, 2}, {"wordlevel", "la \u6f22\u5b57 et \u2603 \u6f22 a", 4},
        {"pairs", text, 0},   {"bert", "la \u6f22 \u5b57 et \u2603 \u6f22 a", 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct clf__tokenizer *tokenizer = load(rows[i].name);
        int unknown;
        char *restored = tokenizer_restore(tokenizer, text, &unknown);
        assert_string_equal(restored, rows[i].restored);
        assert_int_equal(unknown, rows[i].unknown);
        clf__free(restored);
        clf__tokenizer_free(tokenizer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_folder_is_listed),
        cmocka_unit_test(test_transformers_ids),
        cmocka_unit_test(test_framing),
        cmocka_unit_test(test_general_class_of_an_architecture),
        cmocka_unit_test(test_which_file),
        cmocka_unit_test(test_tokens_of_each_other),
        cmocka_unit_test(test_every_allocation_may_fail),
        cmocka_unit_test(test_unknown_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
