/* Sampling: independent samples, or beam sampling from the continuations of all beams. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "search/internal.h"

/* Returns a random number that depends only on the seed, the source and the position in the search. */
static double draw(const struct clf__search_source *source, int step, int which, int32_t id)
{
    uint32_t words[4];
    const uint32_t counter[4] = {(uint32_t)step, (uint32_t)which, (uint32_t)id, CLF__RANDOM_SAMPLES};
    clf__philox(words, counter, source->random_key);
    return clf__random_unit(words[0], words[1]);
}

uint64_t clf__random_key(uint64_t seed, uint64_t identity)
{
    uint32_t words[4];
    const uint32_t counter[4] = {(uint32_t)identity, (uint32_t)(identity >> 32), 0, CLF__RANDOM_SAMPLES};
    clf__philox(words, counter, seed);
    return (uint64_t)words[0] << 32 | words[1];
}

/* Returns a candidate drawn for one sample. */
static struct clf__candidate draw_choice(const struct clf__choices *choices,
                                         const struct clf__search_source *source, int beam, int sample)
{
    const struct clf__beam *from = &source->running[beam];
    double left = draw(source, from->length, sample, 0);
    int i = 0;
    for (; i < choices->count - 1 && left >= choices->items[i].probability; i++) {
        left -= choices->items[i].probability;
    }
    double log_probability = from->log_probability + (double)choices->items[i].score - choices->log_sum;
    return (struct clf__candidate){.beam = beam,
                                   .id = choices->items[i].id,
                                   .score = (float)log_probability,
                                   .log_probability = log_probability};
}

/* Finishes sample number `sample`: running beam `from`, followed by the candidate's token if there is one. */
static void finish(struct clf__search_source *source, const struct clf__beam *from,
                   const struct clf__candidate *candidate)
{
    struct clf__beam *to = &source->finished[source->finished_count++];
    if (candidate != NULL) {
        clf__beam_extend(to, from, candidate);
    } else {
        clf__beam_copy(to, from);
    }
    to->score += clf__coverage_penalty(source->options, from);
}

/* Advances one sample of running beam `beam`. */
static void advance_sample(struct clf__search_source *source, const struct clf__choices *choices, int beam,
                           int sample, int *next_count)
{
    const struct clf__search_options *options = source->options;
    const struct clf__beam *from = &source->running[beam];
    struct clf__candidate candidate = {
        .beam = beam, .id = source->forced, .score = from->score, .log_probability = from->log_probability};
    if (source->forced < 0 && choices->count == 0) { /* every token is suppressed */
        if (from->length > clf__prompt_length(options)) {
            finish(source, from, NULL);
            source->finished[source->finished_count - 1].sample = sample;
        }
        return;
    }
    if (source->forced < 0) {
        candidate = draw_choice(choices, source, beam, sample);
    }
    struct clf__beam *to;
    if (clf__is_end(options, candidate.id) || from->length + 1 == source->max_length) {
        finish(source, from, &candidate);
        to = &source->finished[source->finished_count - 1];
    } else {
        to = &source->next[(*next_count)++];
        clf__beam_extend(to, from, &candidate);
    }
    to->sample = sample;
}

/* Sorts samples by number. */
static void sort_finished(struct clf__search_source *source)
{
    for (int i = 1; i < source->finished_count; i++) {
        for (int k = i; k > 0 && source->finished[k].sample < source->finished[k - 1].sample; k--) {
            struct clf__beam held = source->finished[k];
            source->finished[k] = source->finished[k - 1];
            source->finished[k - 1] = held;
        }
    }
}

void clf__sample_advance(const struct clf__search *search, struct clf__search_source *source)
{
    int samples = source->options->n_best, next_count = 0;
    int is_one = source->running_count == 1 && !source->has_parted;
    int length = source->running[0].length;
    if (is_one && source->forced >= 0 && length + 1 < source->max_length &&
        !clf__is_end(source->options, source->forced)) {
        samples = 1; /* the beam shared by all samples at the start */
    }
    source->has_parted |= samples == source->options->n_best;
    for (int beam = 0; beam < source->running_count; beam++) {
        struct clf__choices choices = {.count = 0};
        if (source->forced < 0) {
            clf__choices_read(&choices, search, source, beam);
        }
        int first = is_one ? 0 : source->running[beam].sample;
        for (int sample = first; sample < (is_one ? samples : first + 1); sample++) {
            advance_sample(source, &choices, beam, sample, &next_count);
        }
    }
    clf__search_source_turn(source, next_count);
    source->done = next_count == 0;
    if (source->done) {
        sort_finished(source);
    }
}

/* Draws all candidates to keep without replacement, in sampling order: those with the largest scores after
 * adding Gumbel noise (Vieira 2014). */
int clf__sample_candidates(const struct clf__search *search, const struct clf__search_source *source)
{
    const struct clf__search_options *options = source->options;
    struct clf__candidate *drawn = search->candidates;
    int limit = clf__candidates_kept(options->beams, 1 + options->other_end_count), count = 0;
    for (int beam = 0; beam < source->running_count; beam++) {
        const struct clf__beam *from = &source->running[beam];
        struct clf__choices choices;
        clf__choices_read(&choices, search, source, beam);
        for (int i = 0; i < choices.count; i++) {
            const struct clf__choice *choice = &choices.items[i];
            double normalised = (double)choice->score - choices.log_sum;
            double score = options->renormalize ? normalised : (double)choice->score;
            double unit = draw(source, from->length, beam, choice->id) + 0x1p-54; /* not 0 */
            double key = (double)from->score + score - log(-log(unit));
            int place = count;
            for (; place > 0 && key > drawn[place - 1].key; place--) {
                if (place < limit) {
                    drawn[place] = drawn[place - 1];
                }
            }
            if (place < limit) {
                drawn[place] = (struct clf__candidate){.beam = beam,
                                                       .id = choice->id,
                                                       .score = from->score + (float)score,
                                                       .log_probability = from->log_probability + normalised,
                                                       .key = key};
                count += count < limit;
            }
        }
    }
    return count;
}
