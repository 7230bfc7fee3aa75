/* Folders of every kind: words and pieces, frames, odd lines, bad files, memory that runs out. That the ids
 * are those of transformers is test_transformers.c. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "text/tokenizer.h"

/* A vocabulary of 7 words, framed on the source side. */
static const struct clf__tokenizer_options word_options = {
    .source_vocabulary = 7,
    .target_vocabulary = 7,
    .source_start_id = 2,
    .source_end_id = 3,
    .pad_id = 0,
    .start_id = 2,
    .end_id = 3,
};
static const char *const word_file =
    "{\"<pad>\": 0, \"<unk>\": 1, \"<s>\": 2, \"</s>\": 3, \"a\": 4, \"b\u00e9\": 5, \">>a<<\": 6}";

static void write_file(const char *folder, const char *name, const char *text)
{
    char *path;
    assert_ok(clf__path_join(&path, folder, name));
    assert_ok(clf__file_write(path, text, strlen(text)));
    clf__free(path);
}

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

static struct clf__tokenizer *load(const char *folder, const struct clf__tokenizer_options *options)
{
    struct clf__tokenizer *tokenizer;
    assert_ok(clf__tokenizer_load(&tokenizer, folder, options));
    return tokenizer;
}

static struct clf__tokenizer *load_words(const struct clf__tokenizer_options *options)
{
    const char *folder = support_temporary_folder();
    write_file(folder, "vocab.json", word_file);
    return load(folder, options);
}

#define assert_ids(ids, ...)                                                                                 \
    do {                                                                                                     \
        const int32_t expected_ids[] = {__VA_ARGS__};                                                        \
        assert_int_equal((ids).count, sizeof expected_ids / sizeof *expected_ids);                           \
        assert_memory_equal((ids).data, expected_ids, sizeof expected_ids);                                  \
    } while (0)

static void test_words(void **state)
{
    (void)state;
    struct clf__tokenizer *tokenizer = load_words(&word_options);
    struct clf__ids ids = {0};
    static const char line[] = " a  b\u00e9\ta\0zz\r\n";
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, line, sizeof line - 1));
    assert_ids(ids, 2, 4, 5, 4, 1, 3);
    assert_ok(clf__tokenizer_encode_target(tokenizer, &ids, "a zz", 4));
    assert_ids(ids, 4, 1, 3);
    assert_ok(clf__tokenizer_encode_pieces(tokenizer, &ids, "a zz", 4, 0));
    assert_ids(ids, 2, 4, 1, 3);
    assert_ok(clf__tokenizer_encode_pieces(tokenizer, &ids, "a zz", 4, 1));
    assert_ids(ids, 4, 1, 3);
    /* A code is a word like others: it ends at white space. */
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, ">>a<< a", 7));
    assert_ids(ids, 2, 6, 4, 3);
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, ">>a<<a", 6));
    assert_ids(ids, 2, 1, 3);
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, "", 0));
    assert_ids(ids, 2, 3);
    assert_int_equal(clf__tokenizer_max_length(tokenizer), 0);
    clf__ids_free(&ids);
    clf__ids_free(&ids);
    clf__tokenizer_free(tokenizer);
    clf__tokenizer_free(NULL);
}

static void test_joining_words(void **state)
{
    (void)state;
    struct clf__tokenizer *tokenizer = load_words(&word_options);
    char *text;
    static const int32_t ids[] = {2, 4, 1, 5, 0, 4, 3};
    assert_ok(clf__tokenizer_decode(tokenizer, &text, ids, 7));
    assert_string_equal(text, "a <unk> b\u00e9 a");
    clf__free(text);
    assert_ok(clf__tokenizer_decode(tokenizer, &text, NULL, 0));
    assert_string_equal(text, "");
    clf__free(text);
    static const int32_t wrong[][1] = {{7}, {-1}, {INT32_MAX}, {INT32_MIN}};
    for (int i = 0; i < 4; i++) {
        assert_fails(clf__tokenizer_decode(tokenizer, &text, wrong[i], 1), CLF_BAD_ARGUMENT, "vocab.json");
        assert_null(text);
    }
    assert_string_equal(clf__tokenizer_source_piece(tokenizer, 4), "a");
    assert_string_equal(clf__tokenizer_target_piece(tokenizer, 6), ">>a<<");
    assert_null(clf__tokenizer_source_piece(tokenizer, 7));
    assert_null(clf__tokenizer_target_piece(tokenizer, -1));
    assert_int_equal(clf__tokenizer_target_id(tokenizer, "b\u00e9"), 5);
    assert_int_equal(clf__tokenizer_target_id(tokenizer, "b"), -1);
    clf__tokenizer_free(tokenizer);
}

static void test_unknown_words_without_a_place(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    write_file(folder, "vocab.json", "{\"a\": 0, \"b\": 1}");
    struct clf__tokenizer_options options = {
        .source_vocabulary = 2,
        .target_vocabulary = 2,
        .source_start_id = -1,
        .source_end_id = -1,
        .pad_id = -1,
        .start_id = -1,
        .end_id = -1,
    };
    struct clf__tokenizer *tokenizer = load(folder, &options);
    struct clf__ids ids = {0};
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, "b a", 3));
    assert_ids(ids, 1, 0);
    assert_ok(clf__tokenizer_encode_target(tokenizer, &ids, "b", 1));
    assert_ids(ids, 1);
    assert_fails(clf__tokenizer_encode(tokenizer, &ids, "a ccc", 5), CLF_TEXT, "\"ccc\" is not in ");
    assert_non_null(strstr(clf_last_error(), "vocab.json"));
    assert_int_equal(ids.count, 0);
    /* A long word is cut in the sentence, on a whole code point. */
    char line[2001];
    for (int i = 0; i < 1000; i++) {
        memcpy(line + 2 * i, "\u00e9", 2);
    }
    line[0] = 'x';
    line[1] = 'y';
    line[2] = 'z';
    line[3] = 'z';
    assert_fails(clf__tokenizer_encode(tokenizer, &ids, line + 1, 1999), CLF_TEXT, "\u00e9\" is not in ");
    assert_true(strlen(clf_last_error()) < 400);
    clf__ids_free(&ids);
    clf__tokenizer_free(tokenizer);
}

static void test_words_of_two_vocabularies(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    write_file(folder, "vocab.json", word_file);
    write_file(folder, "target_vocab.json", "{\"</s>\": 0, \"b\u00e9\": 1, \"a\": 2}");
    struct clf__tokenizer_options options = word_options;
    options.separate = 1;
    options.target_vocabulary = 3;
    options.pad_id = options.start_id = -1;
    options.end_id = 0;
    struct clf__tokenizer *tokenizer = load(folder, &options);
    struct clf__ids ids = {0};
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, "a", 1));
    assert_ids(ids, 2, 4, 3);
    assert_ok(clf__tokenizer_encode_target(tokenizer, &ids, "a", 1));
    assert_ids(ids, 2, 0);
    assert_fails(clf__tokenizer_encode_target(tokenizer, &ids, "q", 1), CLF_TEXT, "target_vocab.json");
    char *text;
    static const int32_t generated[] = {2, 1, 0};
    assert_ok(clf__tokenizer_decode(tokenizer, &text, generated, 3));
    assert_string_equal(text, "a b\u00e9");
    clf__free(text);
    assert_string_equal(clf__tokenizer_source_piece(tokenizer, 2), "<s>");
    assert_string_equal(clf__tokenizer_target_piece(tokenizer, 2), "a");
    clf__ids_free(&ids);
    clf__tokenizer_free(tokenizer);
    struct clf__tokenizer *none;
    options.target_vocabulary = 4;
    assert_fails(clf__tokenizer_load(&none, folder, &options), CLF_FORMAT, "target_vocab.json: has 3 pieces");
}

static void test_no_source_text(void **state)
{
    (void)state;
    struct clf__tokenizer_options options = word_options;
    options.source_vocabulary = 0;
    struct clf__tokenizer *tokenizer = load_words(&options);
    struct clf__ids ids = {0};
    assert_fails(clf__tokenizer_encode(tokenizer, &ids, "a", 1), CLF_UNSUPPORTED, "source is not text");
    assert_null(clf__tokenizer_source_piece(tokenizer, 4));
    assert_ok(clf__tokenizer_encode_target(tokenizer, &ids, "a", 1));
    assert_ids(ids, 4, 3);
    clf__ids_free(&ids);
    clf__tokenizer_free(tokenizer);
}

static const struct clf__tokenizer_options piece_options = {
    .source_vocabulary = 151,
    .target_vocabulary = 151,
    .source_start_id = -1,
    .source_end_id = 0,
    .pad_id = 150,
    .start_id = 150,
    .end_id = 0,
};

static void test_lines_that_are_not_utf8(void **state)
{
    (void)state;
    struct clf__tokenizer *tokenizers[] = {load_words(&word_options),
                                           load(support_fixture("text/shared"), &piece_options)};
    for (int i = 0; i < 2; i++) {
        struct clf__ids ids = {0};
        assert_fails(clf__tokenizer_encode(tokenizers[i], &ids, "ab\xffz", 4), CLF_TEXT, "offset 2");
        assert_fails(clf__tokenizer_encode_target(tokenizers[i], &ids, "abc\xe2\x82", 5), CLF_TEXT,
                     "offset 3");
        assert_fails(clf__tokenizer_encode_pieces(tokenizers[i], &ids, "\xed\xa0\x80", 3, 0), CLF_TEXT,
                     "offset 0");
        assert_int_equal(ids.count, 0);
        clf__ids_free(&ids);
        clf__tokenizer_free(tokenizers[i]);
    }
}

static void test_pieces(void **state)
{
    (void)state;
    struct clf__tokenizer *tokenizer = load(support_fixture("text/shared"), &piece_options);
    struct clf__ids ids = {0}, again = {0};
    /* The pieces of a line, given as pieces, are the line. */
    static const char line[] = "the quick man said";
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, line, sizeof line - 1));
    char pieces[400] = "";
    for (int i = 0; i + 1 < ids.count; i++) {
        strcat(strcat(pieces, i ? " " : ""), clf__tokenizer_source_piece(tokenizer, ids.data[i]));
    }
    assert_ok(clf__tokenizer_encode_pieces(tokenizer, &again, pieces, strlen(pieces), 0));
    assert_int_equal(again.count, ids.count);
    assert_memory_equal(again.data, ids.data, (size_t)ids.count * sizeof *ids.data);
    assert_ok(clf__tokenizer_encode_pieces(tokenizer, &ids, "no-such-piece", 13, 1));
    assert_ids(ids, 1, 0);
    /* NUL bytes are white space. */
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, "\0a\0b\0", 5));
    assert_ok(clf__tokenizer_encode(tokenizer, &again, " a b ", 5));
    assert_int_equal(again.count, ids.count);
    assert_memory_equal(again.data, ids.data, (size_t)ids.count * sizeof *ids.data);
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, "\0\0", 2));
    assert_ids(ids, 0);
    clf__ids_free(&ids);
    clf__ids_free(&again);
    clf__tokenizer_free(tokenizer);
}

static void test_a_line_of_a_megabyte(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    char *line = support_array(SIZE, 1);
    struct clf__tokenizer *words = load_words(&word_options);
    struct clf__tokenizer *pieces = load(support_fixture("text/shared"), &piece_options);
    struct clf__ids ids = {0};
    for (int spaced = 0; spaced < 2; spaced++) {
        for (int i = 0; i < SIZE; i++) {
            line[i] = spaced && i % 2 ? ' ' : 'a';
        }
        assert_ok(clf__tokenizer_encode(words, &ids, line, SIZE));
        assert_int_equal(ids.count, spaced ? SIZE / 2 + 2 : 3);
        assert_ok(clf__tokenizer_encode(pieces, &ids, line, SIZE));
        assert_true(ids.count > SIZE / 16);
        assert_int_equal(ids.data[ids.count - 1], 0);
    }
    clf__ids_free(&ids);
    clf__tokenizer_free(words);
    clf__tokenizer_free(pieces);
}

static void test_long_lines_are_whole(void **state)
{
    (void)state;
    struct clf__tokenizer *tokenizer = load(support_fixture("text/shared"), &piece_options);
    struct clf__ids once = {0}, ids = {0};
    /* Words with a space between them, across every place where a line may be taken in parts. */
    enum { WORDS = 30000 };
    static const char word[] = "the man";
    assert_ok(clf__tokenizer_encode(tokenizer, &once, word, sizeof word - 1));
    char *line = support_array(WORDS, sizeof word);
    for (int i = 0; i < WORDS; i++) {
        memcpy(line + i * sizeof word, word, sizeof word);
        line[i * sizeof word + sizeof word - 1] = ' ';
    }
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, line, WORDS * sizeof word));
    int each = once.count - 1; /* without the end */
    assert_int_equal(ids.count, WORDS * each + 1);
    for (int i = 0; i < WORDS; i++) {
        assert_memory_equal(ids.data + i * each, once.data, (size_t)each * sizeof *once.data);
    }
    /* A megabyte of characters that the model does not know: few pieces, and no long wait. */
    char *unknown = support_array(1 << 20, 1);
    for (int i = 0; i + 3 <= 1 << 20; i += 3) {
        memcpy(unknown + i, "\u65e5", 3);
    }
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, unknown, (1 << 20) / 3 * 3));
    assert_in_range(ids.count, 3, 200);
    clf__ids_free(&ids);
    clf__ids_free(&once);
    clf__tokenizer_free(tokenizer);
}

/* A folder with the files of the small one-vocabulary model. */
static const char *piece_folder(void)
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
    assert_fails(clf__tokenizer_load(&tokenizer, folder, &piece_options), status, part);
    assert_null(tokenizer);
}

static void test_missing_and_damaged_files(void **state)
{
    (void)state;
    static const char *const names[] = {"source.spm", "target.spm", "vocab.json"};
    for (int i = 0; i < 3; i++) {
        const char *folder = piece_folder();
        remove_file(folder, names[i]);
        check_refused(folder, CLF_FILE, names[i]);
        assert_non_null(
            strstr(clf_last_error(), "; download it again, or save the model with its tokenizer"));
        folder = piece_folder();
        write_file(folder, names[i], "");
        check_refused(folder, CLF_FORMAT, names[i]);
        folder = piece_folder();
        write_file(folder, names[i], "nothing that is known");
        check_refused(folder, CLF_FORMAT, names[i]);
    }
    const char *folder = piece_folder();
    remove_file(folder, "source.spm");
    remove_file(folder, "target.spm");
    check_refused(folder, CLF_FILE, "source.spm: is missing, and the vocabulary holds");
    assert_non_null(strstr(clf_last_error(), "; download it too"));
    check_refused("/no/such/folder", CLF_FILE, "/no/such/folder/vocab.json: cannot be opened");
    assert_non_null(strstr(clf_last_error(), "; download it again"));
    /* Links of a cache that was half downloaded are not files that the model does without. */
    folder = support_temporary_folder();
    write_file(folder, "vocab.json", word_file);
    static const char *const optional[] = {"tokenizer_config.json", "target.spm", "source.spm"};
    for (int i = 0; i < 3; i++) {
        char link[300];
        snprintf(link, sizeof link, "%s/%s", folder, optional[i]);
        assert_int_equal(symlink("nowhere", link), 0);
        struct clf__tokenizer *tokenizer;
        assert_fails(clf__tokenizer_load(&tokenizer, folder, &word_options), CLF_FILE, optional[i]);
        assert_non_null(strstr(clf_last_error(), "is a link that leads to no file"));
        assert_int_equal(unlink(link), 0);
    }
    folder = piece_folder();
    struct clf__tokenizer_options options = piece_options;
    struct clf__tokenizer *tokenizer;
    options.source_vocabulary = 152;
    assert_fails(clf__tokenizer_load(&tokenizer, folder, &options), CLF_FORMAT, "has 151 pieces");
    options = piece_options;
    options.target_vocabulary = 150;
    assert_fails(clf__tokenizer_load(&tokenizer, folder, &options), CLF_FORMAT,
                 "says 150 for the target; download or save both");
    /* A model whose unknown pieces have nowhere to go. */
    write_file(folder, "tokenizer_config.json", "{\"unk_token\": \"[UNK]\"}");
    check_refused(folder, CLF_FORMAT, "vocab.json: has no \"[UNK]\"");
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
        const char *folder = piece_folder();
        write_file(folder, "tokenizer_config.json", rows[i].text);
        struct clf__tokenizer *tokenizer = load(folder, &piece_options);
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
        "{\"a\": 1, \"a\": 2}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *folder = piece_folder();
        write_file(folder, "tokenizer_config.json", bad[i]);
        check_refused(folder, CLF_FORMAT, "tokenizer_config.json");
    }
}

static void test_the_nul_piece_is_a_space(void **state)
{
    (void)state;
    struct clf__tokenizer_options options = piece_options;
    options.separate = 1;
    options.source_vocabulary = 194;
    options.target_vocabulary = 394;
    options.pad_id = options.start_id = 393;
    struct clf__tokenizer *tokenizer = load(support_fixture("text/separate"), &options);
    static const char *const names[] = {"<0x41>", "<0x00>", "<0x42>", "<0xC3>", "<0xA9>"};
    int32_t ids[5];
    for (int i = 0; i < 5; i++) {
        ids[i] = clf__tokenizer_target_id(tokenizer, names[i]);
        assert_true(ids[i] >= 0);
    }
    char *text;
    assert_ok(clf__tokenizer_decode(tokenizer, &text, ids, 5));
    assert_string_equal(text, "A B\u00e9");
    clf__free(text);
    clf__tokenizer_free(tokenizer);
}

static clf_status load_encode_decode(const char *folder, const struct clf__tokenizer_options *options)
{
    struct clf__tokenizer *tokenizer = NULL;
    struct clf__ids ids = {0};
    char *text = NULL;
    static const char line[] = ">>en<< a\0 line, \u201cquoted\u201d";
    clf_status status = clf__tokenizer_load(&tokenizer, folder, options);
    if (status == CLF_OK) {
        status = clf__tokenizer_encode(tokenizer, &ids, line, sizeof line - 1);
    }
    if (status == CLF_OK) {
        status = clf__tokenizer_encode_target(tokenizer, &ids, line, sizeof line - 1);
    }
    if (status == CLF_OK) {
        status = clf__tokenizer_decode(tokenizer, &text, ids.data, ids.count);
    }
    clf__free(text);
    clf__ids_free(&ids);
    clf__tokenizer_free(tokenizer);
    return status;
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    struct clf__tokenizer_options two = piece_options;
    two.separate = 1;
    two.source_vocabulary = 194;
    two.target_vocabulary = 394;
    const char *words = support_temporary_folder();
    write_file(words, "vocab.json", word_file);
    const char *folders[] = {words, CLF_SOURCE_FOLDER "/tests/fixtures/text/shared",
                             CLF_SOURCE_FOLDER "/tests/fixtures/text/separate"};
    const struct clf__tokenizer_options *options[] = {&word_options, &piece_options, &two};
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
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_joining_words),
        cmocka_unit_test(test_unknown_words_without_a_place),
        cmocka_unit_test(test_words_of_two_vocabularies),
        cmocka_unit_test(test_no_source_text),
        cmocka_unit_test(test_lines_that_are_not_utf8),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test_teardown(test_a_line_of_a_megabyte, support_teardown),
        cmocka_unit_test_teardown(test_long_lines_are_whole, support_teardown),
        cmocka_unit_test(test_missing_and_damaged_files),
        cmocka_unit_test(test_tokenizer_config),
        cmocka_unit_test(test_the_nul_piece_is_a_space),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
