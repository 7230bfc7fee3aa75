#include "search/internal.h"

/* Computes the final score of the running beam. */
static void finish(struct clf__search_source *source)
{
    const struct clf__search_options *options = source->options;
    struct clf__beam *beam = &source->running[0];
    source->done = 1;
    if (options->divides_greedy && beam->length > clf__prompt_length(options)) {
        beam->score /= clf__length_divisor(options, beam->length);
    }
    beam->score += clf__coverage_penalty(options, beam);
}

/* Appends the best candidate to the running beam. Finishes the search at an end token, at the maximum length,
 * or if there is no candidate. */
void clf__greedy_advance(const struct clf__search *search, struct clf__search_source *source)
{
    const struct clf__search_options *options = source->options;
    struct clf__beam *beam = &source->running[0];
    struct clf__candidate best;
    if (!clf__candidate_read(&best, &search->step, source, 0, 0)) {
        finish(source);
        return;
    }
    best.score = (float)best.log_probability;
    clf__beam_extend(beam, beam, &best);
    if (clf__is_end(options, best.id) || beam->length == source->max_length) {
        finish(source);
    }
}
