/* BLEU (Papineni et al. 2002) as sacreBLEU (Post 2018) computes it. */
#ifndef CLFORMER_BLEU_H
#define CLFORMER_BLEU_H

#include <clformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How lines become words. */
typedef enum clf_bleu_words {
    CLF_BLEU_13A,    /* mteval-v13a's rules, sacreBLEU's default */
    CLF_BLEU_SPACES, /* what white space separates: for text that is tokenised already */
} clf_bleu_words;

struct clf_bleu {
    double score;           /* 0 .. 100 */
    double precisions[4];   /* of 1- to 4-grams, in per cent */
    double brevity_penalty; /* 0 .. 1 */
    long long hypothesis_words, reference_words;
};

/**
 * BLEU of a corpus, one reference a line, smoothed as sacreBLEU's "exp" does where an n-gram order has no
 * match.
 *
 * @param hypotheses, references `count` lines of UTF-8 each, NUL-terminated; NULL will do where count is 0.
 * @param lower_case fold both to lower case first.
 * @return CLF_TEXT for a line that is not UTF-8, with its number; CLF_BAD_ARGUMENT for a count below 0, a
 * line that is NULL, or unknown `words`.
 */
clf_status clf_bleu_corpus(struct clf_bleu *out, const char *const *hypotheses, const char *const *references,
                           int count, clf_bleu_words words, int lower_case);

#ifdef __cplusplus
}
#endif
#endif
