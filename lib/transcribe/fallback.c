/* Temperature fallback: decodes a window again at a higher temperature if its text is repetitive or
 * improbable (openai/whisper, transcribe.py, decode_with_fallback()). */
#include "transcribe/transcription.h"

/* Returns whether a window must be decoded at another temperature; silence is not decoded again. */
static int needs_another(const struct clf_transcribe_options *options, const struct clf__decoded *decoded)
{
    int repeats = decoded->compression_ratio > options->compression_ratio_threshold;
    int is_unsure = decoded->avg_logprob < options->log_probability_threshold;
    int is_silent = is_unsure && decoded->no_speech > options->no_speech_threshold;
    return (repeats || is_unsure) && !is_silent;
}

static clf_status load(void *context, struct clf__window_maker *maker, struct clf__tensor frames)
{
    struct clf__transcription *work = context;
    struct clf_transcript *transcript = work->transcript;
    work->attempt.number = 0;
    while (transcript->count > work->first_segment) { /* cut before the device failed */
        clf__segment_free(&transcript->segments[--transcript->count]);
    }
    return clf__window_maker_fill(maker, frames, &work->samples, work->size, work->windows.peak);
}

static clf_status begin(void *context, const struct clf__whisper_rules **rules,
                        const struct clf__ids **prompt)
{
    struct clf__transcription *work = context;
    CLF__TRY(clf__decode_begin(work));
    *rules = &work->attempt.rules;
    *prompt = &work->attempt.prompt;
    return CLF_OK;
}

static clf_status end(void *context, int *again, const struct clf__whisper_result *result)
{
    struct clf__transcription *work = context;
    const struct clf_transcribe_options *options = &work->transcriber->options;
    CLF__TRY(clf__decode_end(work, result));
    work->attempt.number++;
    *again = work->attempt.number < clf__temperature_count(options) && !work->decoded.has_failed &&
             needs_another(options, &work->decoded);
    return CLF_OK;
}

static clf_status leave(void *context, const struct clf__window_place *place)
{
    struct clf__transcription *work = context;
    return work->decoded.has_failed || clf__transcription_is_silent(work)
               ? CLF_OK
               : clf__transcription_cut(work, place);
}

const struct clf__window_kind clf__window_decoding = {load, begin, end, leave};
