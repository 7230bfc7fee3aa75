/* The work on windows: their peaks, and the searches for the language and for the text, with temperature
 * fallback. */
#include <math.h>

#include "engine/unit.h"
#include "transcribe/transcription.h"

/* Cost of measuring a window; the cost of a search is its frames. */
enum { MEASURE_COST = CLF__WINDOW_FRAMES / 100 };

static clf_status measure(void *context, struct clf__window_maker *maker)
{
    struct clf__transcription *work = context;
    float peak;
    CLF__TRY(clf__window_maker_measure(&peak, maker, &work->samples));
    work->windows.peak = fmaxf(work->windows.peak, peak);
    return CLF_OK;
}

/* The frames of all windows are scaled by their maximum over the recording. */
static const struct clf__window_kind measuring = {.task = measure};

static clf_status load_start(void *context, struct clf__window_maker *maker, struct clf__tensor frames)
{
    struct clf__transcription *work = context;
    return clf__window_maker_fill(maker, frames, &work->samples, CLF__WINDOW_FRAMES, work->windows.peak);
}

static clf_status begin_detection(void *context, const struct clf__whisper_rules **rules,
                                  const struct clf__ids **prompt)
{
    struct clf__transcription *work = context;
    *rules = &work->attempt.rules;
    *prompt = &work->attempt.prompt;
    return clf__detection_begin(work);
}

static clf_status end_detection(void *context, int *again, const struct clf__whisper_result *result)
{
    struct clf__transcription *work = context;
    *again = 0;
    clf_status status = clf__detection_end(work, result);
    return status == CLF_OK ? CLF_OK : clf__transcription_fail(work, status);
}

/* Detects the language of the first 30 s, with silence after the end of the recording. */
static const struct clf__window_kind detection = {
    .load = load_start, .begin = begin_detection, .end = end_detection};

/* Returns whether a window must be decoded again at a higher temperature: its text is repetitive or
 * improbable (openai/whisper, transcribe.py, decode_with_fallback()). Silence is not decoded again. */
static int needs_another(const struct clf_transcribe_options *options, const struct clf__decoded *decoded)
{
    int repeats = decoded->compression_ratio > options->compression_ratio_threshold;
    int is_unsure = decoded->avg_logprob < options->log_probability_threshold;
    int is_silent = is_unsure && decoded->no_speech > options->no_speech_threshold;
    return (repeats || is_unsure) && !is_silent;
}

static clf_status load_decoding(void *context, struct clf__window_maker *maker, struct clf__tensor frames)
{
    struct clf__transcription *work = context;
    struct clf_transcript *transcript = work->transcript;
    work->attempt.number = 0;
    while (transcript->count > work->first_segment) { /* cut before the device failed */
        clf__segment_free(&transcript->segments[--transcript->count]);
    }
    return clf__window_maker_fill(maker, frames, &work->samples, work->size, work->windows.peak);
}

static clf_status begin_decoding(void *context, const struct clf__whisper_rules **rules,
                                 const struct clf__ids **prompt)
{
    struct clf__transcription *work = context;
    CLF__TRY(clf__decode_begin(work));
    *rules = &work->attempt.rules;
    *prompt = &work->attempt.prompt;
    return CLF_OK;
}

static clf_status end_decoding(void *context, int *again, const struct clf__whisper_result *result)
{
    struct clf__transcription *work = context;
    const struct clf_transcribe_options *options = &work->transcriber->options;
    CLF__TRY(clf__decode_end(work, result));
    work->attempt.number++;
    *again = work->attempt.number < clf__temperature_count(options) && !work->decoded.has_failed &&
             needs_another(options, &work->decoded);
    return CLF_OK;
}

static clf_status leave_decoding(void *context, const struct clf__window_place *place)
{
    struct clf__transcription *work = context;
    return work->decoded.has_failed || clf__transcription_is_silent(work)
               ? CLF_OK
               : clf__transcription_cut(work, place);
}

static const struct clf__window_kind decoding = {
    .load = load_decoding, .begin = begin_decoding, .end = end_decoding, .leave = leave_decoding};

void clf__transcription_search(struct clf__transcription *work, struct clf__unit *unit)
{
    work->is_detecting = work->is_measured && clf__transcription_needs_language(work);
    work->window = (struct clf__window){
        .kind = !work->is_measured   ? &measuring
                : work->is_detecting ? &detection
                                     : &decoding,
        .capacity = &work->transcriber->capacity,
        .context = work,
    };
    unit->window = &work->window;
    unit->cost = work->is_measured ? CLF__WINDOW_FRAMES : MEASURE_COST;
}
