/* Extends the hypotheses of a window, by the best candidates or by drawn tokens. */
#include <math.h>
#include <string.h>

#include "search/passage_internal.h"

/* Collects all candidates, best first; ties go to the better row, then to the better candidate of the row. */
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

/* Makes the `count` extended hypotheses the running ones. */
static void turn(struct clf__passage_search *search, int count)
{
    struct clf__path *spent = search->running;
    search->running = search->next;
    search->next = spent;
    search->running_count = count;
}

/* Moves ended candidates to the finished hypotheses; up to `beams` others continue. */
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
            if (beams == 1 && search->wanted == 1) {
                break; /* greedy: it has ended */
            }
        }
    }
    turn(search, kept);
}

/* Returns the allowed range with the largest drawn value; -1: no allowed id is left. */
static int drawn_range(const struct clf__step *step, int draw, int first_range)
{
    const float *values = step->draw_values + (size_t)draw * CLF__PASSAGE_RANGES;
    const int32_t *ids = step->draw_ids + (size_t)draw * CLF__PASSAGE_RANGES;
    int best = -1;
    for (int r = first_range; r < CLF__PASSAGE_RANGES; r++) {
        best = ids[r] >= 0 && (best < 0 || values[r] > values[best]) ? r : best;
    }
    return best;
}

/* Extends a sample by its drawn token if there is one. Returns the number of running samples, which was
 * `kept`. */
static int take_draw(struct clf__passage *passage, struct clf__passage_search *search, int d, int kept)
{
    const struct clf__step *step = &passage->step;
    const struct clf__draw *draw = &step->draws[d];
    size_t at = (size_t)draw->row * CLF__PASSAGE_RANGES, k = (size_t)step->candidates;
    struct clf__allowed allowed =
        clf__timestamps_allowed(search->rules, step->range_values + at * k, step->range_ids + at * k,
                                step->range_statistics + at * 2, step->candidates);
    int row = draw->row - search->first_row, range = drawn_range(step, d, allowed.first);
    if (range < 0) {
        return kept;
    }
    const struct clf__path *from = &search->running[row];
    size_t drawn = (size_t)d * CLF__PASSAGE_RANGES + (size_t)range;
    struct clf__way way = {row, step->draw_ids[drawn],
                           from->sum + (double)step->draw_logits[drawn] - allowed.normaliser};
    struct clf__path *path =
        way.id == search->rules->end_id ? &search->finished[search->finished_count++] : &search->next[kept++];
    extend(path, from, &way);
    path->sample = draw->sample;
    return kept;
}

void clf__passage_go_on(struct clf__passage *passage, struct clf__passage_search *search)
{
    const struct clf__step *step = &passage->step;
    int kept = 0, end_row = search->first_row + search->running_count;
    if (search->rules->temperature <= 0) {
        choose(passage, search);
        return;
    }
    for (int d = search->first_draw; d < step->draw_count && step->draws[d].row < end_row; d++) {
        kept = take_draw(passage, search, d, kept);
    }
    turn(search, kept);
}
