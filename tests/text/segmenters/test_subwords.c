/* Lower-case BPE: segmentation and joining of words, and damaged merges files. Equality with transformers is
 * tested in test_classes.c. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "support/support.h"
#include "text/tokenizers/segmenters/segmenter.h"

static clf_status open_pairs(void **state, const char *pairs, size_t size)
{
    char path[512];
    const char *folder = support_temporary_folder();
    struct clf__segmenter_folder settings = {.path = folder, .model = "merges.txt"};
    snprintf(path, sizeof path, "%s/merges.txt", folder);
    assert_ok(clf__file_write(path, pairs, size));
    return clf__segmenter_subwords.open(state, &settings, 0);
}

static clf_status keep(void *user, const char *token, size_t length)
{
    char *text = user;
    assert_true(strlen(text) + length + 2 < 512);
    strncat(strcat(text, "|"), token, length);
    return CLF_OK;
}

static void test_cut(void **state)
{
    (void)state;
    static const char pairs[] = "#version: 0.2\nh e\nl l\nll o</w>\nhe llo</w>\r\n\na b\nab a\na b</w>\nb c";
    static const struct {
        const char *text, *tokens;
    } cases[] = {
        {"Hello, HELLO.hell (x)", "|hello|,|hello|.@@|he@@|l@@|l|(@@|x|)"},
        {"ab aba babab", "|ab|ab@@|a|b@@|aba@@|b"},
        {"it's \xC3\x89T\xC3\x89\xE2\x80\x83 I", "|i@@|t|'|s|\xC3\xA9@@|t@@|\xC3\xA9|i"},
        {"a\nbc '\n", "|a|_@@|_@@|n@@|e@@|w@@|l@@|n@@|_@@|_|b@@|c|'"}, /* the last pair has no line ending */
        {" \t\n ", ""},
        {"", ""},
    };
    void *side;
    assert_ok(open_pairs(&side, pairs, strlen(pairs)));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char found[512] = "";
        assert_ok(clf__segmenter_subwords.segment(side, cases[i].text, strlen(cases[i].text), keep, found));
        assert_string_equal(found, cases[i].tokens);
    }
    clf__segmenter_subwords.free(side);
}

/* All occurrences of a pair are merged before the next pair is selected. */
static void test_cut_at_once(void **state)
{
    (void)state;
    static const char pairs[] = "v\nb c\nabc a\na bc\n", text[] = "abcabcx";
    void *side;
    char found[512] = "";
    assert_ok(open_pairs(&side, pairs, strlen(pairs)));
    assert_ok(clf__segmenter_subwords.segment(side, text, strlen(text), keep, found));
    assert_string_equal(found, "|abc@@|abc@@|x");
    clf__segmenter_subwords.free(side);
}

static void test_join(void **state)
{
    (void)state;
    static const char *const tokens[] = {"he@@", "llo", ",", "a@@", "b@@", "c@@"};
    static const char pairs[] = "#version: 0.2\nb c</w>\n";
    void *side;
    char *text;
    assert_ok(open_pairs(&side, pairs, strlen(pairs)));
    assert_ok(clf__segmenter_subwords.join(side, &text, tokens, 6));
    assert_string_equal(text, "hello , abc@@");
    clf__free(text);
    assert_ok(clf__segmenter_subwords.join(side, &text, tokens, 0));
    assert_string_equal(text, "");
    clf__free(text);
    clf__segmenter_subwords.free(side);
}

static void test_damage(void **state)
{
    (void)state;
    static const struct {
        const char *pairs, *part;
        size_t size;
    } cases[] = {
        {"v\na b\nab\n", "line 3 is not two symbols", 9},      {"v\na b c\n", "line 2 is not two symbols", 8},
        {"v\n a\n", "line 2 is not two symbols", 5},           {"v\na \n", "line 2 is not two symbols", 5},
        {"v\na \xFF\n", "line 2 is too long or not UTF-8", 6}, {"v\na\0b\n", "contains a NUL byte", 6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        void *side;
        assert_fails(open_pairs(&side, cases[i].pairs, cases[i].size), CLF_FORMAT, cases[i].part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_cut, support_teardown),
        cmocka_unit_test_teardown(test_cut_at_once, support_teardown),
        cmocka_unit_test_teardown(test_join, support_teardown),
        cmocka_unit_test_teardown(test_damage, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
