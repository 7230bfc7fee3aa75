/* Rows whose candidates depend on all logits: those with a repetition penalty, and samples of the best ids.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "search/internal.h"
#include "search/whisper_internal.h"

static int has_penalty(const struct clf__whisper_rules *rules)
{
    return rules->repetition_penalty > 0 && rules->repetition_penalty != 1;
}

int clf__whisper_reads_logits(const struct clf__whisper_rules *rules)
{
    return has_penalty(rules) || rules->logits != NULL || (rules->temperature > 0 && rules->top_k > 0);
}

void clf__whisper_keep_logits(const struct clf__whisper *whisper, const struct clf__whisper_window *search)
{
    const struct clf__step *step = &whisper->step;
    const struct clf__whisper_rules *rules = search->rules;
    int generated = clf__whisper_generated(search, search->running);
    size_t vocabulary = (size_t)rules->vocabulary, row = (size_t)search->first_row;
    size_t k = (size_t)step->candidates, at = row * CLF__WHISPER_RANGES;
    const float *logits = step->logits + row * (size_t)whisper->limits.logits;
    float *kept = rules->logits + (size_t)search->running[0].count * vocabulary;
    struct clf__allowed allowed =
        clf__timestamps_allowed(rules, generated, step->range_values + at * k, step->range_ids + at * k,
                                step->range_statistics + at * 2, step->candidates);
    for (size_t id = 0; id < vocabulary; id++) {
        kept[id] = -FLT_MAX;
    }
    for (int r = allowed.first; r < CLF__WHISPER_RANGES; r++) {
        const int32_t *range = step->ranges + (at + (size_t)r) * 2;
        for (int32_t id = range[0]; id < range[1]; id++) {
            kept[id] = fmaxf(logits[id], -FLT_MAX);
        }
    }
}

/* Changes the logit of each id of a hypothesis once. */
static void penalise(float *logits, const struct clf__whisper *whisper,
                     const struct clf__whisper_hypothesis *hypothesis, double penalty)
{
    struct clf__id_list listed = {whisper->listed, 0};
    for (int i = 0; i < hypothesis->count; i++) {
        clf__id_list_insert(&listed, hypothesis->ids[i]);
    }
    for (int i = 0; i < listed.count; i++) {
        float *logit = &logits[listed.ids[i]];
        *logit = (float)((double)*logit < 0 ? (double)*logit * penalty : (double)*logit / penalty);
    }
}

/* Finds the k best ids of a range, ties by ascending id, and its statistics. */
static void look(float *values, int32_t *ids, float *statistics, const float *logits, const int32_t *range,
                 int k)
{
    int found = 0;
    double sum = 0;
    for (int32_t id = range[0]; id < range[1]; id++) {
        int at = found;
        for (; at > 0 && logits[id] > values[at - 1]; at--) {
            if (at < k) {
                values[at] = values[at - 1];
                ids[at] = ids[at - 1];
            }
        }
        if (at < k && logits[id] > -INFINITY) {
            values[at] = logits[id];
            ids[at] = id;
            found += found < k;
        }
    }
    for (int i = found; i < k; i++) {
        ids[i] = -1;
    }
    for (int32_t id = range[0]; id < range[1] && found > 0; id++) {
        sum += exp((double)logits[id] - (double)values[0]);
    }
    statistics[0] = found > 0 ? values[0] : -INFINITY;
    statistics[1] = found > 0 ? (float)log(sum) : -INFINITY;
}

static int descend(const void *a, const void *b)
{
    float left = *(const float *)a, right = *(const float *)b;
    return (left < right) - (left > right);
}

/* Returns the smallest logit that may be drawn among the ids of the ranges starting at `first`. */
static float lowest_drawn(const struct clf__whisper *whisper, const float *logits, const int32_t *ranges,
                          int first, int top_k)
{
    size_t count = 0;
    for (int r = first; r < CLF__WHISPER_RANGES; r++) {
        for (int32_t id = ranges[2 * r]; id < ranges[2 * r + 1]; id++) {
            whisper->sorted[count++] = logits[id];
        }
    }
    if (top_k == 0 || count <= (size_t)top_k) {
        return -INFINITY;
    }
    qsort(whisper->sorted, count, sizeof *whisper->sorted, descend);
    return whisper->sorted[top_k - 1];
}

/* The ids of a row that may be drawn. */
struct choices {
    const float *logits;
    const int32_t *ranges;
    int first_range;
    float lowest, highest;
    double temperature;
};

static double weigh(const struct choices *choices, int32_t id)
{
    float logit = choices->logits[id];
    return logit >= choices->lowest && logit > -INFINITY
               ? exp(((double)logit - (double)choices->highest) / choices->temperature)
               : 0;
}

/* Draws the first id at which the cumulative weight exceeds `unit` times the total weight. */
static int32_t draw_id(const struct choices *choices, double unit, int *range)
{
    double total = 0;
    int32_t last = -1;
    for (int r = choices->first_range; r < CLF__WHISPER_RANGES; r++) {
        for (int32_t id = choices->ranges[2 * r]; id < choices->ranges[2 * r + 1]; id++) {
            total += weigh(choices, id);
        }
    }
    double left = unit * total;
    for (int r = choices->first_range; r < CLF__WHISPER_RANGES; r++) {
        for (int32_t id = choices->ranges[2 * r]; id < choices->ranges[2 * r + 1]; id++) {
            double weight = weigh(choices, id);
            if (weight > 0) {
                last = id;
                *range = r;
            }
            left -= weight;
            if (left < 0 && weight > 0) {
                return id;
            }
        }
    }
    return last;
}

/* Repeats a draw with the changed logits. */
static void redraw(struct clf__whisper *whisper, const struct clf__whisper_rules *rules, int d)
{
    const struct clf__step *step = &whisper->step;
    const struct clf__draw *draw = &step->draws[d];
    size_t k = (size_t)step->candidates, at = (size_t)draw->row * CLF__WHISPER_RANGES;
    const float *statistics = step->range_statistics + at * 2;
    struct clf__allowed allowed =
        clf__timestamps_allowed(rules, draw->count, step->range_values + at * k, step->range_ids + at * k,
                                statistics, step->candidates);
    struct choices choices = {.logits = step->logits + (size_t)draw->row * (size_t)whisper->limits.logits,
                              .ranges = step->ranges + at * 2,
                              .first_range = allowed.first,
                              .highest = -INFINITY,
                              .temperature = rules->temperature};
    for (int r = allowed.first; r < CLF__WHISPER_RANGES; r++) {
        choices.highest = fmaxf(choices.highest, statistics[2 * r]);
    }
    choices.lowest = lowest_drawn(whisper, choices.logits, choices.ranges, allowed.first, rules->top_k);
    uint32_t words[4];
    const uint32_t counter[4] = {(uint32_t)draw->count, (uint32_t)draw->sample, 0, CLF__RANDOM_SAMPLES};
    clf__philox(words, counter, rules->random_key);
    int range = 0;
    int32_t id = draw_id(&choices, clf__random_unit(words[0], words[1]), &range);
    for (int r = 0; r < CLF__WHISPER_RANGES; r++) {
        step->draw_ids[(size_t)d * CLF__WHISPER_RANGES + (size_t)r] = r == range ? id : -1;
    }
    size_t drawn = (size_t)d * CLF__WHISPER_RANGES + (size_t)range;
    step->draw_values[drawn] = 0;
    step->draw_logits[drawn] = id >= 0 ? choices.logits[id] : -INFINITY;
}

void clf__whisper_rescore(struct clf__whisper *whisper, const struct clf__whisper_window *search)
{
    const struct clf__step *step = &whisper->step;
    const struct clf__whisper_rules *rules = search->rules;
    int k = step->candidates, end_row = search->first_row + search->running_count;
    for (int i = 0; i < search->running_count; i++) {
        int row = search->first_row + i;
        float *logits = step->logits + (size_t)row * (size_t)whisper->limits.logits;
        if (has_penalty(rules)) {
            penalise(logits, whisper, &search->running[i], rules->repetition_penalty);
        }
        for (int32_t b = step->banned_offsets[row]; b < step->banned_offsets[row + 1]; b++) {
            logits[step->banned[b]] = -INFINITY;
        }
        for (int r = CLF__RANGE_TEXT; r < CLF__WHISPER_RANGES; r++) {
            size_t at = (size_t)row * CLF__WHISPER_RANGES + (size_t)r;
            look(step->range_values + at * (size_t)k, step->range_ids + at * (size_t)k,
                 step->range_statistics + at * 2, logits, step->ranges + at * 2, k);
        }
    }
    for (int d = search->first_draw; d < step->draw_count && step->draws[d].row < end_row; d++) {
        redraw(whisper, rules, d);
    }
}
