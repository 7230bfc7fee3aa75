#include <math.h>
#include <string.h>

#include "search/internal.h"

void clf__beam_copy(struct clf__beam *to, const struct clf__beam *from)
{
    if (to != from) {
        memcpy(to->ids, from->ids, (size_t)(from->length + 1) * sizeof *to->ids);
        memcpy(to->coverage, from->coverage, (size_t)from->places * sizeof *to->coverage);
    }
    to->length = from->length;
    to->places = from->places;
    to->score = from->score;
    to->log_probability = from->log_probability;
}

void clf__beam_extend(struct clf__beam *to, const struct clf__beam *from,
                      const struct clf__candidate *candidate)
{
    clf__beam_copy(to, from);
    to->ids[++to->length] = candidate->id;
    to->parent = candidate->beam;
    to->score = candidate->score;
    to->log_probability = candidate->log_probability;
}

void clf__search_source_turn(struct clf__search_source *source, int next_count)
{
    struct clf__beam *before = source->running;
    source->running = source->next;
    source->next = before;
    source->running_count = next_count;
}

float clf__length_divisor(const struct clf__search_options *options, int length)
{
    length -= options->counts_prompt ? 0 : clf__prompt_length(options);
    switch (options->length_rule) {
    case CLF__LENGTH_HUGGINGFACE:
        return (float)pow(length, options->length_penalty);
    case CLF__LENGTH_GNMT:
        return (float)pow((5.0 + length) / 6.0, options->length_penalty);
    case CLF__LENGTH_JADORE:
        return (float)pow(1.0 + length, options->length_penalty);
    case CLF__LENGTH_NONE:
        break;
    }
    return 1.0f;
}

float clf__final_score(const struct clf__search_options *options, const struct clf__beam *from, float score,
                       int length)
{
    return score / clf__length_divisor(options, length) + clf__coverage_penalty(options, from);
}

void clf__search_source_finish(struct clf__search_source *source, const struct clf__beam *from,
                               const struct clf__candidate *candidate)
{
    float score = clf__final_score(source->options, from, candidate->score, from->length + 1);
    int place = source->finished_count, limit = source->options->beams;
    while (place > 0 && score > source->finished[place - 1].score) {
        place--;
    }
    if (place == limit) {
        return;
    }
    /* The ids of the one that drops out, or of an unused place, hold the one that comes in. */
    if (source->finished_count < limit) {
        source->finished_count++;
    }
    int last = source->finished_count - 1;
    struct clf__beam entry = source->finished[last];
    memmove(source->finished + place + 1, source->finished + place,
            (size_t)(last - place) * sizeof *source->finished);
    clf__beam_extend(&entry, from, candidate);
    entry.score = score;
    source->finished[place] = entry;
}

int clf__candidate_read(struct clf__candidate *candidate, const struct clf__step *step,
                        const struct clf__search_source *source, int beam, int rank)
{
    const struct clf__beam *from = &source->running[beam];
    if (source->forced >= 0) {
        *candidate = (struct clf__candidate){.beam = beam,
                                             .id = source->forced,
                                             .score = from->score,
                                             .log_probability = from->log_probability};
        return rank == 0;
    }
    size_t row = (size_t)(source->first_row + beam);
    size_t place = row * (size_t)step->candidates + (size_t)rank;
    const float *all = step->statistics + 4 * row;
    const float *left = all + 2;
    const float *chosen = clf__counts_banned(source->options) ? all : left;
    float logit = step->values[place];
    *candidate = (struct clf__candidate){
        .beam = beam,
        .id = step->ids[place],
        .score = from->score + ((logit - chosen[0]) - chosen[1]),
        .log_probability = from->log_probability + ((double)logit - left[0] - left[1]),
    };
    return candidate->id >= 0 && candidate->score > -INFINITY;
}
