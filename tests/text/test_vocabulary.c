/* Vocabulary files: valid ones map both ways, invalid ones give an error with their name. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "text/tokenizers/token_list.h"
#include "text/tokenizers/vocabulary.h"

static char path[256];

static int choose_path(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "%s/vocab.json", support_temporary_folder());
    return 0;
}

static clf_status load(struct clf__vocabulary *vocabulary, const char *text, int size)
{
    assert_ok(clf__file_write(path, text, strlen(text)));
    return clf__vocabulary_load(vocabulary, path, size);
}

static int32_t id_of(const struct clf__vocabulary *vocabulary, const char *token)
{
    return clf__vocabulary_id(vocabulary, token, strlen(token));
}

static void test_tokens_and_ids(void **state)
{
    (void)state;
    struct clf__vocabulary vocabulary;
    assert_ok(load(&vocabulary, "{\"b\": 3, \"\": 0, \"\\u2581a\": 2, \"ab\": 1, \"\\ud83d\\ude00\": 4}", 5));
    assert_int_equal(vocabulary.size, 5);
    static const char *const tokens[] = {"", "ab", "\u2581a", "b", "\U0001F600"};
    for (int id = 0; id < 5; id++) {
        assert_string_equal(vocabulary.tokens[id], tokens[id]);
        assert_int_equal(id_of(&vocabulary, tokens[id]), id);
    }
    assert_int_equal(id_of(&vocabulary, "a"), -1);
    assert_int_equal(id_of(&vocabulary, "abc"), -1);
    assert_int_equal(clf__vocabulary_id(&vocabulary, "abc", 2), 1);
    assert_int_equal(clf__vocabulary_id(&vocabulary, "ab\0c", 4), -1);
    clf__vocabulary_free(&vocabulary);
    clf__vocabulary_free(&vocabulary);
}

/* Without a given size, the file decides. */
static void test_as_many_as_there_are(void **state)
{
    (void)state;
    struct clf__vocabulary vocabulary;
    assert_ok(load(&vocabulary, "{\"b\": 1, \"a\": 0}", 0));
    assert_int_equal(vocabulary.size, 2);
    assert_string_equal(vocabulary.tokens[1], "b");
    clf__vocabulary_free(&vocabulary);
    assert_fails(load(&vocabulary, "{}", 0), CLF_FORMAT, "vocab.json: no tokens in the file");
    assert_fails(load(&vocabulary, "{\"b\": 2, \"a\": 0}", 0), CLF_FORMAT, "vocab.json");
    assert_fails(load(&vocabulary, "{}", CLF__MAX_VOCABULARY + 1), CLF_BAD_ARGUMENT, "16777217 tokens");
}

static void test_a_large_vocabulary(void **state)
{
    (void)state;
    enum { SIZE = 60000 };
    char *text = support_array(SIZE, 24);
    size_t used = 0;
    for (int i = 0; i < SIZE; i++) {
        used += (size_t)sprintf(text + used, "%s\"w%d\": %d", i ? ", " : "{", i * 7 % SIZE, i);
    }
    sprintf(text + used, "}");
    struct clf__vocabulary vocabulary;
    assert_ok(load(&vocabulary, text, SIZE));
    for (int i = 0; i < SIZE; i++) {
        char word[16];
        sprintf(word, "w%d", i * 7 % SIZE);
        assert_string_equal(vocabulary.tokens[i], word);
        if (id_of(&vocabulary, word) != i) {
            fail_msg("%s", word);
        }
    }
    assert_int_equal(id_of(&vocabulary, "w60000"), -1);
    clf__vocabulary_free(&vocabulary);
}

/* With a known hash, all of them would be in one run of slots. */
static void test_a_vocabulary_made_to_collide(void **state)
{
    (void)state;
    enum { SIZE = 65536 };
    char *text = support_array(SIZE, 96), word[81];
    size_t used = 0;
    for (int i = 0; i < SIZE; i++) {
        support_colliding_word(word, i);
        used += (size_t)sprintf(text + used, "%s\"%s\": %d", i ? ", " : "{", word, i);
    }
    sprintf(text + used, "}");
    struct clf__vocabulary vocabulary;
    assert_ok(load(&vocabulary, text, SIZE));
    uint32_t longest = 0, run = 0;
    for (uint32_t slot = 0; slot < vocabulary.slots.count; slot++) {
        run = vocabulary.slots.items[slot] >= 0 ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    assert_in_range(longest, 2, 1000);
    support_colliding_word(word, 12345);
    assert_int_equal(id_of(&vocabulary, word), 12345);
    clf__vocabulary_free(&vocabulary);
}

static void test_bad_files(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int size;
        const char *part;
    } rows[] = {
        {"{\"a\": 0, \"b\": 1}", 3, "2 tokens, but config.json has 3; download or save both files again"},
        {"{\"a\": 0, \"b\": 1}", 1, "2 tokens, but config.json has 1; download or save both files again"},
        {"{}", 1, "0 tokens"},
        {"{\"a\": 0, \"b\": 2}", 2, "the id of \"b\" is 2, not in 0 .. 1; download or save the file again"},
        {"{\"a\": 0, \"b\": -1}", 2, "the id of \"b\" is -1"},
        {"{\"a\": 0, \"b\": 4294967297}", 2, "the id of \"b\" is 4294967297"},
        {"{\"a\": 1, \"b\": 1}", 2, "have the same id 1; download or save the file again"},
        {"{\"a\": 0, \"b\": \"1\"}", 2, "the id of \"b\" is not an integer; download or save the file again"},
        {"{\"a\": 0, \"b\": 1.5}", 2, "the id of \"b\" is not an integer; download or save the file again"},
        {"{\"a\": 0, \"b\": null}", 2, "the id of \"b\" is not an integer; download or save the file again"},
        {"{\"a\": 0,\n\"a\": 1}", 2, "1 tokens"}, /* the last one, as in Python */
        {"[\"a\", \"b\"]", 2, "not a JSON object"},
        {"{\"a\": 0, ", 2, "line 1"},
        {"", 2, "is empty; download or save it again"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct clf__vocabulary vocabulary;
        assert_fails(load(&vocabulary, rows[i].text, rows[i].size), CLF_FORMAT, rows[i].part);
        assert_non_null(strstr(clf_last_error(), path));
        assert_null(vocabulary.text);
    }
    struct clf__vocabulary vocabulary;
    enum { LISTS = 70000 };
    char *lists = support_array(LISTS + 8, 3);
    size_t used = (size_t)sprintf(lists, "{\"a\": [[]");
    for (int i = 0; i < LISTS; i++, used += 3) {
        memcpy(lists + used, ",[]", 3);
    }
    memcpy(lists + used, "]}", 2);
    assert_fails(load(&vocabulary, lists, 2), CLF_FORMAT,
                 "has more JSON values than the limit of 65540 for such files");
    assert_fails(clf__vocabulary_load(&vocabulary, "/no/vocab.json", 2), CLF_FILE, "/no/vocab.json");
    assert_fails(load(&vocabulary, "{}", -5), CLF_BAD_ARGUMENT, "-5 tokens");
}

/* Files that are not JSON. */
static void test_tokens_that_are_not_utf8(void **state)
{
    (void)state;
    struct clf__token_list tokens = {0};
    struct clf__vocabulary vocabulary;
    assert_ok(clf__token_list_add(&tokens, "a\xc3\xa9", 3, 0));
    assert_ok(clf__token_list_add(&tokens, "b\xc3", 2, 0));
    assert_fails(clf__vocabulary_take(&vocabulary, &tokens, "vocab.txt"), CLF_FORMAT,
                 "vocab.txt: token 1 (\"b\\xc3\") is not UTF-8; download the file again");
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    struct clf__vocabulary vocabulary;
    assert_ok(load(&vocabulary, "{\"a\": 0, \"b\": 1}", 2));
    clf__vocabulary_free(&vocabulary);
    clf__memory_fail_at(0);
    assert_ok(clf__vocabulary_load(&vocabulary, path, 2));
    uint64_t allocations = clf__memory_count();
    clf__vocabulary_free(&vocabulary);
    for (uint64_t n = 1; n <= allocations; n++) {
        clf__memory_fail_at(n);
        assert_fails(clf__vocabulary_load(&vocabulary, path, 2), CLF_OUT_OF_MEMORY, "");
        assert_null(vocabulary.tokens);
    }
    clf__memory_fail_at(0);
    assert_true(allocations >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens_and_ids),
        cmocka_unit_test_teardown(test_as_many_as_there_are, support_teardown),
        cmocka_unit_test_teardown(test_a_large_vocabulary, support_teardown),
        cmocka_unit_test_teardown(test_a_vocabulary_made_to_collide, support_teardown),
        cmocka_unit_test_teardown(test_bad_files, support_teardown),
        cmocka_unit_test(test_tokens_that_are_not_utf8),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, choose_path, NULL);
}
