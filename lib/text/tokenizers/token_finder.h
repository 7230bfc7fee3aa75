/* Finds added tokens, such as special tokens and languages, in a text before it is segmented, as transformers
 * does. */
#ifndef CLF_TEXT_TOKEN_FINDER_H
#define CLF_TEXT_TOKEN_FINDER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct clf__vocabulary;

struct clf__finder_token {
    char *text; /* owned */
    size_t size;
    int32_t id;
    int marks;   /* flags of text/tokenizers/token_list.h */
    int shorter; /* index of the longest other token that is a prefix of this one, or -1 */
};

/* A set of tokens to find; empty when zero-initialised. */
struct clf__token_finder {
    struct clf__finder_token *items; /* sorted by bytes; among equal texts, the lower id is last */
    int count, capacity;
    int first[256 + 1];             /* index of the first item for each first byte */
    uint64_t pairs[(1 << 16) / 64]; /* one bit for each pair of first two bytes */
};

/* Adds a token of at least one byte; it is found after clf__token_finder_sort(). */
clf_status clf__token_finder_add(struct clf__token_finder *found, const char *text, size_t size, int32_t id,
                                 int marks);
void clf__token_finder_sort(struct clf__token_finder *found);
/* Collects the tokens marked CLF__TOKEN_FOUND but not CLF__TOKEN_NORMALIZED. */
clf_status clf__token_finder_collect(struct clf__token_finder *out, const struct clf__vocabulary *vocabulary);
void clf__token_finder_free(struct clf__token_finder *found);

struct clf__token_match {
    size_t start, end; /* range of the match, with the white space that the token absorbs */
    int32_t id;
};

/* Finds the leftmost token at or after `from`, preferring the longest; returns 0 if there is none. */
int clf__token_finder_next(const struct clf__token_finder *found, struct clf__token_match *out,
                           const char *text, size_t size, size_t from);

#endif
