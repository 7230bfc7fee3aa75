#include <math.h>
#include <string.h>

#include "base/minmax.h"
#include "search/internal.h"

void clf__beam_copy(struct clf__beam *to, const struct clf__beam *from)
{
    if (to != from) {
        memcpy(to->ids, from->ids, (size_t)(from->length + 1) * sizeof *to->ids);
        if (from->sums != NULL) {
            memcpy(to->sums, from->sums, (size_t)(from->length + 1) * sizeof *to->sums);
        }
        memcpy(to->coverage, from->coverage, (size_t)from->places * sizeof *to->coverage);
    }
    to->length = from->length;
    to->places = from->places;
    to->phrases = from->phrases;
    to->score = from->score;
    to->log_probability = from->log_probability;
}

void clf__beam_extend(struct clf__beam *to, const struct clf__beam *from,
                      const struct clf__candidate *candidate)
{
    clf__beam_copy(to, from);
    to->ids[++to->length] = candidate->id;
    to->parent = candidate->beam;
    to->phrases = candidate->phrases;
    if (to->sums != NULL) {
        to->sums[to->length] = candidate->score;
    }
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
    case CLF__LENGTH_INCLUDING_START:
        return (float)pow(1.0 + length, options->length_penalty);
    case CLF__LENGTH_NONE:
        break;
    }
    return 1.0f;
}

/* Applies the length rule separately to the tokens of phrases, as if there were as many as source tokens, and
 * to the others. With one length for all, improbable phrases would make hypotheses with many other tokens
 * better. */
static float divided_score(const struct clf__search_source *source, const struct clf__beam *from, float score,
                           int length)
{
    const struct clf__search_options *options = source->options;
    int placed, least = clf__prompt_length(options) + 1;
    float phrases = clf__phrases_score(&placed, options->constraints, from, length);
    int others = clf__max_int(length - placed, least);
    int usual = clf__prompt_length(options) + clf__max_int(source->source_count, 1);
    return phrases / clf__length_divisor(options, usual) +
           (score - phrases) / clf__length_divisor(options, others);
}

float clf__final_score(const struct clf__search_source *source, const struct clf__beam *from, float score,
                       int length)
{
    const struct clf__search_options *options = source->options;
    float divided = options->constraints != NULL ? divided_score(source, from, score, length)
                                                 : score / clf__length_divisor(options, length);
    return divided + clf__coverage_penalty(options, from);
}

void clf__hypothesis_keep(struct clf__beam *list, int *count, int limit,
                          const struct clf__search_source *source, const struct clf__beam *from,
                          const struct clf__candidate *candidate)
{
    float score = clf__final_score(source, from, candidate->score, from->length + 1);
    int place = *count;
    while (place > 0 && score > list[place - 1].score) {
        place--;
    }
    if (place == limit) {
        return;
    }
    /* The inserted hypothesis reuses the id array of the removed hypothesis or of an unused element. */
    if (*count < limit) {
        (*count)++;
    }
    int last = *count - 1;
    struct clf__beam entry = list[last];
    memmove(list + place + 1, list + place, (size_t)(last - place) * sizeof *list);
    clf__beam_extend(&entry, from, candidate);
    entry.score = score;
    list[place] = entry;
}

int clf__candidate_comes_before(const struct clf__candidate *a, const struct clf__candidate *b)
{
    if (a->score != b->score) {
        return a->score > b->score;
    }
    return a->beam != b->beam ? a->beam < b->beam : a->id < b->id;
}

int clf__candidate_keep(struct clf__candidate *best, int count, int limit,
                        const struct clf__candidate *candidate)
{
    if (count == limit && !clf__candidate_comes_before(candidate, &best[limit - 1])) {
        return count;
    }
    int place = count < limit ? count++ : limit - 1;
    for (; place > 0 && clf__candidate_comes_before(candidate, &best[place - 1]); place--) {
        best[place] = best[place - 1];
    }
    best[place] = *candidate;
    return count;
}

void clf__beams_exchange(struct clf__beam *a, struct clf__beam *b)
{
    struct clf__beam held = *a;
    *a = *b;
    *b = held;
}

void clf__beams_place(struct clf__beam *beams, int i)
{
    for (; i > 0 && beams[i].score > beams[i - 1].score; i--) {
        clf__beams_exchange(&beams[i], &beams[i - 1]);
    }
}

void clf__beams_give_up(struct clf__search_source *source)
{
    const struct clf__search_options *options = source->options;
    source->done = 1;
    if (source->finished_count > 0) {
        return;
    }
    for (int i = 0; i < source->running_count; i++) {
        struct clf__beam *beam = &source->running[i];
        if (beam->length > clf__prompt_length(options)) {
            beam->score = clf__final_score(source, beam, beam->score, beam->length);
        }
        clf__beams_place(source->running, i);
    }
}

struct clf__candidate clf__candidate_of(const struct clf__step *step, const struct clf__search_source *source,
                                        int beam, int32_t id, float logit)
{
    const struct clf__beam *from = &source->running[beam];
    const float *all = step->statistics + 4 * (size_t)(source->first_row + beam);
    const float *left = all + 2;
    const float *chosen = clf__counts_banned(source->options) ? all : left;
    return (struct clf__candidate){
        .beam = beam,
        .id = id,
        .score = from->score + ((logit - chosen[0]) - chosen[1]),
        .log_probability = from->log_probability + ((double)logit - left[0] - left[1]),
    };
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
    *candidate = clf__candidate_of(step, source, beam, step->ids[place], step->values[place]);
    return candidate->id >= 0 && candidate->score > -INFINITY;
}
