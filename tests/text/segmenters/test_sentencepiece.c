/* SentencePiece tokens: from text and token input, in long lines, with NUL bytes. */
#include "support/tokenizer_fixture.h"

#include <string.h>

#include "base/memory.h"

static void test_pieces(void **state)
{
    (void)state;
    struct clf__tokenizer *tokenizer =
        tokenizer_load(support_fixture("text/shared"), &tokenizer_subword_options);
    struct clf__ids ids = {0}, again = {0};
    /* The tokens of a line, as token input, give the line. */
    static const char line[] = "the quick man said";
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, line, sizeof line - 1, 0, 0));
    char pieces[400] = "";
    for (int i = 0; i + 1 < ids.count; i++) {
        strcat(strcat(pieces, i ? " " : ""), clf__tokenizer_source_token(tokenizer, ids.data[i]));
    }
    assert_ok(clf__tokenizer_encode(tokenizer, &again, pieces, strlen(pieces), 0, 1));
    assert_int_equal(again.count, ids.count);
    assert_memory_equal(again.data, ids.data, (size_t)ids.count * sizeof *ids.data);
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, "no-such-piece", 13, 1, 1));
    assert_ids(ids, 1, 0);
    /* NUL bytes are white space. */
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, "\0a\0b\0", 5, 0, 0));
    assert_ok(clf__tokenizer_encode(tokenizer, &again, " a b ", 5, 0, 0));
    assert_int_equal(again.count, ids.count);
    assert_memory_equal(again.data, ids.data, (size_t)ids.count * sizeof *ids.data);
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, "\0\0", 2, 0, 0));
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
    struct clf__tokenizer *words = tokenizer_load_words(&tokenizer_word_options);
    struct clf__tokenizer *pieces =
        tokenizer_load(support_fixture("text/shared"), &tokenizer_subword_options);
    struct clf__ids ids = {0};
    for (int spaced = 0; spaced < 2; spaced++) {
        for (int i = 0; i < SIZE; i++) {
            line[i] = spaced && i % 2 ? ' ' : 'a';
        }
        assert_ok(clf__tokenizer_encode(words, &ids, line, SIZE, 0, 0));
        assert_int_equal(ids.count, spaced ? SIZE / 2 + 2 : 3);
        assert_ok(clf__tokenizer_encode(pieces, &ids, line, SIZE, 0, 0));
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
    struct clf__tokenizer *tokenizer =
        tokenizer_load(support_fixture("text/shared"), &tokenizer_subword_options);
    struct clf__ids once = {0}, ids = {0};
    /* Words separated by spaces, across every position where a line may be split. */
    enum { WORDS = 30000 };
    static const char word[] = "the man";
    assert_ok(clf__tokenizer_encode(tokenizer, &once, word, sizeof word - 1, 0, 0));
    char *line = support_array(WORDS, sizeof word);
    for (int i = 0; i < WORDS; i++) {
        memcpy(line + i * sizeof word, word, sizeof word);
        line[i * sizeof word + sizeof word - 1] = ' ';
    }
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, line, WORDS * sizeof word, 0, 0));
    int each = once.count - 1; /* without the end */
    assert_int_equal(ids.count, WORDS * each + 1);
    for (int i = 0; i < WORDS; i++) {
        assert_memory_equal(ids.data + i * each, once.data, (size_t)each * sizeof *once.data);
    }
    /* A megabyte of unknown characters: few tokens, in a short time. */
    char *unknown = support_array(1 << 20, 1);
    for (int i = 0; i + 3 <= 1 << 20; i += 3) {
        memcpy(unknown + i, "\u65e5", 3);
    }
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, unknown, (1 << 20) / 3 * 3, 0, 0));
    assert_in_range(ids.count, 3, 200);
    clf__ids_free(&ids);
    clf__ids_free(&once);
    clf__tokenizer_free(tokenizer);
}

static void test_the_nul_piece_is_a_space(void **state)
{
    (void)state;
    struct clf__tokenizer_options options = tokenizer_subword_options;
    options.separate = 1;
    options.source_vocabulary = 194;
    options.target_vocabulary = 394;
    options.pad_id = options.start_id = 393;
    struct clf__tokenizer *tokenizer = tokenizer_load(support_fixture("text/separate"), &options);
    static const char *const names[] = {"<0x41>", "<0x00>", "<0x42>", "<0xC3>", "<0xA9>"};
    int32_t ids[5];
    for (int i = 0; i < 5; i++) {
        ids[i] = clf__tokenizer_target_id(tokenizer, names[i]);
        assert_true(ids[i] >= 0);
    }
    char *text;
    assert_ok(clf__tokenizer_decode(tokenizer, &text, ids, 5, 0));
    assert_string_equal(text, "A B\u00e9");
    clf__free(text);
    clf__tokenizer_free(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test_teardown(test_a_line_of_a_megabyte, support_teardown),
        cmocka_unit_test_teardown(test_long_lines_are_whole, support_teardown),
        cmocka_unit_test(test_the_nul_piece_is_a_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
