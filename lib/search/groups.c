/* Diverse beam search (Vijayakumar et al. 2016), as in transformers 4: the beams form groups, each with a
 * separate beam search and separate hypotheses. In each step the groups are advanced in order; tokens that
 * earlier groups have selected get a lower score. */
#include <math.h>

#include "search/internal.h"

static int size_of(const struct clf__search_options *options)
{
    return options->beams / options->groups;
}

/* Returns the number of beams in earlier groups that have selected a token in this step. */
static int count_taken(const struct clf__search_source *source, int32_t id)
{
    int count = 0;
    for (int i = 0; i < source->taken_count; i++) {
        count += source->taken[i] == id;
    }
    return count;
}

/* Returns the diversity loss of an allowed continuation of a running beam. It is applied before all other
 * penalties. */
static double loss_of(const struct clf__search *search, const struct clf__search_source *source, int beam,
                      int32_t id)
{
    int count = source->forced < 0 ? count_taken(source, id) : 0;
    float loss = (float)count * source->options->diversity_penalty;
    return count > 0 ? clf__penalties_loss(search, source, source->first_row + beam, &source->running[beam],
                                           id, loss)
                     : 0.0;
}

/* Returns the logarithm of the probability that a row has left after all penalties, for renormalisation. */
static double log_left(const struct clf__search *search, const struct clf__search_source *source, int beam)
{
    const struct clf__search_options *options = source->options;
    if (!options->renormalize || source->forced >= 0 || source->taken_count == 0) {
        return 0.0;
    }
    const struct clf__step *step = &search->step;
    size_t row = (size_t)(source->first_row + beam);
    const float *logits = step->logits + row * (size_t)search->limits.vocabulary;
    const float *left = step->statistics + 4 * row + 2;
    int32_t at = step->banned_offsets[row], last = step->banned_offsets[row + 1];
    double total = (double)left[0] + (double)left[1], sum = 0.0;
    for (int32_t id = 0; id < options->vocabulary; id++) {
        if (at < last && step->banned[at] == id) {
            at++;
        } else {
            sum += exp((double)logits[id] - total - loss_of(search, source, beam, id));
        }
    }
    /* The banned ids include the ids that other penalties change. */
    const int32_t *changed = search->changed + row * (size_t)search->limits.changed;
    double base = clf__penalties_base(search, source, (int)row);
    int count = clf__penalties_score(search, source, (int)row, &source->running[beam]);
    for (int i = 0; i < count; i++) {
        double score = (double)search->scores[i] + base - total;
        sum += exp(score - loss_of(search, source, beam, changed[i]));
    }
    return log(sum);
}

/* Fills search->candidates with a group's best continuations, best first; returns the count. */
static int best_candidates(const struct clf__search *search, const struct clf__search_source *source,
                           const struct clf__group *group)
{
    const struct clf__search_options *options = source->options;
    int limit = clf__candidates_kept(size_of(options), 1 + options->other_end_count), count = 0;
    int ranks = clf__candidates_wanted(options);
    for (int beam = group->first; beam < group->first + group->running_count; beam++) {
        double left = log_left(search, source, beam);
        struct clf__candidate candidate;
        for (int rank = 0; rank < ranks; rank++) {
            if (!clf__candidate_read(&candidate, &search->step, source, beam, rank)) {
                break;
            }
            candidate.score -= (float)(loss_of(search, source, beam, candidate.id) + left);
            count = clf__candidate_keep(search->candidates, count, limit, &candidate);
        }
    }
    return count;
}

/* Returns 1 if the group's list of hypotheses is full and no candidate is expected to beat the worst one. */
static int has_enough(const struct clf__search_source *source, int index, float best, int length)
{
    const struct clf__search_options *options = source->options;
    const struct clf__group *group = &source->groups[index];
    int size = size_of(options);
    if (group->finished_count < size) {
        return 0;
    }
    if (options->early_stopping == CLF__STOP_TRUE) {
        return 1;
    }
    int is_never = options->early_stopping == CLF__STOP_NEVER && options->length_penalty > 0.0;
    return source->finished[index * size + size - 1].score >=
           best / clf__length_divisor(options, is_never ? source->max_length : length);
}

static void finish(struct clf__search_source *source, int index, const struct clf__candidate *candidate)
{
    int size = size_of(source->options);
    clf__hypothesis_keep(source->finished + index * size, &source->groups[index].finished_count, size, source,
                         &source->running[candidate->beam], candidate);
}

/* Advances one group; appends its running beams to the *next_count beams of earlier groups. */
static void advance_group(const struct clf__search *search, struct clf__search_source *source, int index,
                          int *next_count)
{
    const struct clf__search_options *options = source->options;
    struct clf__group *group = &source->groups[index];
    int size = size_of(options), length = source->running[0].length + 1, taken = 0;
    int count = best_candidates(search, source, group);
    const struct clf__candidate *going_on[CLF__SEARCH_BEAMS_LIMIT];
    for (int i = 0; i < count && taken < size; i++) {
        const struct clf__candidate *candidate = &search->candidates[i];
        if (!clf__is_end(options, candidate->id)) {
            going_on[taken++] = candidate;
        } else if (i < size) {
            finish(source, index, candidate);
        }
    }
    int is_last = length == source->max_length;
    group->is_done = taken == 0 || has_enough(source, index, search->candidates[0].score, length);
    group->first = *next_count;
    for (int i = 0; i < taken; i++) {
        source->taken[source->taken_count++] = going_on[i]->id;
        if (!group->is_done && is_last) {
            finish(source, index, going_on[i]);
        } else if (!group->is_done) {
            clf__beam_extend(&source->next[(*next_count)++], &source->running[going_on[i]->beam],
                             going_on[i]);
        }
    }
    group->is_done |= is_last;
    group->running_count = *next_count - group->first;
}

/* Collects the hypotheses of all groups, best first; if there are none, the running beams. */
static void end(struct clf__search_source *source)
{
    const struct clf__search_options *options = source->options;
    int size = size_of(options), count = 0;
    for (int g = 0; g < options->groups; g++) {
        for (int i = 0; i < source->groups[g].finished_count; i++) {
            clf__beams_exchange(&source->finished[count++], &source->finished[g * size + i]);
        }
    }
    for (int i = 1; i < count; i++) {
        clf__beams_place(source->finished, i);
    }
    source->finished_count = count;
    clf__beams_give_up(source);
}

void clf__groups_begin(struct clf__search_source *source)
{
    for (int g = 0; g < source->options->groups; g++) {
        source->groups[g] =
            (struct clf__group){.running_count = 1}; /* the single beam shared by all groups */
    }
}

void clf__groups_advance(const struct clf__search *search, struct clf__search_source *source)
{
    const struct clf__search_options *options = source->options;
    int next_count = 0, length = source->running[0].length + 1;
    if (source->forced >= 0 && !source->has_parted && length < source->max_length &&
        !clf__is_end(options, source->forced)) {
        struct clf__candidate candidate;
        clf__candidate_read(&candidate, &search->step, source, 0, 0);
        clf__beam_extend(&source->next[0], &source->running[0], &candidate);
        clf__search_source_turn(source, 1);
        return;
    }
    source->has_parted = 1;
    source->taken_count = 0;
    for (int g = 0; g < options->groups; g++) {
        if (!source->groups[g].is_done) {
            advance_group(search, source, g, &next_count);
        }
    }
    if (next_count > 0) {
        clf__search_source_turn(source, next_count);
    } else {
        end(source);
    }
}
