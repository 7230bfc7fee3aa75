/* Counting tokens, and reading back a written vocabulary. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "text/tokenizers/vocabulary.h"

static void add(struct clf__token_counts *counts, const char *token)
{
    assert_ok(clf__token_counts_add(counts, token, strlen(token)));
}

static void test_tokens_made_to_collide(void **state)
{
    (void)state;
    enum { SIZE = 16384 };
    struct clf__token_counts counts = {0};
    for (int i = 0; i < SIZE; i++) {
        char word[81];
        support_colliding_word(word, i);
        add(&counts, word);
    }
    uint32_t longest = 0, run = 0;
    for (uint32_t slot = 0; slot < counts.slots.count; slot++) {
        run = counts.slots.items[slot] >= 0 ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    assert_int_equal(counts.count, SIZE);
    assert_in_range(longest, 2, 1000);
    clf__token_counts_free(&counts);
}

static void test_order(void **state)
{
    (void)state;
    struct clf__token_counts counts = {0};
    static const char *const tokens[] = {"b", "a", "\u00e9", "a", "aa", "b", "c", "c", "c"};
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        add(&counts, tokens[i]);
    }
    assert_int_equal(counts.count, 5);
    static const char *const first[] = {"b", "a", "\u00e9", "aa", "c"};
    static const char *const sorted[] = {"c", "a", "b", "aa", "\u00e9"};
    static const int numbers[] = {3, 2, 2, 1, 1};
    for (int i = 0; i < 5; i++) {
        assert_string_equal(counts.items[i].token, first[i]);
    }
    clf__token_counts_sort(&counts);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(counts.items[i].token, sorted[i]);
        assert_int_equal(counts.items[i].count, numbers[i]);
    }
    clf__token_counts_free(&counts);
    clf__token_counts_sort(&counts);
    clf__token_counts_free(&counts);
}

enum { MANY = 5000 };

static void test_many(void **state)
{
    (void)state;
    struct clf__token_counts counts = {0};
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            char token[16];
            snprintf(token, sizeof token, "w%d", i);
            add(&counts, token);
        }
    }
    assert_int_equal(counts.count, MANY);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(counts.items[i].count, 2);
    }
    clf__token_counts_free(&counts);
}

static void test_written_and_read(void **state)
{
    (void)state;
    static const char *const tokens[] = {"</s>", "\"", "\\", "\u2581\u00e9", "\x01", "\U0001F600", "/"};
    char path[512];
    snprintf(path, sizeof path, "%s/vocab.json", support_temporary_folder());
    assert_ok(clf__vocabulary_write(path, tokens, 7));
    struct clf__vocabulary vocabulary;
    assert_ok(clf__vocabulary_load(&vocabulary, path, 7));
    for (int i = 0; i < 7; i++) {
        assert_string_equal(vocabulary.tokens[i], tokens[i]);
    }
    clf__vocabulary_free(&vocabulary);
}

static void test_no_memory(void **state)
{
    (void)state;
    clf_status status = CLF_OUT_OF_MEMORY;
    for (uint64_t n = 1; status != CLF_OK; n++) {
        assert_true(n < 10000);
        struct clf__token_counts counts = {0};
        clf__memory_fail_at(n);
        status = CLF_OK;
        for (int i = 0; i < 1100 && status == CLF_OK; i++) {
            char token[16];
            snprintf(token, sizeof token, "w%d", i);
            status = clf__token_counts_add(&counts, token, strlen(token));
        }
        clf__memory_fail_at(0);
        assert_true(status == CLF_OK || status == CLF_OUT_OF_MEMORY);
        clf__token_counts_free(&counts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens_made_to_collide),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_written_and_read),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
