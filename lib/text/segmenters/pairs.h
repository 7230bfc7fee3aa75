/* Pairs of characters that become one (Sennrich et al. 2016, section 3.2), one a line: the pieces of a word,
 * of which all but the last end with @@, or the last ends with </w>. */
#ifndef CLF_TEXT_SEGMENTERS_PAIRS_H
#define CLF_TEXT_SEGMENTERS_PAIRS_H

#include "text/segmenters/merges.h"
#include "text/segmenters/segmenter.h"
#include "text/vocabulary.h"

/* How a file is read. With transformers the first line is a version, whatever it says, a blank line is
 * nothing and neither is one that nothing ends, and of a pair that is there twice the last counts. With
 * subword-nmt (0.3.8, and the copy of it in argostranslate 1.11) the first line may be a version, which must
 * be 0.1 or 0.2, all others are pairs, and the first of two counts. fastBPE's files, as FSMTTokenizer of
 * transformers reads them, have no version; a third column is ignored, and of two equal pairs the last
 * counts. Their pieces end with </w> where they end a word, and the others are as they are. */
enum clf__pairs_kind { CLF__PAIRS_TRANSFORMERS, CLF__PAIRS_SUBWORD_NMT, CLF__PAIRS_FASTBPE };

struct clf__pairs {
    enum clf__pairs_kind kind;
    struct clf__vocabulary symbols; /* of all pairs, and what they become */
    struct clf__merges merges;
    int ends_apart; /* a word's end is a symbol of its own, not a part of the last character's (version 0.1)
                     */
};

/* A file that is damaged is CLF_FORMAT, with the line; another version CLF_UNSUPPORTED. */
clf_status clf__pairs_read(struct clf__pairs *out, const char *path, enum clf__pairs_kind kind);
void clf__pairs_free(struct clf__pairs *pairs);

/* What words need while they are cut; zeroed at first, and used for one after the other. */
struct clf__pairs_work {
    struct clf__merge_work merges;
    char *word;  /* and room for @@ */
    int *starts; /* of its characters */
    size_t room;
};
void clf__pairs_work_free(struct clf__pairs_work *work);

/* Calls `function` with the pieces of a word, valid UTF-8. */
clf_status clf__pairs_cut(const struct clf__pairs *pairs, struct clf__pairs_work *work, const char *word,
                          size_t size, clf__piece_function *function, void *user);

/* The words of pieces with one space between two; the caller frees *text. */
clf_status clf__pairs_join(const struct clf__pairs *pairs, char **text, const char *const *pieces, int count);

#endif
