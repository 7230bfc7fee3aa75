/* Transcribes one recording, window by window (openai/whisper, transcribe.py). */
#include <math.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "transcribe/transcription.h"

clf_status clf__recordings_open(struct clf_audio **out, const struct clf_recordings *recordings, int index)
{
    *out = NULL;
    CLF__TRY(recordings->open(out, index, recordings->payload));
    return *out != NULL ? CLF_OK
                        : clf__fail(CLF_BAD_ARGUMENT,
                                    "recording %d: the callback `open` returned no recording", index);
}

clf_status clf__transcription_fail(const struct clf__transcription *work, clf_status status)
{
    double at = clf__transcription_time(work, (double)work->seek / CLF__FRAMES_A_SECOND, 0);
    return clf__fail_in(status, "%s: at %.2f s", work->name, at);
}

/* Fails with the reason why the window has no result. */
static clf_status fail_window(const struct clf__transcription *work)
{
    const struct clf_model *model = work->transcriber->model;
    clf_status status = work->decoded.is_not_finite
                            ? clf__model_fail_not_finite(model)
                            : clf__fail(CLF_TEXT, "the search found no text: every token is suppressed");
    return clf__transcription_fail(work, status);
}

/* Handles a detected language. The first language starts the transcript; the language of the first window may
 * differ if that window is not the 30 s of the first detection. */
static clf_status settle_language(struct clf__transcription *work)
{
    const struct clf_transcriber *transcriber = work->transcriber;
    const struct clf_transcribe_options *options = &transcriber->options;
    clf__free(work->code);
    work->code = NULL;
    CLF__TRY(transcriber->is_multilingual
                 ? clf__speech_language_code(&work->code, transcriber->model->tokenizer, work->language)
                 : clf__copy_string(&work->code, "en"));
    if (work->transcript->language != NULL) {
        return CLF_OK;
    }
    CLF__TRY(clf__copy_string(&work->transcript->language, work->code));
    work->language = options->multilingual && options->clip_count > 0 ? -1 : work->language;
    for (int i = 0; i < transcriber->prompt.count; i++) {
        CLF__TRY(clf__ids_append(&work->said, transcriber->prompt.data[i]));
    }
    return CLF_OK;
}

clf_status clf__transcription_leave(struct clf__transcription *work)
{
    const struct clf_recordings *recordings = work->recordings;
    int64_t begun = work->seek;
    if (work->window.failure.status != CLF_OK) {
        return clf__failure_again(&work->window.failure);
    }
    if (!work->is_measured) {
        work->seek += CLF__WINDOW_FRAMES;
        return CLF_OK;
    }
    if (work->is_detecting) {
        return settle_language(work);
    }
    if (work->decoded.has_failed) {
        return fail_window(work);
    }
    if (clf__transcription_is_silent(work)) {
        work->seek += work->size;
    } else {
        CLF__TRY(clf__transcription_publish(work));
    }
    work->language = work->transcriber->options.multilingual ? -1 : work->language;
    if (work->seek <= begun) { /* a timestamp pair at 0.00 would repeat the same window forever */
        work->seek = begun + work->size;
    }
    if (recordings->progress != NULL) { /* the last timestamps may exceed the length of the recording */
        int64_t last = work->windows.frames, all = work->span_count > 0 ? work->frames : last;
        double done = clf__transcription_time(work, (double)work->seek / CLF__FRAMES_A_SECOND, 1);
        double whole = (double)all / CLF__FRAMES_A_SECOND;
        recordings->progress(work->index, work->seek < last ? done : whole, whole, recordings->payload);
    }
    return CLF_OK;
}

/* Advances to the next clip; without clips the recording is one clip. Returns 0 if there is none. */
static int next_clip(struct clf__transcription *work)
{
    const struct clf_transcribe_options *options = &work->transcriber->options;
    int64_t all = work->windows.frames;
    int is_whole = options->clip_count == 0 || work->span_count > 0; /* the spans already contain the clips */
    int has_end = work->clip + 1 < options->clip_count;
    if (work->clip >= (is_whole ? 1 : options->clip_count)) {
        return 0;
    }
    work->seek = is_whole ? 0 : llrint(options->clips[work->clip] * CLF__FRAMES_A_SECOND);
    work->end = has_end ? llrint(options->clips[work->clip + 1] * CLF__FRAMES_A_SECOND) : all;
    work->end = work->end < all ? work->end : all;
    work->clip += 2;
    return 1;
}

clf_status clf__transcription_next(struct clf__transcription *work, int *has_window)
{
    *has_window = 1;
    if (!work->is_measured && clf__audio_windows_has(&work->windows, work->seek)) {
        return clf__audio_windows_read(&work->samples, &work->windows, work->seek);
    }
    if (!work->is_measured) {
        work->is_measured = 1;
        work->seek = 0;
        CLF__TRY(clf__audio_windows_end_measure(&work->windows));
    }
    /* The language of the recording is detected before its clips. */
    int needs_language = clf__transcription_needs_language(work) && work->transcript->language == NULL;
    if (!needs_language && work->transcript->language == NULL) {
        CLF__TRY(settle_language(work));
    }
    while (!needs_language && *has_window && work->seek >= work->end) {
        *has_window = next_clip(work);
    }
    if (!*has_window) {
        return CLF_OK;
    }
    work->size = (int)clf__min_int64(work->end - work->seek, CLF__WINDOW_FRAMES);
    work->first_segment = work->transcript->count;
    return clf__audio_windows_read(&work->samples, &work->windows, work->seek);
}

clf_status clf__transcription_begin(struct clf__transcription *work, struct clf_audio *audio)
{
    struct clf_transcriber *transcriber = work->transcriber;
    CLF__TRY(clf__allocate(&work->transcript, 1, sizeof *work->transcript));
    work->transcript->has_words = transcriber->options.word_timestamps;
    work->language = transcriber->language;
    work->windows.peak = -INFINITY;
    work->name = clf_audio_name(audio);
    return clf__audio_windows_begin(&work->windows, audio);
}

clf_status clf__transcription_end(struct clf__transcription *work, struct clf_transcript **out)
{
    const struct clf_transcriber *transcriber = work->transcriber;
    struct clf__ids *said = &work->said;
    int prompt = transcriber->prompt.count;
    CLF__TRY(clf__speech_text(&work->transcript->text, &transcriber->tokens, transcriber->model->tokenizer,
                              said->data + prompt, said->count - prompt));
    *out = work->transcript;
    work->transcript = NULL;
    return CLF_OK;
}

void clf__transcription_clear(struct clf__transcription *work)
{
    clf__ids_free(&work->said);
    clf__ids_free(&work->attempt.prompt);
    clf__free(work->code);
    work->code = NULL;
    clf_transcript_free(work->transcript);
    work->transcript = NULL;
    clf_audio_free(work->joined);
    work->joined = NULL;
    clf__plan_free(&work->plan);
}

void clf__transcription_free(struct clf__transcription *work)
{
    clf__transcription_clear(work);
    clf__free(work->windows.samples);
    work->windows.samples = NULL;
}

void clf_transcript_free(struct clf_transcript *transcript)
{
    if (transcript == NULL) {
        return;
    }
    for (int i = 0; i < transcript->count; i++) {
        clf__segment_free(&transcript->segments[i]);
    }
    clf__free(transcript->segments);
    clf__free(transcript->text);
    clf__free(transcript->language);
    clf__free(transcript);
}
