/* Tokenizers loaded from folders that tests create. */
#ifndef CLF_TESTS_TOKENIZER_FIXTURE_H
#define CLF_TESTS_TOKENIZER_FIXTURE_H

#include "support/support.h"

#include "text/tokenizers/tokenizer.h"

/* A vocabulary of 7 words; sources are framed by a start and an end token. */
extern const struct clf__tokenizer_options tokenizer_word_options;
extern const char tokenizer_word_file[];

/* tests/fixtures/text/shared: SentencePiece, one vocabulary. */
extern const struct clf__tokenizer_options tokenizer_subword_options;

void tokenizer_write(const char *folder, const char *name, const char *text);
struct clf__tokenizer *tokenizer_load(const char *folder, const struct clf__tokenizer_options *options);
/* Writes the 7 words to a new folder, and loads its tokenizer. */
struct clf__tokenizer *tokenizer_load_words(const struct clf__tokenizer_options *options);

/* A clf__token_function that appends each token and a slash to the string `user`. */
clf_status tokenizer_add_token(void *user, const char *token, size_t length);

#define assert_ids(ids, ...)                                                                                 \
    do {                                                                                                     \
        const int32_t expected_ids[] = {__VA_ARGS__};                                                        \
        assert_int_equal((ids).count, sizeof expected_ids / sizeof *expected_ids);                           \
        assert_memory_equal((ids).data, expected_ids, sizeof expected_ids);                                  \
    } while (0)

/* Encodes and decodes a text, with unknown tokens replaced by their source text; the caller frees the result.
 * *unknown is the number of unknown tokens. Fails unless known tokens match their ids. */
char *tokenizer_restore(const struct clf__tokenizer *tokenizer, const char *text, int *unknown);

#endif
