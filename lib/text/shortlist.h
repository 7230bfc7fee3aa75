/* A lexical shortlist (Marian's data/shortlist.cpp): likely target words for each source word. Decoding a
 * line considers only the candidates of the line's words. */
#ifndef CLF_TEXT_SHORTLIST_H
#define CLF_TEXT_SHORTLIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct clf__shortlist;
struct clf__tokenizer;

/* The vocabularies of the model. */
struct clf__shortlist_words {
    int source, target; /* number of words */
    int is_shared;      /* one shared vocabulary: source words are candidates too */
    /* Returns the id of a target or source word; if it is not in the vocabulary, the unknown id or -1. */
    int32_t (*id_of)(const void *user, int is_target, const char *token, size_t length);
    const void *user;
};

/* Returns the vocabularies of a tokenizer, borrowed. */
struct clf__shortlist_words clf__shortlist_words_of(const struct clf__tokenizer *tokenizer);

/* Pruning options for a text shortlist; binary shortlists are already pruned. */
struct clf__shortlist_cut {
    int first;       /* number of frequent words that are always candidates */
    int best;        /* maximum number of candidates per source word */
    float threshold; /* minimum probability (exclusive) */
};
/* Marian's defaults. */
#define CLF__SHORTLIST_CUT                                                                                   \
    {                                                                                                        \
        100, 100, 0.0f                                                                                       \
    }

/* Reads a shortlist in either format: binary with a checksum, or lines of target word, source word and
 * probability (Marian's lex.s2t). Both may be gzip-compressed. */
clf_status clf__shortlist_open(struct clf__shortlist **out, const char *path,
                               const struct clf__shortlist_words *words,
                               const struct clf__shortlist_cut *cut);
void clf__shortlist_free(struct clf__shortlist *shortlist);

/* Computes an upper bound on the number of candidates of a line: `base` + tokens * `each`. */
void clf__shortlist_most(const struct clf__shortlist *shortlist, int *base, int *each);

/* Writes the candidates of one line in ascending order: the frequent words, the candidates of the line's
 * words and, with a shared vocabulary, the line's words; then further frequent words up to a multiple of 8,
 * as in Marian. `ids` has space for base + count * each. Returns the number of candidates. */
int clf__shortlist_candidates(struct clf__shortlist *shortlist, int32_t *ids, const int32_t *line, int count);

#endif
