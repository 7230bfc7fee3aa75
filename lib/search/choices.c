/* The distribution for sampling: ids and scores of a row after bans, penalties and filters, applied in
 * transformers' order. */
#include <math.h>
#include <stdlib.h>

#include "search/internal.h"

/* A filter that removes choices but keeps at least the first `least`. The choices are sorted by score, best
 * first, and their probabilities are normalised. */
struct filter {
    clf_status (*check)(const struct clf__sampling *sampling);
    int (*is_wanted)(const struct clf__sampling *sampling);
    void (*filter)(struct clf__choices *choices, const struct clf__sampling *sampling, int least);
    /* Returns a lower bound on the probabilities that the filter keeps, except for the first `least` choices;
     * choices below it need not be sorted. `largest` is the maximum probability. NULL: no bound. */
    double (*bound)(const struct clf__choices *choices, const struct clf__sampling *sampling, double largest);
};

/* Checks that a parameter is between 0 and 1. */
static clf_status check_share(const char *name, float share)
{
    return share >= 0.0f && share <= 1.0f
               ? CLF_OK
               : clf__fail(CLF_BAD_ARGUMENT, "%s: %g is out of range; use 0 to 1", name, (double)share);
}

/* Computes the probabilities and the normaliser of the scores. */
static void normalise(struct clf__choices *choices)
{
    double largest = -INFINITY, sum = 0.0;
    for (int i = 0; i < choices->count; i++) {
        largest = fmax(largest, (double)choices->items[i].score);
    }
    for (int i = 0; i < choices->count; i++) {
        choices->items[i].probability = exp((double)choices->items[i].score - largest);
        sum += choices->items[i].probability;
    }
    for (int i = 0; i < choices->count; i++) {
        choices->items[i].probability /= sum;
    }
    choices->log_sum = largest + log(sum);
}

static double entropy_of(const struct clf__choices *choices)
{
    double entropy = 0.0;
    for (int i = 0; i < choices->count; i++) {
        double log_probability = (double)choices->items[i].score - choices->log_sum;
        entropy -= choices->items[i].probability * log_probability;
    }
    return entropy;
}

/* Removes choices less probable than `least_probability` from the end. */
static void cut(struct clf__choices *choices, double least_probability, int least)
{
    while (choices->count > least && choices->items[choices->count - 1].probability < least_probability) {
        choices->count--;
    }
}

/* --- Nucleus sampling (Holtzman et al. 2019): removes the least probable choices while their sum is at most
 * 1 - p. --- */

static clf_status check_top_p(const struct clf__sampling *sampling)
{
    return check_share("top p", sampling->top_p);
}

static int wants_top_p(const struct clf__sampling *sampling)
{
    return sampling->top_p < 1.0f;
}

static void filter_top_p(struct clf__choices *choices, const struct clf__sampling *sampling, int least)
{
    double sum = choices->dropped, most = 1.0 - (double)sampling->top_p;
    while (choices->count > least) {
        sum += choices->items[choices->count - 1].probability;
        if (sum > most) {
            break;
        }
        choices->count--;
    }
}

/* Choices below this bound sum to less than 1 - p. */
static double bound_top_p(const struct clf__choices *choices, const struct clf__sampling *sampling,
                          double largest)
{
    (void)largest;
    return (1.0 - (double)sampling->top_p) / choices->count;
}

/* --- Min-p: removes choices less probable than a fraction of the maximum probability (Nguyen et al. 2024).
 * --- */

static clf_status check_min_p(const struct clf__sampling *sampling)
{
    return check_share("min p", sampling->min_p);
}

static int wants_min_p(const struct clf__sampling *sampling)
{
    return sampling->min_p > 0.0f;
}

static void filter_min_p(struct clf__choices *choices, const struct clf__sampling *sampling, int least)
{
    cut(choices, (double)sampling->min_p * choices->items[0].probability, least);
}

static double bound_min_p(const struct clf__choices *choices, const struct clf__sampling *sampling,
                          double largest)
{
    (void)choices;
    return (double)sampling->min_p * largest;
}

/* --- Typical sampling (Meister et al. 2022): keeps the choices with information content nearest to the
 * entropy, up to a total probability of p. --- */

static clf_status check_typical_p(const struct clf__sampling *sampling)
{
    return sampling->typical_p > 0.0f
               ? check_share("typical p", sampling->typical_p)
               : clf__fail(CLF_BAD_ARGUMENT, "typical p: %g is out of range; use a value above 0, at most 1",
                           (double)sampling->typical_p);
}

static int wants_typical_p(const struct clf__sampling *sampling)
{
    return sampling->typical_p < 1.0f;
}

static int by_surprise(const void *left, const void *right)
{
    const struct clf__choice *a = left, *b = right;
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return a->id < b->id ? -1 : a->id > b->id;
}

static int by_score(const void *left, const void *right)
{
    const struct clf__choice *a = left, *b = right;
    if (a->score != b->score) {
        return a->score > b->score ? -1 : 1;
    }
    return a->id < b->id ? -1 : a->id > b->id;
}

static void filter_typical_p(struct clf__choices *choices, const struct clf__sampling *sampling, int least)
{
    double entropy = entropy_of(choices), sum = 0.0;
    struct clf__choice *items = choices->items;
    for (int i = 0; i < choices->count; i++) {
        items[i].key = fabs(choices->log_sum - (double)items[i].score - entropy);
    }
    qsort(items, (size_t)choices->count, sizeof *items, by_surprise);
    int last = 0; /* the choice at which the sum reaches p, or the last one */
    for (; last + 1 < choices->count; last++) {
        sum += items[last].probability;
        if (sum >= (double)sampling->typical_p) {
            break;
        }
    }
    while (choices->count > least && items[choices->count - 1].key > items[last].key) {
        choices->count--;
    }
    qsort(items, (size_t)choices->count, sizeof *items, by_score);
}

/* --- Epsilon and eta cutoff: remove choices below a probability, fixed or dependent on the entropy (Hewitt
 * et al. 2022). --- */

static clf_status check_cutoffs(const struct clf__sampling *sampling)
{
    CLF__TRY(check_share("epsilon cutoff", sampling->epsilon_cutoff));
    return check_share("eta cutoff", sampling->eta_cutoff);
}

static int wants_epsilon(const struct clf__sampling *sampling)
{
    return sampling->epsilon_cutoff > 0.0f && sampling->epsilon_cutoff < 1.0f; /* as in transformers */
}

static void filter_epsilon(struct clf__choices *choices, const struct clf__sampling *sampling, int least)
{
    cut(choices, (double)sampling->epsilon_cutoff, least);
}

static double bound_epsilon(const struct clf__choices *choices, const struct clf__sampling *sampling,
                            double largest)
{
    (void)choices;
    (void)largest;
    return (double)sampling->epsilon_cutoff;
}

static int wants_eta(const struct clf__sampling *sampling)
{
    return sampling->eta_cutoff > 0.0f && sampling->eta_cutoff < 1.0f;
}

static void filter_eta(struct clf__choices *choices, const struct clf__sampling *sampling, int least)
{
    double cutoff = (double)sampling->eta_cutoff;
    cut(choices, fmin(cutoff, sqrt(cutoff) * exp(-entropy_of(choices))), least);
}

static const struct filter filters[] = {
    {check_top_p, wants_top_p, filter_top_p, bound_top_p},
    {check_min_p, wants_min_p, filter_min_p, bound_min_p},
    {check_typical_p, wants_typical_p, filter_typical_p, NULL},
    {check_cutoffs, wants_epsilon, filter_epsilon, bound_epsilon},
    {NULL, wants_eta, filter_eta, NULL},
};
static const struct filter *const filters_end = filters + sizeof filters / sizeof *filters;

clf_status clf__sampling_check(const struct clf__sampling *sampling)
{
    if (!(sampling->temperature > 0.0f && isfinite(sampling->temperature))) {
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "temperature: %g is out of range; use a value above 0, or do not set it without sampling",
            (double)sampling->temperature);
    }
    if (sampling->top_k < 0) {
        return clf__fail(CLF_BAD_ARGUMENT, "top k: %d is negative; use 1 or more, or 0 for all tokens",
                         sampling->top_k);
    }
    for (const struct filter *each = filters; each < filters_end; each++) {
        CLF__TRY(each->check != NULL ? each->check(sampling) : CLF_OK);
    }
    return CLF_OK;
}

/* --- Scores of a row. --- */

/* Converts logits to scores in place; banned ids get -inf. */
static void score_row(float *scores, const struct clf__search *search,
                      const struct clf__search_source *source, int row, const struct clf__beam *beam)
{
    const struct clf__search_options *options = source->options;
    const struct clf__step *step = &search->step;
    int changed = clf__penalties_score(search, source, row, beam);
    const int32_t *changed_ids = search->changed + (size_t)row * (size_t)search->limits.changed;
    const float *statistics = step->statistics + 4 * (size_t)row;
    float temperature = options->sampling.temperature;
    if (options->beams > 1) {
        for (int id = 0; id < options->vocabulary; id++) {
            scores[id] = (scores[id] - statistics[0]) - statistics[1];
        }
    }
    for (int32_t i = step->banned_offsets[row]; i < step->banned_offsets[row + 1]; i++) {
        if (clf__is_id(options, step->banned[i])) { /* the vocabulary of another source may be larger */
            scores[step->banned[i]] = -INFINITY;
        }
    }
    for (int i = 0; i < changed; i++) {
        scores[changed_ids[i]] = search->scores[i];
    }
    for (int id = 0; temperature != 1.0f && id < options->vocabulary; id++) {
        scores[id] /= temperature;
    }
}

/* Replaces the root of a min-heap with `value`. */
static void replace_least(float *heap, int count, float value)
{
    int at = 0;
    for (int child = 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && heap[child + 1] < heap[child];
        if (heap[child] >= value) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = value;
}

/* Returns the k-th largest score; -inf if there are fewer. NaN counts as -inf. */
static float find_least(float *heap, int k, const float *scores, int count)
{
    for (int i = 0; i < k; i++) {
        heap[i] = -INFINITY;
    }
    for (int id = 0; id < count; id++) {
        if (scores[id] > heap[0]) {
            replace_least(heap, k, scores[id]);
        }
    }
    return heap[0];
}

/* Removes choices below the first filter's bound before sorting. */
static void drop(struct clf__choices *choices, const struct filter *filter,
                 const struct clf__sampling *sampling, float *heap, int least)
{
    double largest = 0.0;
    if (filter->bound == NULL) {
        return;
    }
    for (int i = 0; i < least; i++) {
        heap[i] = -INFINITY;
    }
    for (int i = 0; i < choices->count; i++) {
        largest = fmax(largest, choices->items[i].probability);
        if (choices->items[i].score > heap[0]) {
            replace_least(heap, least, choices->items[i].score);
        }
    }
    double bound = filter->bound(choices, sampling, largest);
    int kept = 0;
    for (int i = 0; i < choices->count; i++) {
        struct clf__choice choice = choices->items[i];
        if (choice.probability >= bound || choice.score >= heap[0]) {
            choices->items[kept++] = choice;
        } else {
            choices->dropped += choice.probability;
        }
    }
    choices->count = kept;
}

/* Applies all active filters. */
static void filter(struct clf__choices *choices, const struct clf__sampling *sampling, float *heap, int least)
{
    int is_sorted = 0;
    normalise(choices);
    for (const struct filter *each = filters; choices->count > 0 && each < filters_end; each++) {
        if (!each->is_wanted(sampling)) {
            continue;
        }
        if (!is_sorted) {
            drop(choices, each, sampling, heap, least);
            qsort(choices->items, (size_t)choices->count, sizeof *choices->items, by_score);
            is_sorted = 1;
        }
        each->filter(choices, sampling, least);
        choices->dropped = 0.0;
        normalise(choices);
    }
}

void clf__choices_read(struct clf__choices *choices, const struct clf__search *search,
                       const struct clf__search_source *source, int beam)
{
    const struct clf__search_options *options = source->options;
    const struct clf__sampling *sampling = &options->sampling;
    int row = source->first_row + beam, ends = 1 + options->other_end_count, vocabulary = options->vocabulary;
    float *scores = search->step.logits + (size_t)row * (size_t)vocabulary;
    int least = options->beams > 1 ? 1 + ends : 1; /* min_tokens_to_keep in transformers */
    int k = sampling->top_k > least ? sampling->top_k : least;
    score_row(scores, search, source, row, &source->running[beam]);
    float least_score = sampling->top_k > 0 && k < vocabulary
                            ? find_least(search->largest, k, scores, vocabulary)
                            : -INFINITY;
    *choices = (struct clf__choices){.items = search->choices};
    for (int id = 0; id < vocabulary; id++) {
        if (scores[id] >= least_score && scores[id] > -INFINITY && scores[id] < INFINITY) {
            choices->items[choices->count++] = (struct clf__choice){.score = scores[id], .id = id};
        }
    }
    filter(choices, sampling, search->largest, least < vocabulary ? least : vocabulary);
}
