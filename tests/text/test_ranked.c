/* Whisper's tokenizer from the vocabulary of a CTranslate2 folder: ids are ranks. */
#include "support/support.h"

#include <string.h>

#include "base/memory.h"
#include "text/tokenizers/segmenters/byte_pairs.h"
#include "text/tokenizers/token_list.h"
#include "text/tokenizers/tokenizer.h"
#include "text/tokenizers/vocabulary.h"

enum { BYTES = 256, ROWS = 266 };

static void add(struct clf__token_list *tokens, const char *token)
{
    assert_ok(clf__token_list_add(tokens, token, strlen(token), 0));
}

/* Tokens for all bytes except `left_out`, longer tokens, an empty token, and special tokens. */
static struct clf__vocabulary make_vocabulary(int left_out)
{
    static const char *const more[] = {"he",
                                       "th",
                                       "\u0120t",
                                       "the",
                                       "\u0120the",
                                       "",
                                       "<|endoftext|>",
                                       "<|startoftranscript|>",
                                       "<|en|>",
                                       "<|notimestamps|>"};
    struct clf__token_list tokens = {.count = 0};
    struct clf__vocabulary vocabulary;
    for (int byte = 0; byte < BYTES; byte++) {
        char token[3] = {0};
        token[clf__byte_pairs_character(token, byte)] = '\0';
        add(&tokens, byte == left_out ? "none" : token);
    }
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        add(&tokens, more[i]);
    }
    assert_int_equal(tokens.count, ROWS);
    assert_ok(clf__vocabulary_take(&vocabulary, &tokens, "/folder/vocabulary.txt"));
    return vocabulary;
}

static const struct clf__tokenizer_options options = {0, ROWS, 0, -1, -1, -1, -1, 262, NULL};

static void check(const struct clf__tokenizer *tokenizer, const char *text, int count,
                  const int32_t *expected)
{
    struct clf__ids ids = {0};
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, text, strlen(text), 1, 0));
    assert_int_equal(ids.count, count + 1); /* and the end */
    assert_memory_equal(ids.data, expected, (size_t)count * sizeof *expected);
    clf__ids_free(&ids);
}

static void test_ranks(void **state)
{
    (void)state;
    struct clf__vocabulary vocabulary = make_vocabulary(-1);
    struct clf__tokenizer *tokenizer;
    assert_ok(clf__tokenizer_load_ranked(&tokenizer, "/folder", &vocabulary, &options));
    check(tokenizer, "the the", 2, (const int32_t[]){259, 260});
    check(tokenizer, "thhe", 2, (const int32_t[]){257, 256});
    check(tokenizer, "<|en|>he", 2, (const int32_t[]){264, 256});
    assert_int_equal(clf__tokenizer_target_id(tokenizer, "<|notimestamps|>"), 265);
    clf__tokenizer_free(tokenizer);
    clf__vocabulary_free(&vocabulary);
}

static void test_another_vocabulary(void **state)
{
    (void)state;
    struct clf__vocabulary vocabulary = make_vocabulary('q');
    struct clf__tokenizer *tokenizer;
    assert_fails(clf__tokenizer_load_ranked(&tokenizer, "/folder", &vocabulary, &options), CLF_FORMAT,
                 "/folder/vocabulary.txt: no token for the byte 0x71");
    clf__vocabulary_free(&vocabulary);
}

static clf_status load(const struct clf__vocabulary *vocabulary)
{
    struct clf__tokenizer *tokenizer = NULL;
    clf_status status = clf__tokenizer_load_ranked(&tokenizer, "/folder", vocabulary, &options);
    clf__tokenizer_free(tokenizer);
    return status;
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    struct clf__vocabulary vocabulary = make_vocabulary(-1);
    clf__memory_fail_at(0);
    assert_ok(load(&vocabulary));
    uint64_t allocations = clf__memory_count();
    for (uint64_t n = 1; n <= allocations; n++) {
        clf__memory_fail_at(n);
        assert_fails(load(&vocabulary), CLF_OUT_OF_MEMORY, "");
    }
    clf__memory_fail_at(0);
    clf__vocabulary_free(&vocabulary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_another_vocabulary),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
