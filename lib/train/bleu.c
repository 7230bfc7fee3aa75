#include <clformer/bleu.h>

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "train/bleu_words.h"

enum { ORDERS = 4 };

struct gram {
    int32_t words[ORDERS]; /* padded with -1 */
};

/* Corpus counts; index n - 1 counts n-grams of length n. */
struct counts {
    long long matches[ORDERS], grams[ORDERS]; /* matches and total n-grams of the hypotheses */
    long long hypothesis_words, reference_words;
};

/* The words of one line as numbers, and memory for its n-grams. */
struct side {
    int32_t *ids; /* (count) */
    struct gram *grams;
    int count;
};

static int compare_words(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_grams(const void *a, const void *b)
{
    const struct gram *x = a, *y = b;
    for (int i = 0; i < ORDERS; i++) {
        if (x->words[i] != y->words[i]) {
            return x->words[i] < y->words[i] ? -1 : 1;
        }
    }
    return 0;
}

/* Numbers each word by its rank among the sorted words of the pair: equal words have equal ranks. */
static clf_status make_side(struct side *side, const struct clf__words *words, const char **sorted,
                            size_t distinct)
{
    side->count = words->count;
    CLF__TRY(clf__allocate(&side->ids, (size_t)words->count, sizeof *side->ids));
    CLF__TRY(clf__allocate(&side->grams, (size_t)words->count, sizeof *side->grams));
    for (int i = 0; i < words->count; i++) {
        const char **found = bsearch(&words->items[i], sorted, distinct, sizeof *sorted, compare_words);
        side->ids[i] = (int32_t)(found - sorted);
    }
    return CLF_OK;
}

/* Sorts the side's n-grams of length n; returns the count. */
static int make_grams(struct side *side, int n)
{
    int count = side->count >= n ? side->count - n + 1 : 0;
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < ORDERS; j++) {
            side->grams[i].words[j] = j < n ? side->ids[i + j] : -1;
        }
    }
    qsort(side->grams, (size_t)count, sizeof *side->grams, compare_grams);
    return count;
}

/* Returns the number of n-grams in the multiset intersection of two sorted lists. */
static long long count_matches(const struct gram *a, int a_count, const struct gram *b, int b_count)
{
    long long matches = 0;
    for (int i = 0, j = 0; i < a_count && j < b_count;) {
        int order = compare_grams(&a[i], &b[j]);
        matches += order == 0;
        i += order <= 0;
        j += order >= 0;
    }
    return matches;
}

static clf_status add_words(struct counts *counts, const struct clf__words *hypothesis,
                            const struct clf__words *reference)
{
    size_t total = (size_t)hypothesis->count + (size_t)reference->count, distinct = 0;
    const char **sorted = NULL;
    struct side sides[2] = {{0}};
    CLF__TRY(clf__allocate(&sorted, total, sizeof *sorted));
    memcpy(sorted, hypothesis->items, (size_t)hypothesis->count * sizeof *sorted);
    memcpy(sorted + hypothesis->count, reference->items, (size_t)reference->count * sizeof *sorted);
    qsort(sorted, total, sizeof *sorted, compare_words);
    for (size_t i = 0; i < total; i++) {
        if (distinct == 0 || strcmp(sorted[distinct - 1], sorted[i]) != 0) {
            sorted[distinct++] = sorted[i];
        }
    }
    clf_status status = make_side(&sides[0], hypothesis, sorted, distinct);
    if (status == CLF_OK) {
        status = make_side(&sides[1], reference, sorted, distinct);
    }
    for (int n = 1; n <= ORDERS && status == CLF_OK; n++) {
        int count = make_grams(&sides[0], n), reference_count = make_grams(&sides[1], n);
        counts->grams[n - 1] += count;
        counts->matches[n - 1] += count_matches(sides[0].grams, count, sides[1].grams, reference_count);
    }
    counts->hypothesis_words += hypothesis->count;
    counts->reference_words += reference->count;
    for (int i = 0; i < 2; i++) {
        clf__free(sides[i].ids);
        clf__free(sides[i].grams);
    }
    clf__free(sorted);
    return status;
}

static clf_status add_pair(struct counts *counts, const char *hypothesis, const char *reference,
                           clf_bleu_words words, int lower_case)
{
    struct clf__words cut[2] = {{0}};
    clf_status status = clf__words_cut(&cut[0], hypothesis, words, lower_case);
    if (status == CLF_OK) {
        status = clf__words_cut(&cut[1], reference, words, lower_case);
    }
    if (status == CLF_OK) {
        status = add_words(counts, &cut[0], &cut[1]);
    }
    clf__words_free(&cut[0]);
    clf__words_free(&cut[1]);
    return status;
}

static double brevity_penalty(const struct counts *counts)
{
    if (counts->hypothesis_words >= counts->reference_words) {
        return 1;
    }
    return counts->hypothesis_words > 0
               ? exp(1 - (double)counts->reference_words / (double)counts->hypothesis_words)
               : 0;
}

static void score(struct clf_bleu *out, const struct counts *counts)
{
    *out = (struct clf_bleu){.brevity_penalty = brevity_penalty(counts),
                             .hypothesis_words = counts->hypothesis_words,
                             .reference_words = counts->reference_words};
    if (counts->matches[0] == 0) {
        return; /* longer n-grams do not match either */
    }
    /* "exp" smoothing: the first order without a match counts as 1/2 match, the next as 1/4, and so on. */
    double share = 1, logarithms = 0;
    for (int i = 0; i < ORDERS; i++) {
        if (counts->grams[i] == 0) {
            return; /* every line is too short for this order: undefined, 0 in sacreBLEU */
        }
        double matches = (double)counts->matches[i];
        if (counts->matches[i] == 0) {
            share /= 2;
            matches = share;
        }
        out->precisions[i] = 100 * matches / (double)counts->grams[i];
        logarithms += log(out->precisions[i]);
    }
    out->score = out->brevity_penalty * exp(logarithms / ORDERS);
}

clf_status clf_bleu_corpus(struct clf_bleu *out, const char *const *hypotheses, const char *const *references,
                           int count, clf_bleu_words words, int lower_case)
{
    *out = (struct clf_bleu){0};
    if (count < 0 || (words != CLF_BLEU_13A && words != CLF_BLEU_SPACES)) {
        return clf__fail(CLF_BAD_ARGUMENT, "BLEU: invalid line count %d or word kind %d", count, (int)words);
    }
    struct counts counts = {{0}, {0}, 0, 0};
    for (int i = 0; i < count; i++) {
        CLF__TRY(clf__words_check(hypotheses, i, "hypotheses"));
        CLF__TRY(clf__words_check(references, i, "references"));
        CLF__TRY(add_pair(&counts, hypotheses[i], references[i], words, lower_case));
    }
    score(out, &counts);
    return CLF_OK;
}
