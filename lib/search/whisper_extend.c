/* Extends the hypotheses of a window by the best candidates or by drawn tokens. */
#include <math.h>
#include <string.h>

#include "search/whisper_internal.h"

/* Collects all candidates, best first; ties go to the better row, then to the better candidate of the row. */
static int collect(struct clf__whisper *whisper, const struct clf__whisper_window *search)
{
    const struct clf__step *step = &whisper->step;
    int k = step->candidates, count = 0;
    for (int r = 0; r < search->running_count; r++) {
        size_t at = (size_t)(search->first_row + r) * CLF__WHISPER_RANGES;
        int found = clf__timestamps_candidates(
            whisper->best, whisper->best_sums, search->rules,
            clf__whisper_generated(search, &search->running[r]), step->range_values + at * (size_t)k,
            step->range_ids + at * (size_t)k, step->range_statistics + at * 2, k);
        for (int c = 0; c < found; c++) {
            struct clf__whisper_candidate one = {r, whisper->best[c],
                                                 search->running[r].sum + whisper->best_sums[c]};
            int place = count++;
            for (; place > 0 && whisper->candidates[place - 1].sum < one.sum; place--) {
                whisper->candidates[place] = whisper->candidates[place - 1];
            }
            whisper->candidates[place] = one;
        }
    }
    return count;
}

static void extend(struct clf__whisper_hypothesis *hypothesis, const struct clf__whisper_hypothesis *from,
                   const struct clf__whisper_candidate *by)
{
    hypothesis->count = from->count + 1;
    hypothesis->sum = by->sum;
    hypothesis->parent = by->row;
    hypothesis->sample = from->sample;
    memcpy(hypothesis->ids, from->ids, (size_t)from->count * sizeof *hypothesis->ids);
    hypothesis->ids[from->count] = by->id;
}

/* Makes the `count` extended hypotheses the running hypotheses. */
static void turn(struct clf__whisper_window *search, int count)
{
    struct clf__whisper_hypothesis *spent = search->running;
    search->running = search->next;
    search->next = spent;
    search->running_count = count;
}

/* Adds a finished hypothesis. If the list is full, replaces the worst: without a length penalty, any number
 * can finish. */
static void finish(const struct clf__whisper *whisper, struct clf__whisper_window *search,
                   const struct clf__whisper_hypothesis *from, const struct clf__whisper_candidate *by)
{
    if (search->finished_count < whisper->limits.finished) {
        extend(&search->finished[search->finished_count++], from, by);
        return;
    }
    struct clf__whisper_hypothesis *worst = &search->finished[0];
    for (int i = 1; i < search->finished_count; i++) {
        worst = search->finished[i].sum < worst->sum ? &search->finished[i] : worst;
    }
    if (by->sum > worst->sum) {
        extend(worst, from, by);
    }
}

/* Like choose(), but only the best `beams` candidates may end, and in the last step no others continue. */
static void choose_as_ctranslate2(struct clf__whisper *whisper, struct clf__whisper_window *search)
{
    int beams = search->rules->beams, count = collect(whisper, search), kept = 0;
    int is_last = clf__whisper_is_full(whisper, search, search->running[0].count + 1);
    for (int c = 0; c < count && kept < beams && (c < beams || !is_last); c++) {
        const struct clf__whisper_candidate *one = &whisper->candidates[c];
        const struct clf__whisper_hypothesis *from = &search->running[one->row];
        if (one->id != search->rules->end_id) {
            extend(&search->next[kept++], from, one);
        } else if (c < beams) {
            finish(whisper, search, from, one);
            search->best_has_ended |= c == 0;
        }
    }
    turn(search, beams == 1 && search->finished_count > 0 ? 0 : kept);
}

/* Moves ended candidates to the finished hypotheses; up to `beams` others continue. */
static void choose(struct clf__whisper *whisper, struct clf__whisper_window *search)
{
    int beams = search->rules->beams, count = collect(whisper, search), kept = 0;
    for (int c = 0; c < count && kept < beams; c++) {
        const struct clf__whisper_candidate *one = &whisper->candidates[c];
        const struct clf__whisper_hypothesis *from = &search->running[one->row];
        if (one->id != search->rules->end_id) {
            extend(&search->next[kept++], from, one);
        } else if (search->finished_count < search->wanted) {
            extend(&search->finished[search->finished_count++], from, one);
            if (beams == 1 && search->wanted == 1) {
                break; /* greedy: the only hypothesis has ended */
            }
        }
    }
    turn(search, kept);
}

/* Returns the allowed range with the largest drawn value; -1: no allowed id is left. */
static int drawn_range(const struct clf__step *step, int draw, int first_range)
{
    const float *values = step->draw_values + (size_t)draw * CLF__WHISPER_RANGES;
    const int32_t *ids = step->draw_ids + (size_t)draw * CLF__WHISPER_RANGES;
    int best = -1;
    for (int r = first_range; r < CLF__WHISPER_RANGES; r++) {
        best = ids[r] >= 0 && (best < 0 || values[r] > values[best]) ? r : best;
    }
    return best;
}

/* Extends a sample by its drawn token if there is one. `kept` is the number of extended running samples so
 * far; returns the new number. */
static int take_draw(struct clf__whisper *whisper, struct clf__whisper_window *search, int d, int kept)
{
    const struct clf__step *step = &whisper->step;
    const struct clf__draw *draw = &step->draws[d];
    size_t at = (size_t)draw->row * CLF__WHISPER_RANGES, k = (size_t)step->candidates;
    struct clf__allowed allowed =
        clf__timestamps_allowed(search->rules, draw->count, step->range_values + at * k,
                                step->range_ids + at * k, step->range_statistics + at * 2, step->candidates);
    int row = draw->row - search->first_row, range = drawn_range(step, d, allowed.first);
    if (range < 0) {
        return kept;
    }
    const struct clf__whisper_hypothesis *from = &search->running[row];
    size_t drawn = (size_t)d * CLF__WHISPER_RANGES + (size_t)range;
    struct clf__whisper_candidate candidate = {
        row, step->draw_ids[drawn], from->sum + (double)step->draw_logits[drawn] - allowed.normaliser};
    struct clf__whisper_hypothesis *hypothesis = candidate.id == search->rules->end_id
                                                     ? &search->finished[search->finished_count++]
                                                     : &search->next[kept++];
    extend(hypothesis, from, &candidate);
    hypothesis->sample = draw->sample;
    return kept;
}

/* Appends the next forced token, and finishes after the last one. */
static void extend_forced(struct clf__whisper_window *search)
{
    const struct clf__whisper_rules *rules = search->rules;
    const struct clf__whisper_hypothesis *from = &search->running[0];
    int is_last = from->count + 1 == rules->forced_count;
    const struct clf__whisper_candidate forced = {0, rules->forced[from->count], from->sum};
    extend(is_last ? &search->finished[search->finished_count++] : search->next, from, &forced);
    turn(search, !is_last);
}

void clf__whisper_extend(struct clf__whisper *whisper, struct clf__whisper_window *search)
{
    const struct clf__step *step = &whisper->step;
    int kept = 0, end_row = search->first_row + search->running_count;
    if (search->rules->forced != NULL) {
        extend_forced(search);
        return;
    }
    if (search->rules->temperature <= 0) {
        if (search->rules->follows_ctranslate2) {
            choose_as_ctranslate2(whisper, search);
        } else {
            choose(whisper, search);
        }
        return;
    }
    for (int d = search->first_draw; d < step->draw_count && step->draws[d].row < end_row; d++) {
        kept = take_draw(whisper, search, d, kept);
    }
    turn(search, kept);
}
