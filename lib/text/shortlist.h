/* A lexical shortlist (Marian's data/shortlist.cpp): for each source word the target words that it is likely
 * to become, of which alone a line's translation is then made. */
#ifndef CLF_TEXT_SHORTLIST_H
#define CLF_TEXT_SHORTLIST_H

#include <stdint.h>

#include "base/status.h"

struct clf__shortlist;

/* What the model's vocabularies are. */
struct clf__shortlist_words {
    int source, target; /* how many words each has */
    int is_shared;      /* they are one, and a source word is its own candidate too */
};

/* Reads a binary shortlist whole, with its checksum. */
clf_status clf__shortlist_open(struct clf__shortlist **out, const char *path,
                               const struct clf__shortlist_words *words);
void clf__shortlist_free(struct clf__shortlist *shortlist);

/* A line has at most `base` + its tokens * `each` candidates. */
void clf__shortlist_most(const struct clf__shortlist *shortlist, int *base, int *each);

/* The candidates of a line alone, ascending: the most frequent words, its words' lists and, where
 * vocabularies are shared, its words; then further frequent words until they are a multiple of 8, as Marian
 * rounds. `ids` has room for base + count * each. Returns how many they are. */
int clf__shortlist_candidates(struct clf__shortlist *shortlist, int32_t *ids, const int32_t *line, int count);

#endif
