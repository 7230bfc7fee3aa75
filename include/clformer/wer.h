/* The word error rate of transcripts. */
#ifndef CLFORMER_WER_H
#define CLFORMER_WER_H

#include <clformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct clf_wer {
    double score; /* errors for each word of the references, in per cent: more than 100 where many are
                     inserted */
    /* Of the fewest changes that make the reference of the hypothesis; where there are several ways, of the
     * one with the most substitutions. */
    long long substitutions, deletions, insertions;
    long long reference_words;
};

/**
 * The word error rate of a corpus, one reference a line: the edit distances of the lines (Levenshtein 1966),
 * in words between white space, added up and divided by the number of words of the references.
 *
 * @param hypotheses, references `count` lines of UTF-8 each, NUL-terminated; NULL will do where count is 0.
 * @param lower_case fold both to lower case first. Punctuation counts.
 * @return CLF_TEXT for a line that is not UTF-8, with its number, and where the references hold no word;
 * CLF_BAD_ARGUMENT for a count below 0 or a line that is NULL.
 */
clf_status clf_wer_corpus(struct clf_wer *out, const char *const *hypotheses, const char *const *references,
                          int count, int lower_case);

#ifdef __cplusplus
}
#endif
#endif
