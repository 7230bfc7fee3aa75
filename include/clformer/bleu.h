/* BLEU (Papineni et al. 2002) as sacreBLEU (Post 2018) computes it. */
#ifndef CLFORMER_BLEU_H
#define CLFORMER_BLEU_H

#include <stdint.h>

#include <clformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How lines are split into words. */
typedef enum clf_bleu_words {
    CLF_BLEU_13A = 0,    /* the rules of mteval-v13a, sacreBLEU's default */
    CLF_BLEU_SPACES = 1, /* split at white space only, for tokenized text */
} clf_bleu_words;

/* A BLEU score and its parts. */
struct clf_bleu {
    double score;           /* 0 .. 100 */
    double precisions[4];   /* precisions of 1- to 4-grams, in percent */
    double brevity_penalty; /* 0 .. 1 */
    int64_t hypothesis_words, reference_words;
};

/**
 * Computes corpus BLEU with one reference per line and the "exp" smoothing of sacreBLEU.
 *
 * @param out receives the scores.
 * @param hypotheses, references (count) lines each, UTF-8, NUL-terminated; borrowed for the call; may be NULL
 *     if count is 0.
 * @param count number of lines, 0 or more.
 * @param words how lines are split into words.
 * @param lower_case 1: fold both sides to lower case first.
 * @return CLF_TEXT with the line number if a line is not UTF-8; CLF_BAD_ARGUMENT for a negative count, a line
 *         that is NULL or an unknown value of `words`.
 */
CLF_API clf_status clf_bleu_corpus(struct clf_bleu *out, const char *const *hypotheses,
                                   const char *const *references, int count, clf_bleu_words words,
                                   int lower_case);

#ifdef __cplusplus
}
#endif
#endif
