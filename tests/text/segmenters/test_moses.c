/* Segmentation and joining like argostranslate's BPETokenizer, by language, against recorded results. Missing
 * lists of abbreviations, and damaged files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clformer/log.h>
#include <jansson.h>

#include "base/file.h"
#include "base/memory.h"
#include "support/support.h"
#include "text/tokenizers/segmenters/segmenter.h"

enum { MOST_TOKENS = 512 };

static clf_status open_language(void **state, const char *folder, const char *language, int target)
{
    const struct clf__segmenter_folder settings = {
        .path = folder, .model = "bpe.model", .source_language = language, .target_language = language};
    return clf__segmenter_moses.open(state, &settings, target);
}

static clf_status add_token(void *user, const char *token, size_t length)
{
    char **text = user;
    return clf__append(text, "%s%.*s", **text != '\0' ? " " : "", (int)length, token);
}

static clf_status cut(char **tokens, const void *state, const char *text, size_t size)
{
    *tokens = NULL;
    CLF__TRY(clf__copy_string(tokens, ""));
    return clf__segmenter_moses.segment(state, text, size, add_token, tokens);
}

static void check_cut(const void *state, const char *language, const json_t *row)
{
    const json_t *text = json_array_get(row, 0);
    const char *expected = json_string_value(json_array_get(row, 1));
    char *tokens;
    assert_ok(cut(&tokens, state, json_string_value(text), json_string_length(text)));
    if (strcmp(tokens, expected) != 0) {
        fail_msg("%s: \"%s\" gives\n%s\nand not\n%s", language, json_string_value(text), tokens, expected);
    }
    clf__free(tokens);
}

static clf_status join(char **text, const void *state, const char *tokens)
{
    const char *items[MOST_TOKENS];
    int count = 0;
    char *copy;
    CLF__TRY(clf__copy_string(&copy, tokens));
    for (char *token = copy, *space; token != NULL; token = space) {
        space = strchr(token, ' ');
        if (space != NULL) {
            *space++ = '\0';
        }
        assert_true(count < MOST_TOKENS);
        items[count++] = token;
    }
    clf_status status = clf__segmenter_moses.join(state, text, items, count);
    clf__free(copy);
    return status;
}

static void check_joined(const void *state, const char *language, const json_t *row)
{
    const char *tokens = json_string_value(json_array_get(row, 0));
    const char *expected = json_string_value(json_array_get(row, 1));
    char *text;
    assert_ok(join(&text, state, tokens));
    if (strcmp(text, expected) != 0) {
        fail_msg("%s: \"%s\" gives\n%s\nand not\n%s", language, tokens, text, expected);
    }
    clf__free(text);
}

static void test_recorded(void **state)
{
    (void)state;
    json_t *expected = json_load_file(support_fixture("text/moses/expected.json"), JSON_ALLOW_NUL, NULL),
           *rows;
    const char *language;
    char folder[512];
    snprintf(folder, sizeof folder, "%s", support_fixture("text/moses"));
    assert_true(json_object_size(expected) > 10);
    json_object_foreach(expected, language, rows)
    {
        const json_t *cases = json_object_get(rows, "cut"), *joined = json_object_get(rows, "joined"), *row;
        void *side;
        size_t i;
        assert_ok(open_language(&side, folder, language, 0));
        assert_true(json_array_size(cases) > 100 && json_array_size(joined) > 100);
        json_array_foreach(cases, i, row)
        {
            check_cut(side, language, row);
        }
        json_array_foreach(joined, i, row)
        {
            check_joined(side, language, row);
        }
        clf__segmenter_moses.free(side);
    }
    json_decref(expected);
}

/* Follows Moses where sacremoses fails. */
static void test_czech_dashes(void **state)
{
    (void)state;
    static const struct {
        const char *tokens, *text;
    } cases[] = {
        {"m\u00e1 e' - mail", "m\u00e1 e'-mail"},
        {"je' \u2013 Li .", "je'\u2013Li."},
        {"e' - li\u010d", "e' - li\u010d"},
        {"e' - ma\u0131l", "e'-ma\u0131l"},
        {"1' - li", "1' - li"},
    };
    void *side;
    char folder[512], *text;
    snprintf(folder, sizeof folder, "%s", support_fixture("text/moses"));
    assert_ok(open_language(&side, folder, "cs", 1));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(join(&text, side, cases[i].tokens));
        assert_string_equal(text, cases[i].text);
        clf__free(text);
    }
    clf__segmenter_moses.free(side);
}

/* --- Lists of abbreviations. --- */

static char said[1024];
static int said_count;

static void hear(clf_log_level level, const char *message, void *user)
{
    (void)user;
    if (level == CLF_LOG_WARNING) {
        snprintf(said, sizeof said, "%s", message);
        said_count++;
    }
}

static void check_tokens(const char *folder, const char *language, const char *text, const char *expected)
{
    void *side;
    char *tokens;
    assert_ok(open_language(&side, folder, language, 0));
    assert_ok(cut(&tokens, side, text, strlen(text)));
    assert_string_equal(tokens, expected);
    clf__free(tokens);
    clf__segmenter_moses.free(side);
}

static void write_file(const char *folder, const char *name, const char *bytes, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(clf__file_write(path, bytes, size));
}

static void test_lists(void **state)
{
    (void)state;
    char folder[256], elsewhere[256];
    snprintf(folder, sizeof folder, "%s", support_temporary_folder());
    snprintf(elsewhere, sizeof elsewhere, "%s", support_temporary_folder());
    write_file(folder, "bpe.model", "x y\n", 4);
    clf_log_set(hear, NULL);
    said_count = 0;
    check_tokens(folder, "pt", "A. B", "A . B"); /* without */
    assert_int_equal(said_count, 1);
    assert_non_null(strstr(said, "nonbreaking_prefix.pt"));
    assert_non_null(strstr(said, "CLFORMER_ABBREVIATIONS"));
    check_tokens(folder, "uk", "A. B", "A . B");
    assert_int_equal(said_count, 2);
    assert_non_null(strstr(said, "nonbreaking_prefix.en"));
    write_file(elsewhere, "nonbreaking_prefix.pt", "A\n", 2);
    write_file(elsewhere, "nonbreaking_prefix.en", "B\n", 2);
    assert_int_equal(setenv("CLFORMER_ABBREVIATIONS", elsewhere, 1), 0);
    check_tokens(folder, "pt", "A. B. C", "A@@ . B . C");
    check_tokens(folder, "uk", "A. B. C", "A . B@@ . C"); /* no list, so the English one is used */
    check_tokens(folder, "ru", "A. B. C", "A . B . C");   /* its list is missing */
    assert_int_equal(said_count, 3);
    write_file(folder, "nonbreaking_prefix.pt", "B\n", 2); /* the model's list takes precedence */
    check_tokens(folder, "pt", "A. B. C", "A . B@@ . C");
    void *side;
    assert_ok(open_language(&side, folder, "de", 1)); /* a target's list is not needed */
    clf__segmenter_moses.free(side);
    assert_int_equal(said_count, 3);
    setenv("CLFORMER_ABBREVIATIONS", "/no/such/folder", 1);
    assert_fails(open_language(&side, folder, "de", 0), CLF_FILE,
                 "CLFORMER_ABBREVIATIONS: \"/no/such/folder\" is not a folder");
    unsetenv("CLFORMER_ABBREVIATIONS");
    write_file(folder, "nonbreaking_prefix.pt", "B\xFF\n", 3);
    assert_fails(open_language(&side, folder, "pt", 0), CLF_FORMAT, "nonbreaking_prefix.pt: not UTF-8 text");
    write_file(folder, "nonbreaking_prefix.pt", "B\0\n", 3);
    assert_fails(open_language(&side, folder, "pt", 0), CLF_FORMAT, "nonbreaking_prefix.pt: not UTF-8 text");
    clf_log_set(NULL, NULL);
}

/* --- Pairs. --- */

/* Subwords equal subword-nmt's. */
static void test_pairs(void **state)
{
    (void)state;
    static const struct {
        const char *pairs, *text, *tokens;
    } cases[] = {
        {"#version: 0.2\nb c\nabc a\na bc\n", "abcabcx", "abc@@ abc@@ x"},
        {"#version: 0.1\na b\nb </w>\nab </w>", "abab a b", "ab@@ ab a b"},
        {"a b\nb </w>\nab </w>\n", "abb ab", "ab@@ b ab"},
        {"#version: 0.1\nb </w>\na b</w>\n", "aab", "a@@ ab"},
        {"#version: 0.2.0\r\na b</w>\ra b\r\n", "abab", "ab@@ ab"},
        {"#version: 0.2\n a b \nb a\na b", "aba", "ab@@ a"},
    };
    const char *folder = support_temporary_folder();
    write_file(folder, "nonbreaking_prefix.en", "", 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file(folder, "bpe.model", cases[i].pairs, strlen(cases[i].pairs));
        check_tokens(folder, "en", cases[i].text, cases[i].tokens);
    }
}

static void test_damage(void **state)
{
    (void)state;
    static const struct {
        const char *pairs, *part;
        size_t size;
        clf_status status;
    } cases[] = {
        {"#version: 0.2\n\na b\n", "bpe.model: line 2 is not two symbols", 19, CLF_FORMAT},
        {"a b\nab\n", "bpe.model: line 2 is not two symbols", 7, CLF_FORMAT},
        {"a b\na b c", "bpe.model: line 2 is not two symbols", 9, CLF_FORMAT},
        {"a  b\n", "bpe.model: line 1 is not two symbols", 5, CLF_FORMAT},
        {"a \xFF\n", "bpe.model: line 1 is too long or not UTF-8", 4, CLF_FORMAT},
        {"a\0b\n", "bpe.model: the file contains a NUL byte", 4, CLF_FORMAT},
        {"#version: 0.3\na b\n",
         "the first line declares \"#version: 0.3\"; use a file of version 0.1 or 0.2", 18, CLF_UNSUPPORTED},
        {"#version:\n", "the first line declares \"#version:\"", 10, CLF_UNSUPPORTED},
        {"", "bpe.model", 0, CLF_FORMAT},
    };
    const char *folder = support_temporary_folder();
    void *side;
    assert_fails(open_language(&side, folder, "en", 0), CLF_FILE, "bpe.model");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file(folder, "bpe.model", cases[i].pairs, cases[i].size);
        assert_fails(open_language(&side, folder, "en", 0), cases[i].status, cases[i].part);
    }
}

/* --- Time and memory. --- */

static clf_status use(const char *folder)
{
    static const char text[] = "\u201eDas ist gut\u201c, z.B. Nr. 5 ... d'accord.'";
    void *side;
    char *tokens = NULL, *joined = NULL;
    CLF__TRY(open_language(&side, folder, "de", 0));
    clf_status status = cut(&tokens, side, text, strlen(text));
    if (status == CLF_OK) {
        status = join(&joined, side, tokens);
    }
    clf__free(joined);
    clf__free(tokens);
    clf__segmenter_moses.free(side);
    return status;
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    char folder[512];
    snprintf(folder, sizeof folder, "%s", support_fixture("text/moses"));
    clf__memory_fail_at(0);
    assert_ok(use(folder));
    uint64_t allocations = clf__memory_count();
    assert_true(allocations > 10);
    for (uint64_t n = 1; n <= allocations; n++) {
        clf__memory_fail_at(n);
        assert_fails(use(folder), CLF_OUT_OF_MEMORY, "");
    }
    clf__memory_fail_at(0);
}

static clf_status count_token(void *user, const char *token, size_t length)
{
    (void)token;
    *(int *)user += length > 0;
    return CLF_OK;
}

/* Repetitive text takes linear time: quadratic time would be hours. */
static void test_long_lines(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    static const char *const repeated[] = {".",  " ",      "\"",  "'",  ",",     ".\" ",  "a",
                                           "a.", "\u00a0", "DOT", "''", "\x01 ", "\u4e2d"};
    char folder[512], *text = malloc(SIZE);
    void *side;
    assert_non_null(text);
    snprintf(folder, sizeof folder, "%s", support_fixture("text/moses"));
    assert_ok(open_language(&side, folder, "de", 0));
    for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++) {
        size_t length = strlen(repeated[i]), size = SIZE / length * length;
        int count = 0;
        for (size_t at = 0; at < size; at += length) {
            memcpy(text + at, repeated[i], length);
        }
        assert_ok(clf__segmenter_moses.segment(side, text, size, count_token, &count));
        assert_true((count > 0) == (strspn(repeated[i], " \x01\xC2\xA0") < length));
    }
    clf__segmenter_moses.free(side);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_czech_dashes),
        cmocka_unit_test_teardown(test_lists, support_teardown),
        cmocka_unit_test_teardown(test_pairs, support_teardown),
        cmocka_unit_test_teardown(test_damage, support_teardown),
        cmocka_unit_test(test_every_allocation_may_fail),
        cmocka_unit_test(test_long_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
