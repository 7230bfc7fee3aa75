#include "search/internal.h"

/* The one running beam takes its best candidate, until that is the end token or nothing may follow. */
void clf__greedy_advance(const struct clf__search *search, struct clf__search_source *source)
{
    const struct clf__search_options *options = source->options;
    struct clf__beam *beam = &source->running[0];
    struct clf__candidate best;
    if (!clf__candidate_read(&best, &search->step, source, 0, 0)) {
        source->done = 1;
        return;
    }
    best.score = (float)best.log_probability;
    clf__beam_extend(beam, beam, &best);
    if (options->divides_greedy && beam->length > clf__prompt_length(options)) {
        beam->score /= clf__length_divisor(options, beam->length);
    }
    source->done = clf__is_end(options, best.id) || beam->length == source->max_length;
}
