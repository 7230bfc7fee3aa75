/* The results of Whisper decoding: hypotheses in the order of their scores. */
#include <math.h>

#include "base/minmax.h"
#include "search/whisper_internal.h"

static int text_length(const struct clf__whisper_window *search,
                       const struct clf__whisper_hypothesis *hypothesis)
{
    return hypothesis->count -
           (hypothesis->count > 0 && hypothesis->ids[hypothesis->count - 1] == search->rules->end_id);
}

static double score(const struct clf__whisper_window *search,
                    const struct clf__whisper_hypothesis *hypothesis)
{
    double penalty = search->rules->length_penalty;
    int length = text_length(search, hypothesis);
    length = length > 0 ? length : 1;
    if (search->rules->follows_ctranslate2) {
        return hypothesis->sum / pow(length, penalty);
    }
    return hypothesis->sum / (penalty < 0 ? length : pow((5.0 + length) / 6.0, penalty));
}

/* Returns the number of running hypotheses that are results. */
static int count_cut(const struct clf__whisper *whisper, const struct clf__whisper_window *search)
{
    const struct clf__whisper_rules *rules = search->rules;
    int is_drawn = rules->temperature > 0;
    if (rules->follows_ctranslate2 && !is_drawn) { /* in the last step all beams are results */
        return search->running_count > 0 && clf__whisper_is_full(whisper, search, search->running[0].count)
                   ? search->running_count
                   : 0;
    }
    /* If too few hypotheses have ended, running ones are added (Whisper). */
    int missing = (is_drawn ? rules->samples : rules->beams) - search->finished_count;
    return clf__min_int(clf__max_int(missing, 0), search->running_count);
}

/* Inserts a hypothesis into the texts, best first; the first sample wins ties. */
static void rank(const struct clf__whisper *whisper, const struct clf__whisper_window *search, int count,
                 const struct clf__whisper_hypothesis *hypothesis)
{
    struct clf__whisper_text text = {hypothesis->ids,    text_length(search, hypothesis),
                                     hypothesis->sum,    score(search, hypothesis),
                                     hypothesis->sample, text_length(search, hypothesis) < hypothesis->count};
    int at = count;
    for (; at > 0; at--) {
        const struct clf__whisper_text *before = &whisper->texts[at - 1];
        if (before->score > text.score || (before->score == text.score && before->sample <= text.sample)) {
            break;
        }
        whisper->texts[at] = *before;
    }
    whisper->texts[at] = text;
}

struct clf__whisper_result clf__whisper_result(const struct clf__whisper *whisper, int slot)
{
    const struct clf__whisper_window *search = &whisper->searches[slot];
    struct clf__whisper_result result = {.texts = whisper->texts, .no_speech = search->no_speech};
    if (search->is_not_finite) {
        return (struct clf__whisper_result){.is_not_finite = 1};
    }
    for (int i = 0; i < search->finished_count; i++) {
        rank(whisper, search, result.text_count++, &search->finished[i]);
    }
    int cut = count_cut(whisper, search);
    for (int i = 0; i < cut; i++) {
        rank(whisper, search, result.text_count++, &search->running[i]);
    }
    if (result.text_count > 0) {
        result.ids = result.texts[0].ids;
        result.count = result.texts[0].count;
        result.log_probability = result.texts[0].log_probability;
    }
    return result;
}
