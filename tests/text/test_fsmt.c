/* Folders of FSMTTokenizer: errors of their files, and the merging of pairs. test_classes.c compares the ids.
 */
#include "support/tokenizer_fixture.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "text/tokenizers/segmenters/segmenter.h"

/* Files of fsmt-en-ru, one of them with other bytes (NULL: without it). */
static void check_fsmt(const char *name, const char *bytes, clf_status expected, const char *part)
{
    static const char *const files[] = {"merges.txt", "vocab-src.json", "vocab-tgt.json",
                                        "tokenizer_config.json"};
    const char *folder = support_temporary_folder();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *from, *to;
        assert_ok(clf__path_join(&from, support_fixture("text/fsmt-en-ru"), files[i]));
        assert_ok(clf__path_join(&to, folder, files[i]));
        if (strcmp(files[i], name) != 0) {
            assert_ok(clf__file_copy(to, from));
        } else if (bytes != NULL) {
            assert_ok(clf__file_write(to, bytes, strlen(bytes)));
        }
        clf__free(from);
        clf__free(to);
    }
    struct clf__tokenizer_options options = {134, 134, 1, -1, 2, 1, 0, 2, "FSMTTokenizer"};
    struct clf__tokenizer *tokenizer = NULL;
    clf_status status = clf__tokenizer_load(&tokenizer, folder, &options);
    if (status != expected || (status != CLF_OK && strstr(clf_last_error(), part) == NULL)) {
        fail_msg("%s: status %d, %s", name, (int)status, clf_last_error());
    }
    clf__tokenizer_free(tokenizer);
}

static void test_bad_fsmt(void **state)
{
    (void)state;
    static const char config[] = "tokenizer_config.json", merges[] = "merges.txt";
    check_fsmt("", NULL, CLF_OK, "");
    check_fsmt(merges, NULL, CLF_FILE,
               "merges.txt: the file is missing, but FSMTTokenizer requires it; download the file");
    check_fsmt("vocab-src.json", NULL, CLF_FILE, "vocab-src.json");
    check_fsmt("vocab-tgt.json", NULL, CLF_FILE, "vocab-tgt.json");
    check_fsmt("vocab-tgt.json", "{\"<s>\": 1, \"<pad>\": 0, \"</s>\": 2, \"<unk>\": 3}", CLF_FORMAT,
               "vocab-src.json: \"<s>\" has the id 0, and in");
    check_fsmt("vocab-src.json", "{\"<s>\": 0, \"<pad>\": 1, \"</s>\": 2}", CLF_FORMAT,
               "the unknown token \"<unk>\" is missing");
    check_fsmt(config, NULL, CLF_FORMAT,
               "tokenizer_config.json: \"langs\" is not a list of two language codes");
    check_fsmt(config, "{\"langs\": null}", CLF_FORMAT,
               "tokenizer_config.json: \"langs\" is not a list of two language codes");
    check_fsmt(config, "{\"langs\": [\"en\"]}", CLF_FORMAT, "\"langs\" is not a list of two language codes");
    check_fsmt(config, "{\"langs\": [\"en\", 5]}", CLF_FORMAT,
               "\"langs\" is not a list of two language codes");
    check_fsmt(config, "{\"langs\": \"en-de\"}", CLF_FORMAT, "\"langs\" is not a list of two language codes");
    check_fsmt(config, "{\"langs\": [\"en\", \"de\"], \"do_lower_case\": 1}", CLF_FORMAT, "do_lower_case");
    check_fsmt(merges, "a b\nab\n", CLF_FORMAT, "merges.txt: line 2 is not two symbols");
    check_fsmt(merges, "a b 7\r\n\na c\rd e", CLF_OK, "");
    check_fsmt(merges, "\n", CLF_FORMAT, "merges.txt");
}

/* The tokens of transformers' FSMTTokenizer: the first line is a pair, a third column is ignored, of two
 * equal pairs the last counts, and a last line without an end is ignored. */
static void test_fsmt_pairs(void **state)
{
    (void)state;
    static const struct {
        const char *merges, *text, *tokens;
    } cases[] = {
        {"#version: 0.2\na b\n", "ab", "a/b</w>/"},
        {"a b</w>\n", "ab abab a", "ab</w>/a/b/ab</w>/a</w>/"},
        {"b c 9\na b 8\nb c 1\n", "abcd", "ab/c/d</w>/"},
        {"a b\nab c</w>", "abc", "ab/c</w>/"},
        {"a b\r\nab c</w>\r", "abc abcd", "abc</w>/ab/c/d</w>/"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *folder = support_temporary_folder();
        struct clf__segmenter_folder settings = {
            .path = folder, .model = "merges.txt", .source_language = "en", .target_language = "de"};
        void *side;
        char tokens[64] = "";
        tokenizer_write(folder, "merges.txt", cases[i].merges);
        tokenizer_write(folder, "nonbreaking_prefix.en", "");
        assert_ok(clf__segmenter_fsmt.open(&side, &settings, 0));
        assert_ok(clf__segmenter_fsmt.segment(side, cases[i].text, strlen(cases[i].text), tokenizer_add_token,
                                              tokens));
        assert_string_equal(tokens, cases[i].tokens);
        clf__segmenter_fsmt.free(side);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_bad_fsmt, support_teardown),
        cmocka_unit_test_teardown(test_fsmt_pairs, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
