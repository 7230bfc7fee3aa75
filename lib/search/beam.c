/* Beam search. Each step examines enough continuations to leave `beams` of them even if every beam ends with
 * every end id. A continuation with an end token is kept only if it is among the best `beams`. */
#include <math.h>
#include <string.h>

#include "search/internal.h"

/* Fills search->candidates with the source's best continuations, best first; returns the count. */
static int best_candidates(const struct clf__search *search, const struct clf__search_source *source)
{
    struct clf__candidate *best = search->candidates;
    int limit = clf__candidates_kept(source->options->beams, 1 + source->options->other_end_count);
    int ranks = clf__candidates_wanted(source->options);
    int count = 0;
    for (int beam = 0; beam < source->running_count; beam++) {
        struct clf__candidate candidate;
        for (int rank = 0; rank < ranks; rank++) {
            if (!clf__candidate_read(&candidate, &search->step, source, beam, rank)) {
                break;
            }
            if (count == limit && candidate.score < best[limit - 1].score) {
                break; /* the rest of the row is no better */
            }
            count = clf__candidate_keep(best, count, limit, &candidate);
        }
    }
    return count;
}

/* --- CLF__STOP_CTRANSLATE2 --- */

static int has_enough(const struct clf__search_source *source)
{
    const struct clf__search_options *options = source->options;
    if (options->length_penalty == 0.0 && options->coverage_penalty == 0.0) {
        return source->best_has_ended && source->ended_count >= options->n_best;
    }
    return source->ended_count >= lround(clf__finished_limit(options) * options->patience);
}

/* The expected length is the current one or, for "never" with a positive length penalty, the maximum. */
int clf__beam_can_improve(const struct clf__search_source *source)
{
    const struct clf__search_options *options = source->options;
    int limit = clf__finished_limit(options);
    if (options->early_stopping == CLF__STOP_CTRANSLATE2) {
        return !has_enough(source);
    }
    if (source->finished_count < limit) {
        return 1;
    }
    if (options->early_stopping == CLF__STOP_TRUE) {
        return 0;
    }
    int length = options->early_stopping == CLF__STOP_NEVER && options->length_penalty > 0.0
                     ? source->max_length
                     : source->running[0].length;
    return source->running[0].score / clf__length_divisor(options, length) >
           source->finished[limit - 1].score;
}

/* --- CLF__STOP_ALL --- */

static int have_all_ended(const struct clf__search_source *source)
{
    int ended = 0;
    for (int i = 0; i < source->running_count; i++) {
        ended += source->running[i].end > 0;
    }
    return ended == source->running_count;
}

/* Merges beams that differ only after their end token, keeping the better score. */
static void drop_doubles(struct clf__search_source *source)
{
    int kept = 0;
    for (int i = 0; i < source->running_count; i++) {
        const struct clf__beam *beam = &source->running[i];
        int is_double = 0;
        for (int k = 0; k < kept; k++) {
            const struct clf__beam *better = &source->running[k];
            is_double |= better->length == beam->length &&
                         memcmp(better->ids, beam->ids, (size_t)(beam->length + 1) * sizeof *beam->ids) == 0;
        }
        if (!is_double) {
            clf__beams_exchange(&source->running[kept++], &source->running[i]);
        }
    }
    source->running_count = kept;
}

/* Turns the running beams into hypotheses: cuts each beam after its end token and sorts, best first. */
static void end_all(struct clf__search_source *source)
{
    const struct clf__search_options *options = source->options;
    int is_by_length = have_all_ended(source);
    source->done = 1;
    for (int i = 0; i < source->running_count; i++) {
        struct clf__beam *beam = &source->running[i];
        beam->length = beam->end > 0 ? beam->end : beam->length;
        beam->score /= is_by_length ? clf__length_divisor(options, beam->length) : 1.0f;
        clf__beams_place(source->running, i);
    }
    drop_doubles(source);
}

/* Continues the best candidates, whether or not they have ended. */
static void advance_all(const struct clf__search *search, struct clf__search_source *source, int count)
{
    const struct clf__search_options *options = source->options;
    int length = source->running[0].length + 1;
    int next_count = count < options->beams ? count : options->beams;
    for (int i = 0; i < next_count; i++) {
        const struct clf__candidate *candidate = &search->candidates[i];
        const struct clf__beam *from = &source->running[candidate->beam];
        struct clf__beam *to = &source->next[i];
        clf__beam_extend(to, from, candidate);
        to->end = clf__is_end(options, candidate->id) ? length : 0;
        if (from->end > 0) {
            to->end = from->end;
            to->log_probability = from->log_probability;
        }
    }
    clf__search_source_turn(source, next_count);
    if (length == source->max_length || have_all_ended(source)) {
        end_all(source);
    }
}

/* Sorts sampled candidates by score; `rank` keeps the sampling order. */
static void rank_candidates(struct clf__candidate *candidates, int count, int is_drawn)
{
    for (int i = 0; i < count; i++) {
        struct clf__candidate candidate = candidates[i];
        int place = i;
        candidate.rank = i;
        for (; is_drawn && place > 0 && clf__candidate_comes_before(&candidate, &candidates[place - 1]);
             place--) {
            candidates[place] = candidates[place - 1];
        }
        candidates[place] = candidate;
    }
}

void clf__beam_finish(struct clf__search_source *source, const struct clf__candidate *candidate)
{
    clf__hypothesis_keep(source->finished, &source->finished_count, clf__finished_limit(source->options),
                         source, &source->running[candidate->beam], candidate);
}

/* --- CLF__STOP_SHRINK --- */

static void advance_shrinking(const struct clf__search *search, struct clf__search_source *source, int count)
{
    const struct clf__search_options *options = source->options;
    int length = source->running[0].length + 1, next_count = 0;
    count = count < options->beams - source->finished_count ? count : options->beams - source->finished_count;
    for (int i = 0; i < count; i++) {
        const struct clf__candidate *candidate = &search->candidates[i];
        const struct clf__beam *from = &source->running[candidate->beam];
        if (clf__is_end(options, candidate->id) || length == source->max_length) {
            clf__beam_finish(source, candidate);
        } else {
            clf__beam_extend(&source->next[next_count++], from, candidate);
        }
    }
    clf__search_source_turn(source, next_count);
    source->done = next_count == 0;
}

void clf__beam_advance(const struct clf__search *search, struct clf__search_source *source)
{
    const struct clf__search_options *options = source->options;
    int is_drawn = options->sampling.is_on && source->forced < 0;
    int count = is_drawn ? clf__sample_candidates(search, source) : best_candidates(search, source);
    if (options->early_stopping == CLF__STOP_ALL) {
        if (count > 0) {
            advance_all(search, source, count);
        } else {
            end_all(source);
        }
        return;
    }
    if (count == 0) {
        clf__beams_give_up(source);
        return;
    }
    rank_candidates(search->candidates, count, is_drawn);
    if (options->early_stopping == CLF__STOP_SHRINK) {
        advance_shrinking(search, source, count);
        return;
    }
    int length = source->running[0].length + 1;
    int next_count = 0;
    for (int i = 0; i < count; i++) {
        const struct clf__candidate *candidate = &search->candidates[i];
        const struct clf__beam *from = &source->running[candidate->beam];
        if (!clf__is_end(options, candidate->id) && length < source->max_length) {
            if (next_count < options->beams) {
                clf__beam_extend(&source->next[next_count++], from, candidate);
            }
        } else if (candidate->rank < options->beams) {
            clf__beam_finish(source, candidate);
            source->ended_count++;
            source->best_has_ended |= candidate->rank == 0;
        }
    }
    clf__search_source_turn(source, next_count);
    source->done = next_count == 0 || !clf__beam_can_improve(source);
}
