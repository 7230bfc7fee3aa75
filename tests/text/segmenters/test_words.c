/* Words separated by white space. */
#include "support/tokenizer_fixture.h"

#include <string.h>

#include "base/memory.h"
#include "text/tokenizers/segmenters/segmenter.h"

static void test_cutting_words(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        const char *words;
    } cases[] = {
        {"", 0, ""},
        {" \t\r\n\v\f", 6, ""},
        {"a", 1, "a/"},
        {" ab  c\0d\n", 9, "ab/c/d/"},
        {"\u00e9\u00a0x y", 7, "\u00e9\u00a0x/y/"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char words[64] = "";
        assert_ok(
            clf__segmenter_words.segment(NULL, cases[i].text, cases[i].size, tokenizer_add_token, words));
        assert_string_equal(words, cases[i].words);
    }
}

static clf_status fail_at_b(void *user, const char *token, size_t length)
{
    (void)length;
    ++*(int *)user;
    return *token == 'b' ? CLF_INTERRUPTED : CLF_OK;
}

static void test_a_failure_ends_it(void **state)
{
    (void)state;
    int calls = 0;
    assert_int_equal(clf__segmenter_words.segment(NULL, "a b c", 5, fail_at_b, &calls), CLF_INTERRUPTED);
    assert_int_equal(calls, 2);
}

static void test_words(void **state)
{
    (void)state;
    struct clf__tokenizer *tokenizer = tokenizer_load_words(&tokenizer_word_options);
    struct clf__ids ids = {0};
    static const char line[] = " a  b\u00e9\ta\0zz\r\n";
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, line, sizeof line - 1, 0, 0));
    assert_ids(ids, 2, 4, 5, 4, 1, 3);
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, "a zz", 4, 1, 0));
    assert_ids(ids, 4, 1, 3);
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, "a zz", 4, 0, 1));
    assert_ids(ids, 2, 4, 1, 3);
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, "a zz", 4, 1, 1));
    assert_ids(ids, 4, 1, 3);
    /* A code is an ordinary word: it ends at white space. */
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, ">>a<< a", 7, 0, 0));
    assert_ids(ids, 2, 6, 4, 3);
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, ">>a<<a", 6, 0, 0));
    assert_ids(ids, 2, 1, 3);
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, "", 0, 0, 0));
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
    struct clf__tokenizer *tokenizer = tokenizer_load_words(&tokenizer_word_options);
    char *text;
    static const int32_t ids[] = {2, 4, 1, 5, 0, 4, 3};
    assert_ok(clf__tokenizer_decode(tokenizer, &text, ids, 7, 0));
    assert_string_equal(text, "a <unk> b\u00e9 a");
    clf__free(text);
    assert_ok(clf__tokenizer_decode(tokenizer, &text, NULL, 0, 0));
    assert_string_equal(text, "");
    clf__free(text);
    static const int32_t wrong[][1] = {{7}, {-1}, {INT32_MAX}, {INT32_MIN}};
    for (int i = 0; i < 4; i++) {
        assert_fails(clf__tokenizer_decode(tokenizer, &text, wrong[i], 1, 0), CLF_BAD_ARGUMENT, "vocab.json");
        assert_null(text);
    }
    assert_string_equal(clf__tokenizer_source_token(tokenizer, 4), "a");
    assert_string_equal(clf__tokenizer_target_token(tokenizer, 6), ">>a<<");
    assert_null(clf__tokenizer_source_token(tokenizer, 7));
    assert_null(clf__tokenizer_target_token(tokenizer, -1));
    assert_int_equal(clf__tokenizer_target_id(tokenizer, "b\u00e9"), 5);
    assert_int_equal(clf__tokenizer_target_id(tokenizer, "b"), -1);
    clf__tokenizer_free(tokenizer);
}

static void test_unknown_words_without_a_place(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    tokenizer_write(folder, "vocab.json", "{\"a\": 0, \"b\": 1}");
    struct clf__tokenizer_options options = {
        .source_vocabulary = 2,
        .target_vocabulary = 2,
        .source_start_id = -1,
        .source_end_id = -1,
        .pad_id = -1,
        .start_id = -1,
        .end_id = -1,
    };
    struct clf__tokenizer *tokenizer = tokenizer_load(folder, &options);
    struct clf__ids ids = {0};
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, "b a", 3, 0, 0));
    assert_ids(ids, 1, 0);
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, "b", 1, 1, 0));
    assert_ids(ids, 1);
    assert_fails(clf__tokenizer_encode(tokenizer, &ids, "a ccc", 5, 0, 0), CLF_TEXT, "\"ccc\" is not in ");
    assert_non_null(strstr(clf_last_error(), "vocab.json"));
    assert_int_equal(ids.count, 0);
    /* A long word is truncated in the message, at a code point boundary. */
    char line[2001];
    for (int i = 0; i < 1000; i++) {
        memcpy(line + 2 * i, "\u00e9", 2);
    }
    line[0] = 'x';
    line[1] = 'y';
    line[2] = 'z';
    line[3] = 'z';
    assert_fails(clf__tokenizer_encode(tokenizer, &ids, line + 1, 1999, 0, 0), CLF_TEXT,
                 "\u00e9\" is not in ");
    assert_true(strlen(clf_last_error()) < 400);
    clf__ids_free(&ids);
    clf__tokenizer_free(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cutting_words),
        cmocka_unit_test(test_a_failure_ends_it),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_joining_words),
        cmocka_unit_test(test_unknown_words_without_a_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
