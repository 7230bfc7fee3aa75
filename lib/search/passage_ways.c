/* How the hypotheses of a window go on: the best ways of all, or drawn ones. */
#include <math.h>
#include <string.h>

#include "search/passage_internal.h"

/* All ways to go on, the best first; of equal ones that of the better row, then that of the higher place in
 * it. */
static int collect(struct clf__passage *passage, const struct clf__passage_search *search)
{
    const struct clf__step *step = &passage->step;
    int k = step->candidates, count = 0;
    for (int r = 0; r < search->running_count; r++) {
        size_t at = (size_t)(search->first_row + r) * CLF__PASSAGE_RANGES;
        int found = clf__timestamps_candidates(
            passage->best, passage->best_sums, search->rules, step->range_values + at * (size_t)k,
            step->range_ids + at * (size_t)k, step->range_statistics + at * 2, k);
        for (int c = 0; c < found; c++) {
            struct clf__way one = {r, passage->best[c], search->running[r].sum + passage->best_sums[c]};
            int place = count++;
            for (; place > 0 && passage->ways[place - 1].sum < one.sum; place--) {
                passage->ways[place] = passage->ways[place - 1];
            }
            passage->ways[place] = one;
        }
    }
    return count;
}

static void extend(struct clf__path *path, const struct clf__path *from, const struct clf__way *by)
{
    path->count = from->count + 1;
    path->sum = by->sum;
    path->parent = by->row;
    path->sample = from->sample;
    memcpy(path->ids, from->ids, (size_t)from->count * sizeof *path->ids);
    path->ids[from->count] = by->id;
}

/* `count` hypotheses run on. */
static void turn(struct clf__passage_search *search, int count)
{
    struct clf__path *spent = search->running;
    search->running = search->next;
    search->next = spent;
    search->running_count = count;
}

/* Those that end are set aside, and of the others as many run on as there are beams. */
static void choose(struct clf__passage *passage, struct clf__passage_search *search)
{
    int beams = passage->limits.beams, count = collect(passage, search), kept = 0;
    for (int c = 0; c < count && kept < beams; c++) {
        const struct clf__way *one = &passage->ways[c];
        const struct clf__path *from = &search->running[one->row];
        if (one->id != search->rules->end_id) {
            extend(&search->next[kept++], from, one);
        } else if (search->finished_count < search->wanted) {
            extend(&search->finished[search->finished_count++], from, one);
            if (beams == 1) {
                break; /* greedy: it has ended */
            }
        }
    }
    turn(search, kept);
}

/* Weighs what a row of the step may go on with. */
static double weigh(const struct clf__passage *passage, const struct clf__passage_rules *rules, int row,
                    const struct clf__allowed *allowed)
{
    const struct clf__step *step = &passage->step;
    size_t at = (size_t)row * CLF__PASSAGE_RANGES;
    double largest = -INFINITY;
    for (int r = allowed->first; r < CLF__PASSAGE_RANGES; r++) {
        largest = fmax(largest, (double)step->range_values[(at + (size_t)r) * (size_t)step->candidates]);
    }
    return clf__draws_weigh(passage->weights, step->logits + (size_t)row * (size_t)rules->vocabulary,
                            step->ranges + at * 2, allowed->first, step->banned + step->banned_offsets[row],
                            step->banned_offsets[row + 1] - step->banned_offsets[row], largest,
                            rules->temperature);
}

/* Every sample goes on by itself, where the model offers something; behind the prompt they part. Returns how
 * many run on, of which there were `kept`. */
static int draw_row(struct clf__passage *passage, struct clf__passage_search *search, int r, int kept)
{
    const struct clf__step *step = &passage->step;
    const struct clf__passage_rules *rules = search->rules;
    const struct clf__path *from = &search->running[r];
    int row = search->first_row + r;
    size_t at = (size_t)row * CLF__PASSAGE_RANGES, k = (size_t)step->candidates;
    struct clf__allowed allowed =
        clf__timestamps_allowed(rules, step->range_values + at * k, step->range_ids + at * k,
                                step->range_statistics + at * 2, step->candidates);
    double sum = weigh(passage, rules, row, &allowed);
    int first = from->count > 0 ? from->sample : 0;
    int end = from->count > 0 ? first + 1 : passage->limits.samples;
    for (int sample = first; sample < end; sample++) {
        double place = clf__draws_unit(rules->random_key, from->count, sample) * sum;
        int32_t id = clf__draws_take(passage->weights, step->ranges + at * 2, allowed.first, place);
        if (id >= 0) {
            double logit = (double)step->logits[(size_t)row * (size_t)rules->vocabulary + (size_t)id];
            struct clf__way one = {r, id, from->sum + logit - allowed.normaliser};
            struct clf__path *path =
                id == rules->end_id ? &search->finished[search->finished_count++] : &search->next[kept++];
            extend(path, from, &one);
            path->sample = sample;
        }
    }
    return kept;
}

void clf__passage_go_on(struct clf__passage *passage, struct clf__passage_search *search)
{
    int kept = 0;
    if (search->rules->temperature <= 0) {
        choose(passage, search);
        return;
    }
    for (int r = 0; r < search->running_count; r++) {
        kept = draw_row(passage, search, r, kept);
    }
    turn(search, kept);
}
