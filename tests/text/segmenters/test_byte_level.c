/* GPT-2's word pattern, merge order, invalid UTF-8, and bad files. Equality with transformers is tested in
 * text/test_classes.c. */
#include "support/tokenizer_fixture.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "text/tokenizers/segmenters/byte_pairs.h"
#include "text/tokenizers/segmenters/segmenter.h"

static void *open_merges(const char *merges, int adds_prefix_space)
{
    const char *folder = support_temporary_folder();
    tokenizer_write(folder, "merges.txt", merges);
    struct clf__segmenter_folder settings = {
        .path = folder, .model = "merges.txt", .adds_prefix_space = adds_prefix_space};
    void *state;
    assert_ok(clf__segmenter_byte_level.open(&state, &settings, 0));
    return state;
}

static void check_tokens(const void *segmenter, const char *text, const char *expected)
{
    char tokens[512] = "";
    assert_ok(clf__segmenter_byte_level.segment(segmenter, text, strlen(text), tokenizer_add_token, tokens));
    assert_string_equal(tokens, expected);
}

static void test_merges(void **state)
{
    (void)state;
    void *segmenter = open_merges("#version: 0.2\na a\nb c\naa b\na bc\n\naab c\r\nĠ a\na b", 0);
    check_tokens(segmenter, "aaaaa", "aa/aa/a/");
    check_tokens(segmenter, "aabc", "aa/bc/"); /* b c precedes aa b */
    check_tokens(segmenter, "abc", "abc/");
    check_tokens(segmenter, "ab aab", "ab/Ġ/aab/");
    check_tokens(segmenter, " a", "Ġa/");
    check_tokens(segmenter, "", "");
    clf__segmenter_byte_level.free(segmenter);
    segmenter = open_merges("", 1);
    check_tokens(segmenter, "é", "Ġ/Ã/©/");
    check_tokens(segmenter, " é", "Ġ/Ã/©/");
    check_tokens(segmenter, "", "");
    clf__segmenter_byte_level.free(segmenter);
}

/* A long run of one letter takes linear time: one merge per pair, whatever the order. */
static void test_long_word(void **state)
{
    (void)state;
    enum { LENGTH = 1 << 20 };
    void *segmenter = open_merges("a a\naa aa\naaaa aaaa\n", 0);
    char *text = support_array(LENGTH, 1);
    memset(text, 'a', LENGTH);
    struct clf__token_counts counts = {0};
    assert_ok(clf__segmenter_byte_level.segment(segmenter, text, LENGTH, clf__token_counts_add, &counts));
    assert_int_equal(counts.count, 1);
    assert_string_equal(counts.items[0].token, "aaaaaaaa");
    assert_int_equal(counts.items[0].count, LENGTH / 8);
    clf__token_counts_free(&counts);
    clf__segmenter_byte_level.free(segmenter);
}

/* Every byte is a token that decodes to itself; a single byte that is not UTF-8 is shown as U+FFFD. */
static void test_bytes(void **state)
{
    (void)state;
    struct clf__byte_pairs pairs;
    const char *folder = support_temporary_folder();
    tokenizer_write(folder, "merges.txt", "");
    char path[256];
    snprintf(path, sizeof path, "%s/merges.txt", folder);
    assert_ok(clf__byte_pairs_read(&pairs, path));
    assert_int_equal(pairs.symbols.size, 256);
    for (int byte = 0; byte < 256; byte++) {
        const char *token = pairs.symbols.tokens[byte];
        assert_int_equal(clf__byte_pairs_byte(&token), byte);
        assert_int_equal(*token, '\0');
    }
    static const char *const others[] = {"\xc3", "\xe2\x96\x81",    "\xc5\x84", "\xc2\xa0",
                                         " ",    "\xf0\x9f\x98\x80"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const char *text = others[i];
        assert_int_equal(clf__byte_pairs_byte(&text), -1);
    }
    assert_string_equal(pairs.symbols.tokens[' '], "Ġ");
    assert_string_equal(pairs.symbols.tokens['\n'], "Ċ");
    clf__byte_pairs_free(&pairs);
}

static void test_join(void **state)
{
    (void)state;
    static const struct {
        const char *tokens[4], *text;
    } rows[] = {
        {{"Ġa", "b"}, " ab"},
        {{"Ã", "©"}, "é"},
        {{"Ã", "a"},
         "\xef\xbf\xbd"
         "a"},
        {{"ð", "Ł", "ĺ"}, "\xef\xbf\xbd"}, /* one that could continue */
        {{"ÿ", "Ã"}, "\xef\xbf\xbd\xef\xbf\xbd"},
        {{"▁x", "y"}, "▁xy"}, /* other characters: unchanged */
        {{"Ā"}, " "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int count = 0;
        while (count < 4 && rows[i].tokens[count] != NULL) {
            count++;
        }
        char *text;
        assert_ok(clf__segmenter_byte_level.join(NULL, &text, rows[i].tokens, count));
        assert_string_equal(text, rows[i].text);
        clf__free(text);
    }
}

static void test_bad_files(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"#version\na b\nab\n", "pair 2 is not two symbols separated by a space"},
        {"a b\n a\n", "pair 2 is not two symbols"},
        {"a \n", "pair 1 is not two symbols"},
        {"a \xff\n", "pair 1 is not UTF-8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *folder = support_temporary_folder();
        tokenizer_write(folder, "merges.txt", rows[i][0]);
        struct clf__segmenter_folder settings = {.path = folder, .model = "merges.txt"};
        void *segmenter;
        assert_fails(clf__segmenter_byte_level.open(&segmenter, &settings, 0), CLF_FORMAT, rows[i][1]);
        assert_non_null(strstr(clf_last_error(), "merges.txt: "));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merges),    cmocka_unit_test_teardown(test_long_word, support_teardown),
        cmocka_unit_test(test_bytes),     cmocka_unit_test(test_join),
        cmocka_unit_test(test_bad_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
