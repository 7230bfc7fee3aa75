/* The coverage penalty (Wu et al. 2016, section 7), as in CTranslate2: reduces the score of a hypothesis that
 * leaves parts of the source untranslated. Each running beam sums its attention to each source position over
 * the steps; a finished beam is penalised for sums below 1. */
#include <assert.h>
#include <math.h>

#include "search/internal.h"

int clf__wants_attention(const struct clf__search_options *options)
{
    return options->coverage_penalty != 0.0;
}

int clf__coverage_places(const struct clf__search_options *options)
{
    return clf__wants_attention(options) ? options->memory_limit : 0;
}

clf_status clf__coverage_check(const struct clf__search_options *options)
{
    if (!isfinite(options->coverage_penalty)) {
        return clf__fail(CLF_BAD_ARGUMENT, "coverage penalty: %g is not a finite number; use a finite number",
                         options->coverage_penalty);
    }
    if (clf__wants_attention(options) && options->memory_limit < 1) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "coverage penalty: the limit of %d source positions must be 1 or more",
                         options->memory_limit);
    }
    if (clf__wants_attention(options) && options->early_stopping == CLF__STOP_ALL) {
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "early stopping \"all\" cannot be combined with a coverage penalty; use another value");
    }
    return CLF_OK;
}

void clf__coverage_add(const struct clf__search *search, const struct clf__search_source *source)
{
    const struct clf__step *step = &search->step;
    const struct clf__search_options *options = source->options;
    if (!clf__wants_attention(options) || source->running[0].length < options->coverage_start) {
        return;
    }
    size_t columns = (size_t)step->attention_columns;
    assert(step->attention_columns <= source->running[0].places);
    for (int i = 0; i < source->running_count; i++) {
        const float *seen = step->attention + (size_t)(source->first_row + i) * columns;
        for (size_t place = 0; place < columns; place++) {
            source->running[i].coverage[place] += seen[place];
        }
    }
}

float clf__coverage_penalty(const struct clf__search_options *options, const struct clf__beam *beam)
{
    double sum = 0.0;
    if (!clf__wants_attention(options)) {
        return 0.0f;
    }
    for (int place = 0; place < beam->places; place++) {
        if (beam->coverage[place] > 0.0f) { /* the source may be shorter */
            sum += log(fmin((double)beam->coverage[place], 1.0));
        }
    }
    return (float)(options->coverage_penalty * sum);
}
