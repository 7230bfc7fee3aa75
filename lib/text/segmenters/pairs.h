/* Pairs of characters that are merged (Sennrich et al. 2016, section 3.2), a pair in each line of a file.
 * They cut a word into pieces. All pieces but the last end with @@, or the last piece ends with </w>. */
#ifndef CLF_TEXT_SEGMENTERS_PAIRS_H
#define CLF_TEXT_SEGMENTERS_PAIRS_H

#include "text/segmenters/merges.h"
#include "text/segmenters/segmenter.h"
#include "text/vocabulary.h"

/* The rules for reading a file.
 *
 * TRANSFORMERS (BlenderbotSmallTokenizer): the first line is a version and is ignored, and so are blank lines
 * and a last line without an end; of two equal pairs the last counts.
 *
 * SUBWORD_NMT (subword-nmt 0.3.8 and its copy in argostranslate 1.11): the first line may be a version, 0.1
 * or 0.2; every other line is a pair, and of two equal pairs the first counts.
 *
 * FASTBPE (FSMTTokenizer): every line is a pair; a third column, blank lines and a last line without an end
 * are ignored; of two equal pairs the last counts. A piece that ends a word ends with </w>, and no piece has
 * @@. */
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
