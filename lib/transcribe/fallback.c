/* A window whose text repeats itself, or that the model is unsure of, is decoded again at a higher
 * temperature (openai/whisper, transcribe.py, decode_with_fallback()). */
#include "transcribe/internal.h"

/* Silence is not decoded again, whatever the model made of it. */
static int needs_another(const struct clf_transcribe_options *options, const struct clf__decoded *decoded)
{
    int repeats = decoded->compression_ratio > options->compression_ratio_threshold;
    int is_unsure = decoded->avg_logprob < options->log_probability_threshold;
    int is_silent = is_unsure && decoded->no_speech > options->no_speech_threshold;
    return (repeats || is_unsure) && !is_silent;
}

clf_status clf__decode_with_fallback(struct clf__decoded *out, struct clf_transcriber *transcriber,
                                     const struct clf__attempt *first)
{
    const struct clf_transcribe_options *options = &transcriber->options;
    struct clf__attempt attempt = *first;
    do {
        attempt.temperature = clf__temperature(options, attempt.number);
        CLF__TRY(clf__decode_window(out, transcriber, &attempt));
        attempt.number++;
    } while (needs_another(options, out) && attempt.number < clf__temperature_count(options));
    return CLF_OK;
}
