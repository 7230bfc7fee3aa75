/* Characters, and the delimiter between words. */
#include "support/tokenizer_fixture.h"

#include <string.h>

#include "base/memory.h"
#include "text/tokenizers/segmenters/segmenter.h"

static void test_characters(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},
        {"  ", ""},
        {" ab  c ", "a/b/|/c/"},
        {"\u00e9\u65e5\U0001F600 x", "\u00e9/\u65e5/\U0001F600/|/x/"},
        {"a|b", "a/|/b/"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char characters[64] = "";
        assert_ok(clf__segmenter_characters.segment("|", cases[i][0], strlen(cases[i][0]),
                                                    tokenizer_add_token, characters));
        assert_string_equal(characters, cases[i][1]);
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
    assert_int_equal(clf__segmenter_characters.segment("|", "a bc", 4, fail_at_b, &calls), CLF_INTERRUPTED);
    assert_int_equal(calls, 3);
}

static void test_a_folder_with_a_delimiter(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    tokenizer_write(
        folder, "vocab.json",
        "{\"<pad>\": 0, \"<unk>\": 1, \"<s>\": 2, \"</s>\": 3, \"a\": 4, \"|\": 5, \"\u2581\": 6}");
    tokenizer_write(folder, "tokenizer_config.json", "{\"word_delimiter_token\": \"|\"}");
    struct clf__tokenizer *tokenizer = tokenizer_load(folder, &tokenizer_word_options);
    struct clf__ids ids = {0};
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, " a  ab ", 7, 0, 0));
    assert_ids(ids, 2, 4, 5, 4, 1, 3);
    char *text;
    assert_ok(clf__tokenizer_decode(tokenizer, &text, ids.data, ids.count, 0));
    assert_string_equal(text, "a a<unk>");
    clf__free(text);
    /* Token input is separated by white space for every segmenter. */
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, "a ab | a", 8, 1, 1));
    assert_ids(ids, 4, 1, 5, 4, 3);
    clf__ids_free(&ids);
    clf__tokenizer_free(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_a_failure_ends_it),
        cmocka_unit_test(test_a_folder_with_a_delimiter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
