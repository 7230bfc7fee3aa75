/* A lexical shortlist (Marian's data/shortlist.cpp): for each source word the target words that it is likely
 * to become, of which alone a line's translation is then made. */
#ifndef CLF_TEXT_SHORTLIST_H
#define CLF_TEXT_SHORTLIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct clf__shortlist;
struct clf__tokenizer;

/* What the model's vocabularies are. */
struct clf__shortlist_words {
    int source, target; /* how many words each has */
    int is_shared;      /* they are one, and a source word is its own candidate too */
    /* The id of a piece of the target or the source, the unknown one's where it has none of its own, or -1.
     */
    int32_t (*id_of)(const void *user, int is_target, const char *piece, size_t length);
    const void *user;
};

/* A tokenizer's, which they borrow. */
struct clf__shortlist_words clf__shortlist_words_of(const struct clf__tokenizer *tokenizer);

/* What a shortlist in text leaves to who reads it; one in binary form has been cut already. */
struct clf__shortlist_cut {
    int first;       /* so many of the first words are always candidates */
    int best;        /* so many of the likeliest of a source word are kept */
    float threshold; /* of those that are likelier than this */
};
/* As Marian has it where nothing is said. */
#define CLF__SHORTLIST_CUT                                                                                   \
    {                                                                                                        \
        100, 100, 0.0f                                                                                       \
    }

/* Reads a shortlist whole, by what is in it: binary, with its checksum, or lines of a target piece, a source
 * piece and a probability (Marian's lex.s2t); or either of them as gzip compresses it. */
clf_status clf__shortlist_open(struct clf__shortlist **out, const char *path,
                               const struct clf__shortlist_words *words,
                               const struct clf__shortlist_cut *cut);
void clf__shortlist_free(struct clf__shortlist *shortlist);

/* A line has at most `base` + its tokens * `each` candidates. */
void clf__shortlist_most(const struct clf__shortlist *shortlist, int *base, int *each);

/* The candidates of a line alone, ascending: the most frequent words, its words' lists and, where
 * vocabularies are shared, its words; then further frequent words until they are a multiple of 8, as Marian
 * rounds. `ids` has room for base + count * each. Returns how many they are. */
int clf__shortlist_candidates(struct clf__shortlist *shortlist, int32_t *ids, const int32_t *line, int count);

#endif
