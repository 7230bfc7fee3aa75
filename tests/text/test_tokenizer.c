/* Common to all segmenters: one vocabulary or two, unusual lines, bad files, out of memory. Equality with
 * transformers is tested in test_transformers.c. */
#include "support/tokenizer_fixture.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

static void copy_file(const char *folder, const char *name, const char *from)
{
    char *path, *bytes;
    size_t size;
    assert_ok(clf__file_read(&bytes, &size, from, 1 << 24));
    assert_ok(clf__path_join(&path, folder, name));
    assert_ok(clf__file_write(path, bytes, size));
    clf__free(path);
    clf__free(bytes);
}

static void remove_file(const char *folder, const char *name)
{
    char *path;
    assert_ok(clf__path_join(&path, folder, name));
    assert_int_equal(unlink(path), 0);
    clf__free(path);
}

static void test_words_of_two_vocabularies(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    tokenizer_write(folder, "vocab.json", tokenizer_word_file);
    tokenizer_write(folder, "target_vocab.json", "{\"</s>\": 0, \"b\u00e9\": 1, \"a\": 2}");
    struct clf__tokenizer_options options = tokenizer_word_options;
    options.separate = 1;
    options.target_vocabulary = 3;
    options.pad_id = options.start_id = -1;
    options.end_id = 0;
    struct clf__tokenizer *tokenizer = tokenizer_load(folder, &options);
    struct clf__ids ids = {0};
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, "a", 1, 0, 0));
    assert_ids(ids, 2, 4, 3);
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, "a", 1, 1, 0));
    assert_ids(ids, 2, 0);
    assert_fails(clf__tokenizer_encode(tokenizer, &ids, "q", 1, 1, 0), CLF_TEXT, "target_vocab.json");
    char *text;
    static const int32_t generated[] = {2, 1, 0};
    assert_ok(clf__tokenizer_decode(tokenizer, &text, generated, 3, 0));
    assert_string_equal(text, "a b\u00e9");
    clf__free(text);
    assert_string_equal(clf__tokenizer_source_token(tokenizer, 2), "<s>");
    assert_string_equal(clf__tokenizer_target_token(tokenizer, 2), "a");
    clf__ids_free(&ids);
    clf__tokenizer_free(tokenizer);
    options.target_vocabulary = 5; /* rows without a token */
    tokenizer = tokenizer_load(folder, &options);
    assert_ok(clf__tokenizer_spare(tokenizer, &ids));
    assert_ids(ids, 3, 4);
    assert_string_equal(clf__tokenizer_target_token(tokenizer, 4), "<unused_4>");
    clf__ids_free(&ids);
    clf__tokenizer_free(tokenizer);
}

static void test_no_source_text(void **state)
{
    (void)state;
    struct clf__tokenizer_options options = tokenizer_word_options;
    options.source_vocabulary = 0;
    struct clf__tokenizer *tokenizer = tokenizer_load_words(&options);
    struct clf__ids ids = {0};
    assert_fails(clf__tokenizer_encode(tokenizer, &ids, "a", 1, 0, 0), CLF_UNSUPPORTED,
                 "reads frames, not text");
    assert_null(clf__tokenizer_source_token(tokenizer, 4));
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, "a", 1, 1, 0));
    assert_ids(ids, 4, 3);
    clf__ids_free(&ids);
    clf__tokenizer_free(tokenizer);
}

static void test_lines_that_are_not_utf8(void **state)
{
    (void)state;
    struct clf__tokenizer *tokenizers[] = {
        tokenizer_load_words(&tokenizer_word_options),
        tokenizer_load(support_fixture("text/shared"), &tokenizer_subword_options)};
    for (int i = 0; i < 2; i++) {
        struct clf__ids ids = {0};
        assert_fails(clf__tokenizer_encode(tokenizers[i], &ids, "ab\xffz", 4, 0, 0), CLF_TEXT, "offset 2");
        assert_fails(clf__tokenizer_encode(tokenizers[i], &ids, "abc\xe2\x82", 5, 1, 0), CLF_TEXT,
                     "offset 3");
        assert_fails(clf__tokenizer_encode(tokenizers[i], &ids, "\xed\xa0\x80", 3, 0, 1), CLF_TEXT,
                     "offset 0");
        assert_int_equal(ids.count, 0);
        clf__ids_free(&ids);
        clf__tokenizer_free(tokenizers[i]);
    }
}

/* A folder with the files of the small one-vocabulary model. */
static const char *token_folder(void)
{
    const char *folder = support_temporary_folder();
    copy_file(folder, "vocab.json", support_fixture("text/shared/vocab.json"));
    copy_file(folder, "source.spm", support_fixture("text/shared/source.spm"));
    copy_file(folder, "target.spm", support_fixture("text/shared/target.spm"));
    return folder;
}

static void check_refused(const char *folder, clf_status status, const char *part)
{
    struct clf__tokenizer *tokenizer;
    assert_fails(clf__tokenizer_load(&tokenizer, folder, &tokenizer_subword_options), status, part);
    assert_null(tokenizer);
}

static void test_missing_and_damaged_files(void **state)
{
    (void)state;
    static const char *const names[] = {"source.spm", "target.spm", "vocab.json"};
    for (int i = 0; i < 3; i++) {
        const char *folder = token_folder();
        remove_file(folder, names[i]);
        check_refused(folder, CLF_FILE, names[i]);
        assert_non_null(
            strstr(clf_last_error(), "; download the file again, or save the model with its tokenizer"));
        folder = token_folder();
        tokenizer_write(folder, names[i], "");
        check_refused(folder, CLF_FORMAT, names[i]);
        folder = token_folder();
        tokenizer_write(folder, names[i], "nothing that is known");
        check_refused(folder, CLF_FORMAT, names[i]);
    }
    const char *folder = token_folder();
    remove_file(folder, "source.spm");
    remove_file(folder, "target.spm");
    check_refused(folder, CLF_FILE, "source.spm: the file is missing, but the vocabulary contains");
    assert_non_null(strstr(clf_last_error(), "; download the file"));
    check_refused("/no/such/folder", CLF_FILE, "/no/such/folder/vocab.json: cannot be opened");
    assert_non_null(strstr(clf_last_error(), "; download the file again"));
    /* Dangling links of a partially downloaded cache are errors, not missing optional files. */
    folder = support_temporary_folder();
    tokenizer_write(folder, "vocab.json", tokenizer_word_file);
    static const char *const optional[] = {"tokenizer_config.json", "target.spm", "source.spm"};
    for (int i = 0; i < 3; i++) {
        char link[300];
        snprintf(link, sizeof link, "%s/%s", folder, optional[i]);
        assert_int_equal(symlink("nowhere", link), 0);
        struct clf__tokenizer *tokenizer;
        assert_fails(clf__tokenizer_load(&tokenizer, folder, &tokenizer_word_options), CLF_FILE, optional[i]);
        assert_non_null(strstr(clf_last_error(), "is a symbolic link to a missing file"));
        assert_int_equal(unlink(link), 0);
    }
    folder = token_folder();
    struct clf__tokenizer_options options = tokenizer_subword_options;
    options.source_vocabulary = options.target_vocabulary = 150; /* the last token has no row */
    struct clf__tokenizer *tokenizer = tokenizer_load(folder, &options);
    const char *last = clf__tokenizer_target_token(tokenizer, 150);
    struct clf__ids ids = {0};
    assert_non_null(last);
    assert_fails(clf__tokenizer_encode(tokenizer, &ids, last, strlen(last), 0, 1), CLF_TEXT,
                 "has the id 150, but the model has only 150 rows");
    clf__ids_free(&ids);
    clf__tokenizer_free(tokenizer);
    /* A model without an unknown token. */
    tokenizer_write(folder, "tokenizer_config.json", "{\"unk_token\": \"[UNK]\"}");
    check_refused(folder, CLF_FORMAT, "vocab.json: the unknown token \"[UNK]\" is missing");
}

static void test_tokenizer_config(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int max_length;
    } rows[] = {
        {"{}", 0},
        {"{\"model_max_length\": null}", 0},
        {"{\"model_max_length\": 77}", 77},
        {"{\"model_max_length\": 1000000000000000019884624838656}", 0},
        {"{\"model_max_length\": 1e30}", 0},
        {"{\"model_max_length\": 512, \"unk_token\": {\"content\": \"<unk>\", \"lstrip\": false}}", 512},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *folder = token_folder();
        tokenizer_write(folder, "tokenizer_config.json", rows[i].text);
        struct clf__tokenizer *tokenizer = tokenizer_load(folder, &tokenizer_subword_options);
        assert_int_equal(clf__tokenizer_max_length(tokenizer), rows[i].max_length);
        clf__tokenizer_free(tokenizer);
    }
    static const char *const bad[] = {
        "",
        "[]",
        "{\"model_max_length\": 0}",
        "{\"model_max_length\": \"many\"}",
        "{\"unk_token\": 5}",
        "{\"clean_up_tokenization_spaces\": 1}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *folder = token_folder();
        tokenizer_write(folder, "tokenizer_config.json", bad[i]);
        check_refused(folder, CLF_FORMAT, "tokenizer_config.json");
    }
}

static clf_status load_encode_decode(const char *folder, const struct clf__tokenizer_options *options)
{
    struct clf__tokenizer *tokenizer = NULL;
    struct clf__ids ids = {0};
    char *text = NULL;
    static const char line[] = ">>en<< a\0 line, \u201cquoted\u201d";
    clf_status status = clf__tokenizer_load(&tokenizer, folder, options);
    if (status == CLF_OK) {
        status = clf__tokenizer_encode(tokenizer, &ids, line, sizeof line - 1, 0, 0);
    }
    if (status == CLF_OK) {
        status = clf__tokenizer_encode(tokenizer, &ids, line, sizeof line - 1, 1, 0);
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
    struct clf__tokenizer_options two = tokenizer_subword_options;
    two.separate = 1;
    two.source_vocabulary = 194;
    two.target_vocabulary = 394;
    const char *words = support_temporary_folder();
    tokenizer_write(words, "vocab.json", tokenizer_word_file);
    const char *folders[] = {words, CLF_SOURCE_FOLDER "/tests/fixtures/text/shared",
                             CLF_SOURCE_FOLDER "/tests/fixtures/text/separate"};
    const struct clf__tokenizer_options *options[] = {&tokenizer_word_options, &tokenizer_subword_options,
                                                      &two};
    for (int i = 0; i < 3; i++) {
        clf__memory_fail_at(0);
        assert_ok(load_encode_decode(folders[i], options[i]));
        uint64_t allocations = clf__memory_count();
        assert_true(allocations > 10);
        for (uint64_t n = 1; n <= allocations; n++) {
            clf__memory_fail_at(n);
            assert_fails(load_encode_decode(folders[i], options[i]), CLF_OUT_OF_MEMORY, "");
        }
        clf__memory_fail_at(0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_of_two_vocabularies), cmocka_unit_test(test_no_source_text),
        cmocka_unit_test(test_lines_that_are_not_utf8),   cmocka_unit_test(test_missing_and_damaged_files),
        cmocka_unit_test(test_tokenizer_config),          cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
