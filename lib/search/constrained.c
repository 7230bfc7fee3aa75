/* Beam search for hypotheses that contain given phrases: dynamic beam allocation (Post and Vilar 2018). The
 * candidates of a step are the best continuations of each beam, and the ids that begin a phrase or continue a
 * begun one, which need not be among the best. A bank contains the candidates with the same number of phrase
 * tokens, and the beam is divided among the banks. */
#include <math.h>
#include <stdlib.h>

#include "base/minmax.h"
#include "search/internal.h"

void clf__banks_divide(int *sizes, const int *counts, int banks, int beams)
{
    int each = beams / banks, left = beams % banks;
    for (int i = banks - 1; i >= 0; i--) { /* unused beams of a bank go to the bank before it */
        int room = each + left;
        sizes[i] = clf__min_int(room, counts[i]);
        left = room - sizes[i];
    }
    for (int i = banks - 1; i >= 0; i--) {
        int more = clf__min_int(left, counts[i] - sizes[i]);
        sizes[i] += more;
        left -= more;
    }
}

static uint64_t all_phrases(const struct clf__search_source *source)
{
    return ~(uint64_t)0 >> (64 - source->options->constraints->phrase_count);
}

static int is_last(const struct clf__search_source *source)
{
    return source->running[0].length + 1 == source->max_length;
}

/* Adds a candidate, unless it ends a hypothesis without all phrases before the maximum length; returns the
 * new count. */
static int add(const struct clf__search *search, const struct clf__search_source *source, int count,
               const struct clf__candidate *candidate)
{
    const struct clf__constraints *constraints = source->options->constraints;
    const struct clf__beam *beam = &source->running[candidate->beam];
    struct clf__candidate *added = &search->candidates[count];
    int length = beam->length + 1;
    *added = *candidate;
    added->phrases = beam->phrases;
    beam->ids[length] = candidate->id; /* unused by the beam */
    clf__phrases_follow(&added->phrases, constraints, beam->ids, length);
    if (is_last(source)) {
        added->phrases.met = clf__phrases_met(&added->phrases, constraints, beam->ids, length);
    }
    if (added->phrases.met == all_phrases(source)) {
        added->phrases.tokens = clf__constraints_tokens(constraints);
        return count + 1;
    }
    int ends = clf__is_end(source->options, candidate->id);
    return ends && source->forced < 0 && !is_last(source) ? count : count + 1;
}

/* Returns whether one of the best continuations of a row has an id. */
static int is_among_best(const struct clf__step *step, int row, int ranks, int32_t id)
{
    int is_one = 0;
    for (int rank = 0; rank < ranks; rank++) {
        is_one |= step->ids[(size_t)row * (size_t)step->candidates + (size_t)rank] == id;
    }
    return is_one;
}

/* Adds the continuations of a beam; returns the new count. */
static int add_beam(const struct clf__search *search, const struct clf__search_source *source, int count,
                    int beam)
{
    const struct clf__step *step = &search->step;
    int ranks = clf__candidates_wanted(source->options), row = source->first_row + beam, read = 0;
    struct clf__candidate candidate;
    while (read < ranks && clf__candidate_read(&candidate, step, source, beam, read)) {
        count = add(search, source, count, &candidate);
        read++;
    }
    const int32_t *picks = step->picks + (size_t)row * (size_t)step->picks_each;
    for (int i = 0; source->forced < 0 && i < step->picks_each && picks[i] >= 0; i++) {
        float logit = step->pick_values[(size_t)row * (size_t)step->picks_each + (size_t)i];
        logit = clf__penalties_logit(search, source, row, &source->running[beam], picks[i], logit);
        if (!is_among_best(step, row, read, picks[i]) && logit > -INFINITY && logit < INFINITY) {
            candidate = clf__candidate_of(step, source, beam, picks[i], logit);
            count = add(search, source, count, &candidate);
        }
    }
    return count;
}

static int by_score(const void *left, const void *right)
{
    const struct clf__candidate *a = left, *b = right;
    return clf__candidate_comes_before(a, b) ? -1 : clf__candidate_comes_before(b, a);
}

/* Fills search->candidates with the continuations of all beams, best first; returns their number. */
static int list_candidates(const struct clf__search *search, const struct clf__search_source *source)
{
    int count = 0;
    for (int beam = 0; beam < source->running_count; beam++) {
        count = add_beam(search, source, count, beam);
    }
    qsort(search->candidates, (size_t)count, sizeof *search->candidates, by_score);
    return count;
}

static int goes_on(const struct clf__search_source *source, const struct clf__candidate *candidate)
{
    return !clf__is_end(source->options, candidate->id) && !is_last(source);
}

/* Inserts a candidate into the finished hypotheses. */
static void finish(struct clf__search_source *source, const struct clf__candidate *candidate)
{
    const struct clf__beam *from = &source->running[candidate->beam];
    from->ids[from->length + 1] = candidate->id; /* for the final score */
    from->sums[from->length + 1] = candidate->score;
    clf__beam_finish(source, candidate);
}

/* Finishes the candidates with the most phrase tokens, because none has all phrases. */
static void finish_incomplete(const struct clf__search *search, struct clf__search_source *source, int count)
{
    int most = 0;
    for (int i = 0; i < count; i++) {
        most = clf__max_int(most, search->candidates[i].phrases.tokens);
    }
    for (int i = 0; i < count; i++) {
        if (search->candidates[i].phrases.tokens == most) {
            finish(source, &search->candidates[i]);
        }
    }
}

/* Returns whether the search goes on. After the list of finished hypotheses is full, a hypothesis without all
 * phrases, which may repeat itself with a good score, counts only until it is longer than the finished ones
 * by the tokens of the phrases. */
static int can_improve(const struct clf__search_source *source, int tokens)
{
    const struct clf__search_options *options = source->options;
    int limit = clf__finished_limit(options), length = source->running[0].length, longest = 0;
    if (options->early_stopping == CLF__STOP_CTRANSLATE2) {
        return clf__beam_can_improve(source);
    }
    if (source->finished_count < limit || options->early_stopping == CLF__STOP_TRUE) {
        return source->finished_count < limit;
    }
    for (int i = 0; i < limit; i++) {
        longest = clf__max_int(longest, source->finished[i].length);
    }
    for (int i = 0; i < source->running_count; i++) {
        const struct clf__beam *beam = &source->running[i];
        if ((length <= longest + tokens || beam->phrases.tokens == tokens) &&
            clf__final_score(source, beam, beam->score, length) > source->finished[limit - 1].score) {
            return 1;
        }
    }
    return 0;
}

void clf__constrained_advance(const struct clf__search *search, struct clf__search_source *source)
{
    const struct clf__search_options *options = source->options;
    int tokens = clf__constraints_tokens(options->constraints), count = list_candidates(search, source);
    int counts[CLF__PHRASE_TOKENS_LIMIT + 1] = {0}, sizes[CLF__PHRASE_TOKENS_LIMIT + 1];
    int next_count = 0, complete = 0;
    if (count == 0) {
        clf__beams_give_up(source);
        return;
    }
    for (int i = 0; i < count; i++) {
        counts[search->candidates[i].phrases.tokens] += goes_on(source, &search->candidates[i]);
    }
    clf__banks_divide(sizes, counts, tokens + 1, options->beams);
    for (int i = 0; i < count; i++) {
        const struct clf__candidate *candidate = &search->candidates[i];
        int bank = candidate->phrases.tokens, rank = bank == tokens ? complete++ : -1;
        if (!goes_on(source, candidate)) {
            if (rank >= 0 && rank < clf__finished_limit(options)) {
                finish(source, candidate);
                source->ended_count++;
                source->best_has_ended |= rank == 0;
            }
        } else if (sizes[bank] > 0) {
            sizes[bank]--;
            clf__beam_extend(&source->next[next_count++], &source->running[candidate->beam], candidate);
        }
    }
    if (next_count == 0 && source->finished_count == 0) {
        finish_incomplete(search, source, count);
    }
    clf__search_source_turn(source, next_count);
    source->done = next_count == 0 || !can_improve(source, tokens);
}
