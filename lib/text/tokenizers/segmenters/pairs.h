/* Byte-pair encoding on characters (Sennrich et al. 2016, section 3.2), one pair per line: all subwords of a
 * word but the last end with @@, or the last ends with </w>. */
#ifndef CLF_TEXT_SEGMENTERS_PAIRS_H
#define CLF_TEXT_SEGMENTERS_PAIRS_H

#include "text/tokenizers/segmenters/merges.h"
#include "text/tokenizers/segmenters/segmenter.h"
#include "text/tokenizers/vocabulary.h"

/* The rules for reading a file, which differ in the lines they ignore and in duplicate pairs. */
enum clf__pairs_kind {
    /* BlenderbotSmallTokenizer: ignores the first line (a version), blank lines and a last line without a
     * line end. If a pair occurs twice, the last one applies. */
    CLF__PAIRS_TRANSFORMERS,
    /* subword-nmt 0.3.8 and its copy in argostranslate 1.11: the first line may be a version, 0.1 or 0.2; all
     * other lines are pairs. If a pair occurs twice, the first one applies. */
    CLF__PAIRS_SUBWORD_NMT,
    /* FSMTTokenizer: ignores a third column, blank lines and a last line without a line end. If a pair occurs
       twice, the last one applies. Tokens that end a word end with </w>; no token has @@. */
    CLF__PAIRS_FASTBPE
};

struct clf__pairs {
    enum clf__pairs_kind kind;
    struct clf__vocabulary symbols; /* symbols of all pairs and their results */
    struct clf__merges merges;
    int ends_apart; /* version 0.1: the end of a word is a separate symbol instead of a part of the last
                       character */
};

/* Reads a file. Returns CLF_FORMAT with the line number for a damaged line and CLF_UNSUPPORTED for an unknown
 * version. */
clf_status clf__pairs_read(struct clf__pairs *out, const char *path, enum clf__pairs_kind kind);
void clf__pairs_free(struct clf__pairs *pairs);

/* Scratch memory for one word, reused for each word; zero-initialise. */
struct clf__pairs_work {
    struct clf__merge_work merges;
    char *word;  /* the word, with space for @@ */
    int *starts; /* offsets of the characters */
    size_t room;
};
void clf__pairs_work_free(struct clf__pairs_work *work);

/* Calls `function` with the subwords of a word, which is valid UTF-8. */
clf_status clf__pairs_cut(const struct clf__pairs *pairs, struct clf__pairs_work *work, const char *word,
                          size_t size, clf__token_function *function, void *user);

/* Joins subwords into words separated by single spaces; the caller frees *text. */
clf_status clf__pairs_join(const struct clf__pairs *pairs, char **text, const char *const *tokens, int count);

#endif
