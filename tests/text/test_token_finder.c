/* Finding added tokens: the leftmost, and the longest on ties. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "support/support.h"
#include "text/tokenizers/token_finder.h"

static void add(struct clf__token_finder *found, const char *text, int32_t id)
{
    assert_ok(clf__token_finder_add(found, text, strlen(text), id, 0));
}

/* Returns the longest token that a text begins with, the lower id of equal ones; -1: none. */
static int32_t longest(const struct clf__token_finder *found, const char *text)
{
    int32_t id = -1;
    size_t size = 0;
    for (int i = 0; i < found->count; i++) {
        const struct clf__finder_token *token = &found->items[i];
        if (strncmp(token->text, text, token->size) == 0 &&
            (id < 0 || token->size > size || (token->size == size && token->id < id))) {
            id = token->id;
            size = token->size;
        }
    }
    return id;
}

/* A text of 1 to `most` letters from an alphabet of two, so that many tokens share prefixes. */
static void draw(char *out, int most, struct support_random *random)
{
    int length = 1 + support_integer(random, most);
    for (int i = 0; i < length; i++) {
        out[i] = (char)('a' + support_integer(random, 2));
    }
    out[length] = '\0';
}

static void test_longest_token(void **state)
{
    (void)state;
    enum { ROUNDS = 200, TOKENS = 30, LONGEST = 7, TEXT = 40 };
    struct support_random random = {1};
    for (int round = 0; round < ROUNDS; round++) {
        struct clf__token_finder found = {.count = 0};
        char text[TEXT + 1];
        for (int id = 0; id < TOKENS; id++) {
            draw(text, LONGEST, &random);
            add(&found, text, id);
        }
        clf__token_finder_sort(&found);
        draw(text, TEXT, &random);
        struct clf__token_match match;
        for (size_t from = 0, size = strlen(text); from < size; from++) {
            size_t at = from;
            while (at < size && longest(&found, text + at) < 0) {
                at++;
            }
            assert_int_equal(clf__token_finder_next(&found, &match, text, size, from), at < size);
            if (at < size) {
                assert_int_equal(match.start, at);
                assert_int_equal(match.id, longest(&found, text + at));
            }
        }
        clf__token_finder_free(&found);
    }
}

/* The time is linear in the length of a line, not multiplied by the number of tokens. */
static void test_many_tokens_that_begin_alike(void **state)
{
    (void)state;
    enum { TOKENS = 200000, LENGTH = 100000, MOST_SECONDS = 20 };
    struct clf__token_finder found = {.count = 0};
    struct clf__token_match match;
    char token[16], *text = support_array(LENGTH, 1);
    for (int id = 0; id < TOKENS; id++) {
        snprintf(token, sizeof token, "aa%06d", id);
        add(&found, token, id);
    }
    clf__token_finder_sort(&found);
    memset(text, 'a', LENGTH);
    clock_t start = clock();
    assert_false(clf__token_finder_next(&found, &match, text, LENGTH, 0));
    assert_true(clock() - start < MOST_SECONDS * CLOCKS_PER_SEC);
    memcpy(text + LENGTH - 8, "aa123456", 8);
    assert_true(clf__token_finder_next(&found, &match, text, LENGTH, 0));
    assert_int_equal(match.id, 123456);
    clf__token_finder_free(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_longest_token),
        cmocka_unit_test_teardown(test_many_tokens_that_begin_alike, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
