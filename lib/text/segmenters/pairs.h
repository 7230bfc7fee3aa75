/* Byte-pair encoding on characters (Sennrich et al. 2016, section 3.2), one pair per line: all subwords of a
 * word but the last end with @@. */
#ifndef CLF_TEXT_SEGMENTERS_PAIRS_H
#define CLF_TEXT_SEGMENTERS_PAIRS_H

#include "text/segmenters/merges.h"
#include "text/segmenters/segmenter.h"
#include "text/vocabulary.h"

struct clf__pairs {
    struct clf__vocabulary symbols; /* symbols of all pairs and their results */
    struct clf__merges merges;
    int ends_apart; /* the end of a word is a separate symbol, not part of the last character (version 0.1) */
};

/* Rules for reading a file. TRANSFORMERS: the first line is a version, blank and unterminated lines are
 * ignored, the last of duplicates counts. SUBWORD_NMT (0.3.8, and argostranslate 1.11): the first line may be
 * version 0.1 or 0.2, all others are pairs, the first of duplicates counts. */
enum clf__pairs_kind { CLF__PAIRS_TRANSFORMERS, CLF__PAIRS_SUBWORD_NMT };
/* Reads a file. A damaged file is CLF_FORMAT, with the line; an unknown version CLF_UNSUPPORTED. */
clf_status clf__pairs_read(struct clf__pairs *out, const char *path, enum clf__pairs_kind kind);
void clf__pairs_free(struct clf__pairs *pairs);

/* Scratch memory for words, reused from word to word; zero-initialise. */
struct clf__pairs_work {
    struct clf__merge_work merges;
    char *word;  /* and room for @@ */
    int *starts; /* of its characters */
    size_t room;
};
void clf__pairs_work_free(struct clf__pairs_work *work);

/* Calls `function` with the subwords of a word, valid UTF-8. */
clf_status clf__pairs_cut(const struct clf__pairs *pairs, struct clf__pairs_work *work, const char *word,
                          size_t size, clf__token_function *function, void *user);

/* Joins subwords with spaces except where a subword continues the one before; the caller frees *text. */
clf_status clf__pairs_join(char **text, const char *const *tokens, int count);

#endif
