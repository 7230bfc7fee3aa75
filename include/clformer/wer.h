/* Word error rate of transcripts. */
#ifndef CLFORMER_WER_H
#define CLFORMER_WER_H

#include <stdint.h>

#include <clformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A word error rate and its counts. */
struct clf_wer {
    double score; /* errors per reference word, in percent; above 100 if there are many insertions */
    /* Counts of the minimum edit sequence from hypothesis to reference; among equally short sequences, the
     * one with the most substitutions. */
    int64_t substitutions, deletions, insertions;
    int64_t reference_words;
};

/**
 * Computes the corpus word error rate with one reference per line: the sum of the lines' edit distances
 * (Levenshtein 1966) over words separated by white space, divided by the number of reference words.
 *
 * @param out receives the rate and the counts.
 * @param hypotheses, references (count) lines each, UTF-8, NUL-terminated; borrowed for the call; may be NULL
 *     if count is 0.
 * @param count number of lines, 0 or more.
 * @param lower_case 1: fold both sides to lower case first. Punctuation is kept.
 * @return CLF_TEXT with the line number if a line is not UTF-8, and if the references hold no words;
 *         CLF_BAD_ARGUMENT for a negative count or a line that is NULL.
 */
CLF_API clf_status clf_wer_corpus(struct clf_wer *out, const char *const *hypotheses,
                                  const char *const *references, int count, int lower_case);

#ifdef __cplusplus
}
#endif
#endif
