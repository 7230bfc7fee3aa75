/* Processors that change the scores of a few ids. The table lists them in the order of application. */
#include <math.h>
#include <string.h>

#include "search/internal.h"

struct penalty {
    /* Returns CLF_BAD_ARGUMENT with a message if the processor's options are invalid. */
    clf_status (*check)(const struct clf__search_options *options);
    /* Returns the maximum number of ids per row whose scores the processor changes; 0: inactive, no other
     * function is called. */
    size_t (*limit)(const struct clf__search_options *options);
    /* Adds the ids whose scores the processor changes in continuations of a hypothesis. */
    void (*list)(struct clf__id_list *changed, const struct clf__search_source *source,
                 const struct clf__beam *beam);
    /* Returns the changed score of a listed id. */
    float (*change)(float score, int32_t id, const struct clf__search_source *source,
                    const struct clf__beam *beam);
};

/* --- Biased sequences. --- */

static clf_status check_biased(const struct clf__search_options *options)
{
    const int32_t *offsets = options->biased_offsets;
    if (options->biased_count < 0 ||
        (options->biased_count > 0 && (options->biased == NULL || offsets == NULL || !options->biases))) {
        return clf__fail(CLF_BAD_ARGUMENT, "biased sequences: the count is %d, but there is no list",
                         options->biased_count);
    }
    for (int i = 0; i < options->biased_count; i++) {
        int is_right = offsets[i] >= 0 && offsets[i + 1] > offsets[i] && isfinite(options->biases[i]);
        for (int32_t k = offsets[i]; is_right && k < offsets[i + 1]; k++) {
            is_right = clf__is_id(options, options->biased[k]);
        }
        if (!is_right) {
            return clf__fail(CLF_BAD_ARGUMENT,
                             "biased sequence %d: is empty, has an id outside the vocabulary of %d, or has a "
                             "bias that is not finite (%g)",
                             i + 1, options->vocabulary, (double)options->biases[i]);
        }
    }
    return CLF_OK;
}

static size_t limit_biased(const struct clf__search_options *options)
{
    return (size_t)options->biased_count;
}

/* Returns the last id of biased sequence i, or -1 if the hypothesis does not end with the ids before it. */
static int32_t biased_id(const struct clf__search_options *options, int i, const struct clf__beam *beam)
{
    const int32_t *ids = options->biased + options->biased_offsets[i];
    int length = options->biased_offsets[i + 1] - options->biased_offsets[i];
    return clf__beam_ends_with(beam, ids, length - 1) ? ids[length - 1] : -1;
}

static void list_biased(struct clf__id_list *changed, const struct clf__search_source *source,
                        const struct clf__beam *beam)
{
    for (int i = 0; i < source->options->biased_count; i++) {
        int32_t id = biased_id(source->options, i, beam);
        if (id >= 0) {
            clf__id_list_insert(changed, id);
        }
    }
}

static float change_biased(float score, int32_t id, const struct clf__search_source *source,
                           const struct clf__beam *beam)
{
    float bias = 0.0f;
    for (int i = 0; i < source->options->biased_count; i++) {
        bias += biased_id(source->options, i, beam) == id ? source->options->biases[i] : 0.0f;
    }
    return score + bias;
}

/* --- Repetition (Keskar et al. 2019, section 4.1; negative scores as in transformers). --- */

static clf_status check_repetition(const struct clf__search_options *options)
{
    float own = options->repetition_penalty, source = options->source_repetition_penalty;
    if (!(own > 0.0f && isfinite(own)) || !(source > 0.0f && isfinite(source))) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "repetition penalty %g or encoder repetition penalty %g is out of range; use values "
                         "above 0 (1 disables a penalty)",
                         (double)own, (double)source);
    }
    return CLF_OK;
}

static float change_by(float score, float penalty)
{
    return score < 0.0f ? score * penalty : score / penalty;
}

static size_t limit_repetition(const struct clf__search_options *options)
{
    return options->repetition_penalty != 1.0f ? (size_t)options->max_length + 1 : 0;
}

static void list_repetition(struct clf__id_list *changed, const struct clf__search_source *source,
                            const struct clf__beam *beam)
{
    for (int i = source->options->skips_start; i <= beam->length; i++) {
        clf__id_list_insert(changed, beam->ids[i]);
    }
}

static float change_repetition(float score, int32_t id, const struct clf__search_source *source,
                               const struct clf__beam *beam)
{
    (void)id;
    (void)beam;
    return change_by(score, source->options->repetition_penalty);
}

/* --- Repetition of source tokens. --- */

static size_t limit_source_repetition(const struct clf__search_options *options)
{
    return options->source_repetition_penalty != 1.0f ? (size_t)options->source_limit : 0;
}

static void list_source_repetition(struct clf__id_list *changed, const struct clf__search_source *source,
                                   const struct clf__beam *beam)
{
    (void)beam;
    for (int i = 0; i < source->source_count; i++) {
        if (clf__is_id(source->options, source->source_ids[i])) { /* the source vocabulary may be different */
            clf__id_list_insert(changed, source->source_ids[i]);
        }
    }
}

static float change_source_repetition(float score, int32_t id, const struct clf__search_source *source,
                                      const struct clf__beam *beam)
{
    (void)id;
    (void)beam;
    return change_by(score, 1.0f / source->options->source_repetition_penalty);
}

/* --- Exponential decay length penalty on end tokens. --- */

static clf_status check_decay(const struct clf__search_options *options)
{
    if (!(options->decay_factor > 0.0f && isfinite(options->decay_factor)) || options->decay_start < 0) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "length decay: factor %g or start %d is out of range; use a factor above 0 (1 "
                         "disables it) and a start of 0 or more",
                         (double)options->decay_factor, options->decay_start);
    }
    return CLF_OK;
}

static size_t limit_decay(const struct clf__search_options *options)
{
    return options->decay_factor != 1.0f ? 1 + (size_t)options->other_end_count : 0;
}

/* Returns the number of tokens since the start of the decay; 0 or negative before it. */
static int decay_steps(const struct clf__search_options *options, const struct clf__beam *beam)
{
    return beam->length - clf__prompt_length(options) - options->decay_start;
}

static void list_decay(struct clf__id_list *changed, const struct clf__search_source *source,
                       const struct clf__beam *beam)
{
    const struct clf__search_options *options = source->options;
    if (decay_steps(options, beam) <= 0) {
        return;
    }
    clf__id_list_insert(changed, options->end_id);
    for (int i = 0; i < options->other_end_count; i++) {
        clf__id_list_insert(changed, options->other_end_ids[i]);
    }
}

static float change_decay(float score, int32_t id, const struct clf__search_source *source,
                          const struct clf__beam *beam)
{
    (void)id;
    const struct clf__search_options *options = source->options;
    const double most = 1e30; /* larger than any other score; an infinite score would not be a candidate */
    double power = fmin(pow((double)options->decay_factor, decay_steps(options, beam)), most);
    return (float)fmin(score + fabs((double)score) * (power - 1.0), most);
}

static const struct penalty penalties[] = {
    {check_biased, limit_biased, list_biased, change_biased},
    {check_repetition, limit_source_repetition, list_source_repetition, change_source_repetition},
    {NULL, limit_repetition, list_repetition, change_repetition},
    {check_decay, limit_decay, list_decay, change_decay},
};
static const struct penalty *const penalties_end = penalties + sizeof penalties / sizeof *penalties;

clf_status clf__penalties_check(const struct clf__search_options *options)
{
    for (const struct penalty *each = penalties; each < penalties_end; each++) {
        CLF__TRY(each->check != NULL ? each->check(options) : CLF_OK);
    }
    return CLF_OK;
}

size_t clf__penalties_limit(const struct clf__search_options *options)
{
    size_t vocabulary = (size_t)options->vocabulary, sum = 0;
    for (const struct penalty *each = penalties; each < penalties_end; each++) {
        sum += each->limit(options);
    }
    return sum < vocabulary ? sum : vocabulary;
}

void clf__penalties_list(struct clf__id_list *changed, int32_t *scratch, const struct clf__id_list *banned,
                         const struct clf__search_source *source, const struct clf__beam *beam)
{
    changed->count = 0;
    for (const struct penalty *each = penalties; each < penalties_end; each++) {
        struct clf__id_list listed = {.ids = scratch};
        if (each->limit(source->options) > 0) {
            each->list(&listed, source, beam);
        }
        for (int i = 0; i < listed.count; i++) {
            if (clf__id_list_find(banned, listed.ids[i]) < 0) {
                clf__id_list_insert(changed, listed.ids[i]);
            }
        }
    }
}

/* Applies each penalty to the ids listed by the penalty. */
static void change_scores(float *scores, const struct clf__id_list *changed, int32_t *scratch,
                          const struct clf__search_source *source, const struct clf__beam *beam)
{
    for (const struct penalty *each = penalties; each < penalties_end; each++) {
        struct clf__id_list listed = {.ids = scratch};
        if (each->limit(source->options) > 0) {
            each->list(&listed, source, beam);
        }
        for (int i = 0; i < listed.count; i++) {
            int place = clf__id_list_find(changed, listed.ids[i]);
            if (place >= 0) {
                scores[place] = each->change(scores[place], listed.ids[i], source, beam);
            }
        }
    }
}

/* Inserts a candidate into a sorted row of k: larger values first, ties by ascending id. */
static void insert_candidate(float *values, int32_t *ids, int k, float value, int32_t id)
{
    int at = k;
    while (at > 0 &&
           (ids[at - 1] < 0 || value > values[at - 1] || (value == values[at - 1] && id < ids[at - 1]))) {
        at--;
    }
    if (at == k) {
        return;
    }
    memmove(values + at + 1, values + at, (size_t)(k - 1 - at) * sizeof *values);
    memmove(ids + at + 1, ids + at, (size_t)(k - 1 - at) * sizeof *ids);
    values[at] = value;
    ids[at] = id;
}

/* Adds x to { max, log sum exp(x - max) }. */
static void count_value(float *statistics, float value)
{
    double max = fmax((double)statistics[0], (double)value), sum = exp((double)value - max);
    if (statistics[0] > -INFINITY) {
        sum += exp((double)statistics[0] - max + (double)statistics[1]);
    }
    statistics[0] = (float)max;
    statistics[1] = (float)log(sum);
}

double clf__penalties_base(const struct clf__search *search, const struct clf__search_source *source, int row)
{
    const float *statistics = search->step.statistics + 4 * (size_t)row;
    return source->options->beams > 1 ? (double)statistics[0] + (double)statistics[1] : 0.0;
}

static struct clf__id_list changed_of(const struct clf__search *search, int row)
{
    return (struct clf__id_list){search->changed + (size_t)row * (size_t)search->limits.changed,
                                 search->changed_counts[row]};
}

int clf__penalties_are_finite(const struct clf__search *search, int row)
{
    const float *logits = search->step.logits + (size_t)row * (size_t)search->limits.vocabulary;
    struct clf__id_list changed = changed_of(search, row);
    int are_finite = 1;
    for (int i = 0; i < changed.count; i++) {
        are_finite &= logits[changed.ids[i]] < INFINITY;
    }
    return are_finite;
}

int clf__penalties_score(const struct clf__search *search, const struct clf__search_source *source, int row,
                         const struct clf__beam *beam)
{
    const float *logits = search->step.logits + (size_t)row * (size_t)search->limits.vocabulary;
    struct clf__id_list changed = changed_of(search, row);
    double base = clf__penalties_base(search, source, row);
    for (int i = 0; i < changed.count; i++) {
        search->scores[i] = (float)((double)logits[changed.ids[i]] - base);
    }
    change_scores(search->scores, &changed, search->listed, source, beam);
    return changed.count;
}

double clf__penalties_loss(const struct clf__search *search, const struct clf__search_source *source, int row,
                           const struct clf__beam *beam, int32_t id, float loss)
{
    struct clf__id_list changed = changed_of(search, row);
    if (clf__id_list_find(&changed, id) < 0) {
        return (double)loss;
    }
    const float *logits = search->step.logits + (size_t)row * (size_t)search->limits.vocabulary;
    struct clf__id_list one = {.ids = &id, .count = 1};
    float before = (float)((double)logits[id] - clf__penalties_base(search, source, row));
    float after = before - loss;
    change_scores(&before, &one, search->listed, source, beam);
    change_scores(&after, &one, search->listed, source, beam);
    return (double)before - (double)after;
}

float clf__penalties_logit(const struct clf__search *search, const struct clf__search_source *source, int row,
                           const struct clf__beam *beam, int32_t id, float logit)
{
    struct clf__id_list changed = changed_of(search, row);
    int place = clf__id_list_find(&changed, id);
    if (place < 0) {
        return logit;
    }
    clf__penalties_score(search, source, row, beam);
    return (float)((double)search->scores[place] + clf__penalties_base(search, source, row));
}

void clf__penalties_apply(const struct clf__search *search, const struct clf__search_source *source, int row,
                          const struct clf__beam *beam)
{
    const struct clf__step *step = &search->step;
    struct clf__id_list changed = changed_of(search, row);
    double base = clf__penalties_base(search, source, row);
    float *statistics = step->statistics + 4 * (size_t)row;
    size_t first = (size_t)row * (size_t)step->candidates;
    clf__penalties_score(search, source, row, beam);
    for (int i = 0; i < changed.count; i++) {
        float value = (float)((double)search->scores[i] + base);
        if (value > -INFINITY && value < INFINITY) { /* also false for NaN */
            insert_candidate(step->values + first, step->ids + first, step->candidates, value,
                             changed.ids[i]);
            count_value(statistics + 2, value);
        }
    }
}
