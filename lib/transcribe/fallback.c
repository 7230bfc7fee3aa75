/* Temperature fallback: decodes a window again at a higher temperature if its text is repetitive or
 * improbable (openai/whisper, transcribe.py, decode_with_fallback()). */
#include "transcribe/internal.h"

/* Returns whether a window must be decoded at another temperature; silence is not decoded again. */
static int needs_another(const struct clf_transcribe_options *options, const struct clf__decoded *decoded)
{
    int repeats = decoded->compression_ratio > options->compression_ratio_threshold;
    int is_unsure = decoded->avg_logprob < options->log_probability_threshold;
    int is_silent = is_unsure && decoded->no_speech > options->no_speech_threshold;
    return (repeats || is_unsure) && !is_silent;
}

clf_status clf__decode_with_fallback(struct clf_transcriber *transcriber, struct clf__attempt *attempts,
                                     int count)
{
    const struct clf_transcribe_options *options = &transcriber->options;
    int temperatures = clf__temperature_count(options), left = count;
    clf__whisper_cancel(transcriber->whisper);
    for (int i = 0; i < count; i++) {
        attempts[i].is_over = 0;
    }
    for (int number = 0; left > 0; number++) {
        for (int i = 0; i < count; i++) {
            if (!attempts[i].is_over) {
                attempts[i].number = number;
                attempts[i].temperature = clf__temperature(options, number);
                CLF__TRY(clf__decode_begin(transcriber, &attempts[i]));
            }
        }
        CLF__TRY(clf__decode_all(transcriber));
        for (int i = 0; i < count; i++) {
            if (!attempts[i].is_over) {
                CLF__TRY(clf__decode_end(transcriber, &attempts[i]));
                attempts[i].is_over = number + 1 == temperatures || attempts[i].out->has_failed ||
                                      !needs_another(options, attempts[i].out);
                left -= attempts[i].is_over;
            }
        }
    }
    return CLF_OK;
}
