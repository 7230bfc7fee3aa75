/* Ids and text equal transformers' tokenizers of other classes, in folders of
 * tests/fixtures/text/make_architectures.py; positions of languages, and errors. */
#include "support/tokenizer_fixture.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"

/* A folder of each class, with spare rows after its tokens. */
static const struct folder {
    const char *name;
    struct clf__tokenizer_options options;
    int languages;
} folders[] = {
#define BART(rows)                                                                                           \
    {                                                                                                        \
        (rows), (rows), 0, -1, 2, 1, 0, 2, NULL                                                              \
    }
#define FSMT(source, target)                                                                                 \
    {                                                                                                        \
        (source), (target), 1, -1, 2, 1, 0, 2, "FSMTTokenizer"                                               \
    }
#define T5(rows)                                                                                             \
    {                                                                                                        \
        (rows), (rows), 0, -1, 1, 0, -1, 1, NULL                                                             \
    }
    {"text/mbart", BART(190), 25},
    {"text/mbart50", BART(220), 52},
    {"text/nllb", BART(366), 202},
    {"text/nllb-legacy", BART(364), 202},
    {"text/m2m100", BART(269), 100},
    {"text/pegasus", T5(270), 0},
    {"text/t5", T5(280), 2},
    {"text/bart", {331, 331, 0, 0, 2, 1, 0, 2, NULL}, 0},
    {"text/blenderbot", {340, 340, 0, -1, -1, 0, 1, 2, NULL}, 0},
    {"text/blenderbot-small", {280, 280, 0, -1, -1, 0, 1, 2, NULL}, 0},
    {"text/fsmt-en-ru", FSMT(134, 134), 0},
    {"text/fsmt-de-en", FSMT(119, 156), 0},
    {"text/fsmt-ru-en", FSMT(102, 145), 0},
};
enum { FOLDERS = sizeof folders / sizeof *folders };

static struct clf__tokenizer *load(const char *name)
{
    for (int i = 0; i < FOLDERS; i++) {
        if (strcmp(folders[i].name, name) == 0) {
            return tokenizer_load(support_fixture(name), &folders[i].options);
        }
    }
    fail_msg("no folder %s", name);
    return NULL;
}

static void check_ids(const struct clf__ids *ids, const json_t *expected, const char *line)
{
    int same = ids->count == (int)json_array_size(expected);
    for (int i = 0; same && i < ids->count; i++) {
        same = ids->data[i] == json_integer_value(json_array_get(expected, (size_t)i));
    }
    if (!same) {
        for (int i = 0; i < ids->count; i++) {
            print_message("%d ", (int)ids->data[i]);
        }
        fail_msg("other ids than recorded for: %s", line);
    }
}

/* Rows with only ids are only decoded. */
static void check_row(const struct clf__tokenizer *tokenizer, const json_t *row)
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
        check_ids(&ids, expected, line);
    }
    ids.count = 0;
    for (size_t i = 0; i < json_array_size(expected); i++) {
        assert_ok(clf__ids_append(&ids, (int32_t)json_integer_value(json_array_get(expected, i))));
    }
    assert_ok(clf__tokenizer_decode(tokenizer, &text, ids.data, ids.count, 0));
    assert_string_equal(text, json_string_value(json_object_get(row, "decoded")));
    clf__free(text);
    clf__ids_free(&ids);
}

static void test_every_folder_is_listed(void **state)
{
    (void)state;
    for (const char *const *name = support_fixture_folders("text", "lines.json"); *name != NULL; name++) {
        int i = 0;
        while (i < FOLDERS && strcmp(folders[i].name + strlen("text/"), *name) != 0) {
            i++;
        }
        if (i == FOLDERS) {
            fail_msg("tests/fixtures/text/%s has lines.json; add a row to `folders`", *name);
        }
    }
}

static void test_transformers_ids(void **state)
{
    (void)state;
    for (int i = 0; i < FOLDERS; i++) {
        struct clf__tokenizer *tokenizer = load(folders[i].name);
        assert_int_equal(clf__tokenizer_languages(tokenizer), folders[i].languages);
        char path[256];
        snprintf(path, sizeof path, "%s/%s/lines.json", CLF_SOURCE_FOLDER "/tests/fixtures", folders[i].name);
        json_t *rows = json_load_file(path, 0, NULL), *row;
        size_t index;
        assert_true(json_array_size(rows) > 40);
        json_array_foreach(rows, index, row)
        {
            check_row(tokenizer, row);
        }
        json_decref(rows);
        clf__tokenizer_free(tokenizer);
    }
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

static int32_t id_of(const struct clf__tokenizer *tokenizer, const char *token)
{
    int32_t id = clf__tokenizer_target_id(tokenizer, token);
    assert_true(id >= 0);
    return id;
}

static void test_where_languages_go(void **state)
{
    (void)state;
    struct clf__tokenizer *tokenizer = load("text/mbart");
    int32_t english = id_of(tokenizer, "en_XX"), french = id_of(tokenizer, "fr_XX");
    check_frame(tokenizer, NULL, NULL, (struct clf__framing){{-1, -1}, {2, english}, NULL, -1, -1});
    check_frame(tokenizer, "fr", "en", (struct clf__framing){{-1, -1}, {2, french}, NULL, -1, english});
    clf__tokenizer_free(tokenizer);
    tokenizer = load("text/nllb");
    french = id_of(tokenizer, "fra_Latn");
    int32_t portuguese = id_of(tokenizer, "por_Latn");
    check_frame(tokenizer, "fra_Latn", "pt",
                (struct clf__framing){{french, -1}, {2, -1}, NULL, portuguese, -1});
    assert_true(clf__tokenizer_needs_target(tokenizer));
    assert_true(clf__tokenizer_is_language(tokenizer, french));
    assert_false(clf__tokenizer_is_language(tokenizer, 2));
    assert_string_equal(clf__tokenizer_source_language(tokenizer), "eng_Latn");
    assert_null(clf__tokenizer_target_language(tokenizer));
    clf__tokenizer_free(tokenizer);
    tokenizer = load("text/nllb-legacy");
    check_frame(tokenizer, "fr", NULL, (struct clf__framing){{-1, -1}, {2, french}, NULL, -1, -1});
    clf__tokenizer_free(tokenizer);
    tokenizer = load("text/m2m100");
    check_frame(tokenizer, NULL, "DE",
                (struct clf__framing){
                    {id_of(tokenizer, "__en__"), -1}, {2, -1}, NULL, id_of(tokenizer, "__de__"), -1});
    clf__tokenizer_free(tokenizer);
}

/* A word before the text, as users write it. */
static void check_word(const char *folder, const struct clf__tokenizer_options *options, const char *language,
                       const char *line)
{
    struct clf__tokenizer *tokenizer = tokenizer_load(folder, options);
    struct clf__framing framing;
    struct clf__ids with = {0}, written = {0};
    assert_ok(clf__tokenizer_frame(&framing, tokenizer, NULL, language));
    assert_int_equal(framing.forced_first, -1);
    assert_false(clf__tokenizer_needs_target(tokenizer));
    const char *text = strchr(line, ' ') + 1;
    assert_ok(clf__tokenizer_encode_source(tokenizer, &framing, &with, text, strlen(text), 0));
    assert_ok(clf__tokenizer_encode(tokenizer, &written, line, strlen(line), 0, 0));
    assert_int_equal(with.count, written.count);
    assert_memory_equal(with.data, written.data, (size_t)with.count * sizeof *with.data);
    assert_fails(clf__tokenizer_frame(&framing, tokenizer, language, NULL), CLF_BAD_ARGUMENT,
                 "this model has no source language setting; remove --source-language");
    clf__ids_free(&with);
    clf__ids_free(&written);
    clf__tokenizer_free(tokenizer);
}

static void test_languages_in_text(void **state)
{
    (void)state;
    check_word(support_fixture("text/t5"), &folders[6].options, "fr", "<2fr> Je suis");
    struct clf__tokenizer_options marian = tokenizer_subword_options;
    check_word(support_fixture("text/shared"), &marian, "fr", ">>fr<< I am");
    marian.class_name = "MarianTokenizer";
    struct clf__tokenizer *words = tokenizer_load_words(&tokenizer_word_options);
    struct clf__framing framing;
    assert_fails(clf__tokenizer_frame(&framing, words, NULL, "fr"), CLF_BAD_ARGUMENT,
                 "this model has no language setting; remove the language \"fr\"");
    clf__tokenizer_free(words);
}

static void test_codes(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"por_Latn", "por_Latn"}, {"POR_latn", "por_Latn"}, {"pt", "por_Latn"},      {"por", "por_Latn"},
        {"zh-Hant", "zho_Hant"},  {"ar-Arab", "arb_Arab"},  {"arb", "arb_Arab"},     {"lv", "lvs_Latn"},
        {"ms", "zsm_Latn"},       {"sr", "srp_Cyrl"},       {"yue", "yue_Hant"},     {"nb", "nob_Latn"},
        {"fa", "pes_Arab"},       {"kas-Deva", "kas_Deva"}, {"taq_Tfng", "taq_Tfng"}};
    struct clf__tokenizer *tokenizer = load("text/nllb");
    struct clf__framing framing;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_ok(clf__tokenizer_frame(&framing, tokenizer, NULL, rows[i][0]));
        assert_string_equal(clf__tokenizer_target_token(tokenizer, framing.forced_first), rows[i][1]);
    }
    static const char *const bad[][2] = {
        {"zh", "matches several languages of the model: \"zho_Hans\", \"zho_Hant\"; use one of these"},
        {"eng_Lat", "not one of the model's 202 languages; did you mean \"eng_Latn\"?"},
        {"xx", "\"xx\" is not one of the model's 202 languages; run `clformer inspect` for the list"},
        {"", "is not one of"},
        {"pt_BR", "is not one of"},
        {"a-code-that-is-longer-than-any-language-has", "is not one of"},
        {"English", "is not one of"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_fails(clf__tokenizer_frame(&framing, tokenizer, NULL, bad[i][0]), CLF_BAD_ARGUMENT, bad[i][1]);
        assert_fails(clf__tokenizer_frame(&framing, tokenizer, bad[i][0], NULL), CLF_BAD_ARGUMENT, bad[i][1]);
    }
    clf__tokenizer_free(tokenizer);
}

/* A folder of one class in which tests write a tokenizer_config.json. */
static const char *copy_folder(const char *name, const char *config)
{
    static const char *const files[] = {"sentencepiece.bpe.model", "spiece.model", "vocab.json",
                                        "merges.txt"};
    const char *folder = support_temporary_folder();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char from[256], *to, *bytes;
        size_t size;
        snprintf(from, sizeof from, "%s/%s/%s", CLF_SOURCE_FOLDER "/tests/fixtures", name, files[i]);
        FILE *file = fopen(from, "r");
        if (file != NULL) {
            fclose(file);
            assert_ok(clf__file_read(&bytes, &size, from, 1 << 24));
            assert_ok(clf__path_join(&to, folder, files[i]));
            assert_ok(clf__file_write(to, bytes, size));
            clf__free(bytes);
            clf__free(to);
        }
    }
    if (config != NULL) {
        tokenizer_write(folder, "tokenizer_config.json", config);
    }
    return folder;
}

static void test_which_class(void **state)
{
    (void)state;
    struct clf__tokenizer_options options = folders[0].options;
    options.source_vocabulary = options.target_vocabulary = 220;
    options.class_name = "MBartTokenizer";
    /* The default of the architecture; from config.json; from tokenizer_config.json. */
    const char *folder = copy_folder("text/mbart", NULL);
    struct clf__tokenizer *tokenizer = tokenizer_load(folder, &options);
    assert_string_equal(clf__tokenizer_class_name(tokenizer), "MBartTokenizer");
    clf__tokenizer_free(tokenizer);
    tokenizer_write(folder, "config.json", "{\"tokenizer_class\": \"MBart50TokenizerFast\"}");
    tokenizer = tokenizer_load(folder, &options);
    assert_string_equal(clf__tokenizer_class_name(tokenizer), "MBart50Tokenizer");
    assert_int_equal(clf__tokenizer_languages(tokenizer), 52);
    clf__tokenizer_free(tokenizer);
    tokenizer_write(
        folder, "tokenizer_config.json",
        "{\"tokenizer_class\": \"MBartTokenizerFast\", \"src_lang\": \"ro_RO\", \"tgt_lang\": \"fr_XX\"}");
    tokenizer = tokenizer_load(folder, &options);
    assert_int_equal(clf__tokenizer_languages(tokenizer), 25);
    assert_string_equal(clf__tokenizer_source_language(tokenizer), "ro_RO");
    assert_string_equal(clf__tokenizer_target_language(tokenizer), "fr_XX");
    clf__tokenizer_free(tokenizer);
}

static void test_rows_behind_the_tokens(void **state)
{
    (void)state;
    struct clf__tokenizer *tokenizer = load("text/t5");
    char *text;
    static const int32_t ids[] = {8, 279, 8, 259, 1, 0};
    assert_string_equal(clf__tokenizer_target_token(tokenizer, 259), "<extra_id_0>");
    assert_string_equal(clf__tokenizer_target_token(tokenizer, 279), "<unused_279>");
    assert_ok(clf__tokenizer_decode(tokenizer, &text, ids, 6, 0));
    assert_string_equal(text, "ss");
    clf__free(text);
    clf__tokenizer_free(tokenizer);
    /* Sentinels without model rows; a token that the folder adds, which is text. */
    struct clf__tokenizer_options options = folders[6].options;
    options.source_vocabulary = options.target_vocabulary = 161;
    tokenizer = tokenizer_load(support_fixture("text/t5"), &options);
    assert_string_equal(clf__tokenizer_target_token(tokenizer, 160), "<extra_id_99>");
    clf__tokenizer_free(tokenizer);
    const char *folder = copy_folder("text/t5", "{\"extra_ids\": 0, \"added_tokens_decoder\": {\"160\": "
                                                "{\"content\": \"<new>\", \"special\": false}}}");
    options.class_name = "T5Tokenizer";
    tokenizer = tokenizer_load(folder, &options);
    struct clf__ids found = {0};
    assert_ok(clf__tokenizer_encode(tokenizer, &found, "<new>", 5, 1, 0));
    assert_ids(found, 160, 1);
    assert_ok(clf__tokenizer_decode(tokenizer, &text, found.data, found.count, 0));
    assert_string_equal(text, "<new>");
    clf__free(text);
    clf__ids_free(&found);
    clf__tokenizer_free(tokenizer);
}

static void test_bad_folders(void **state)
{
    (void)state;
    static const struct {
        const char *from, *config;
        int folder, rows;
        clf_status status;
        const char *part;
    } rows[] = {
        {"text/mbart", "{\"tokenizer_class\": \"MBartTokenizer\"}", 0, 186, CLF_OK, ""},
        {"text/t5",
         "{\"tokenizer_class\": \"T5Tokenizer\", \"added_tokens_decoder\": {\"900\": {\"content\": \"x\"}}}",
         6, 280, CLF_FORMAT, "the added token \"x\" has the id 900, far above the 280 other tokens"},
        {"text/mbart", "{\"tokenizer_class\": \"T5Tokenizer\"}", 0, 190, CLF_FILE,
         "spiece.model: the file is missing, but T5Tokenizer requires it"},
        {"text/mbart", "{\"tokenizer_class\": \"M2M100Tokenizer\"}", 0, 300, CLF_FILE, "vocab.json"},
        {"text/mbart", "{\"tokenizer_class\": \"MBartTokenizer\", \"src_lang\": \"en\"}", 0, 190, CLF_OK, ""},
        {"text/mbart", "{\"tokenizer_class\": \"MBartTokenizer\", \"src_lang\": \"eng\"}", 0, 190, CLF_OK,
         ""},
        {"text/mbart", "{\"tokenizer_class\": \"MBartTokenizer\", \"src_lang\": \"pt_XX\"}", 0, 190,
         CLF_FORMAT, "tokenizer_config.json: \"src_lang\": \"pt_XX\" is not one of the model's 25 languages"},
        {"text/mbart", "{\"tokenizer_class\": \"MBartTokenizer\", \"src_lang\": 5}", 0, 190, CLF_FORMAT,
         "src_lang"},
        {"text/m2m100", "{\"tokenizer_class\": \"M2M100Tokenizer\", \"language_codes\": \"wmt22\"}", 4, 269,
         CLF_UNSUPPORTED, "\"language_codes\" is \"wmt22\"; set it to m2m100 or wmt21"},
        {"text/t5",
         "{\"tokenizer_class\": \"T5Tokenizer\", \"added_tokens_decoder\": {\"x\": {\"content\": \"a\"}}}", 6,
         280, CLF_FORMAT, "\"added_tokens_decoder\" contains \"x\", which is not an id with a token"},
        {"text/t5", "{\"tokenizer_class\": \"T5Tokenizer\", \"added_tokens_decoder\": {\"5\": {}}}", 6, 280,
         CLF_FORMAT, "contains \"5\""},
        {"text/t5", "{\"tokenizer_class\": \"T5Tokenizer\", \"extra_ids\": -1}", 6, 280, CLF_FORMAT,
         "extra_ids"},
        {"text/t5",
         "{\"tokenizer_class\": \"T5Tokenizer\", \"added_tokens_decoder\": {\"3\": {\"content\": \"no\"}}}",
         6, 280, CLF_FORMAT,
         "\"added_tokens_decoder\" assigns id 3 to \"no\", but spiece.model assigns that id to \"<2fr>\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct clf__tokenizer *tokenizer = NULL;
        struct clf__tokenizer_options options = folders[rows[i].folder].options;
        options.source_vocabulary = options.target_vocabulary = rows[i].rows;
        clf_status status =
            clf__tokenizer_load(&tokenizer, copy_folder(rows[i].from, rows[i].config), &options);
        if (status != rows[i].status ||
            (status != CLF_OK && strstr(clf_last_error(), rows[i].part) == NULL)) {
            fail_msg("%s: status %d, %s", rows[i].config, (int)status, clf_last_error());
        }
        clf__tokenizer_free(tokenizer);
    }
    struct clf__tokenizer *tokenizer;
    const char *folder = copy_folder("text/t5", NULL);
    tokenizer_write(folder, "spiece.model", "nothing that is known");
    struct clf__tokenizer_options options = folders[6].options;
    options.class_name = "T5Tokenizer";
    assert_fails(clf__tokenizer_load(&tokenizer, folder, &options), CLF_FORMAT,
                 "spiece.model: not a SentencePiece model, or damaged");
}

static clf_status load_and_use(const struct folder *folder, const char *path)
{
    struct clf__tokenizer *tokenizer = NULL;
    struct clf__framing framing;
    struct clf__ids ids = {0};
    char *text = NULL;
    static const char line[] = "Je<unk> suis</s> l\u00e0\0 x";
    clf_status status = clf__tokenizer_load(&tokenizer, path, &folder->options);
    if (status == CLF_OK) {
        status = clf__tokenizer_frame(&framing, tokenizer, NULL, folder->languages > 0 ? "fr" : NULL);
    }
    if (status == CLF_OK) {
        status = clf__tokenizer_encode_source(tokenizer, &framing, &ids, line, sizeof line - 1, 0);
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
    static const int chosen[] = {2, 4, 5, 6, 8, 12};
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        const struct folder *folder = &folders[chosen[i]];
        char path[256];
        snprintf(path, sizeof path, "%s", support_fixture(folder->name));
        clf__memory_fail_at(0);
        assert_ok(load_and_use(folder, path));
        uint64_t allocations = clf__memory_count();
        assert_true(allocations > 10);
        for (uint64_t n = 1; n <= allocations; n++) {
            clf__memory_fail_at(n);
            assert_fails(load_and_use(folder, path), CLF_OUT_OF_MEMORY, "");
        }
        clf__memory_fail_at(0);
    }
}

/* Unknown text is restored as it was written. */
static void test_unknown_tokens(void **state)
{
    (void)state;
    static const char *const chosen[] = {"text/mbart",  "text/mbart50", "text/nllb",
                                         "text/m2m100", "text/pegasus", "text/t5"};
    static const char text[] = "la \u6f22\u5b57 et \u2603\u6f22 a";
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        struct clf__tokenizer *tokenizer = load(chosen[i]);
        int unknown;
        char *restored = tokenizer_restore(tokenizer, text, &unknown);
        assert_string_equal(restored, text);
        assert_int_equal(unknown, 2);
        clf__free(restored);
        clf__tokenizer_free(tokenizer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_folder_is_listed),
        cmocka_unit_test(test_transformers_ids),
        cmocka_unit_test(test_unknown_tokens),
        cmocka_unit_test(test_where_languages_go),
        cmocka_unit_test(test_languages_in_text),
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_which_class),
        cmocka_unit_test(test_rows_behind_the_tokens),
        cmocka_unit_test(test_bad_folders),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
