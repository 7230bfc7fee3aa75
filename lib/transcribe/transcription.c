/* Transcribes one recording, window by window (openai/whisper, transcribe.py). */
#include <math.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "transcribe/detect.h"
#include "transcribe/transcription.h"

static int is_silent(const struct clf__transcription *work)
{
    const struct clf_transcribe_options *options = &work->transcriber->options;
    return work->decoded.no_speech > options->no_speech_threshold &&
           !(work->decoded.avg_logprob > options->log_probability_threshold);
}

clf_status clf__transcription_take(struct clf__transcription *work)
{
    struct clf__tensor frames = clf__session_frames(work->transcriber->session);
    return clf__windows_take(work->windows,
                             clf__tensor_rows(frames, work->slot * CLF__WINDOW_FRAMES, CLF__WINDOW_FRAMES),
                             work->seek, work->size);
}

struct clf__ids clf__transcription_previous(const struct clf__transcription *work)
{
    const struct clf_transcriber *transcriber = work->transcriber;
    int carried = transcriber->options.carry_initial_prompt ? transcriber->prompt.count : 0;
    int first = clf__max_int(work->forgotten, carried); /* a carried prompt is added separately */
    return (struct clf__ids){.data = work->said.data + first, .count = work->said.count - first};
}

/* Fails with the reason why the window has no result. */
static clf_status fail_window(const struct clf__transcription *work)
{
    const struct clf_model *model = work->transcriber->model;
    clf_status status = work->decoded.is_not_finite
                            ? clf__model_fail_not_finite(model)
                            : clf__fail(CLF_TEXT, "the search found no text: every token is suppressed");
    return clf__fail_in(status, "%s: at %.2f s", clf_audio_name(work->windows->audio),
                        (double)work->seek / CLF__FRAMES_A_SECOND);
}

clf_status clf__transcription_leave(struct clf__transcription *work)
{
    const struct clf_recordings *recordings = work->recordings;
    int64_t begun = work->seek;
    if (work->decoded.has_failed) {
        return fail_window(work);
    }
    if (is_silent(work)) {
        work->seek += work->size;
    } else {
        CLF__TRY(clf__transcription_cut(work));
    }
    if (work->seek <= begun) { /* a timestamp pair at 0.00 would repeat the same window forever */
        work->seek = begun + work->size;
    }
    if (recordings->progress != NULL) { /* the last timestamps may exceed the length of the recording */
        int64_t all = work->windows->frames, done = work->seek < all ? work->seek : all;
        recordings->progress(work->index, (double)done / CLF__FRAMES_A_SECOND,
                             (double)all / CLF__FRAMES_A_SECOND, recordings->payload);
    }
    return CLF_OK;
}

/* Advances to the next clip; without clips the recording is one clip. Returns 0 if there is none. */
static int next_clip(struct clf__transcription *work)
{
    const struct clf_transcribe_options *options = &work->transcriber->options;
    int64_t all = work->windows->frames;
    int is_whole = options->clip_count == 0, has_end = work->clip + 1 < options->clip_count;
    if (work->clip >= (is_whole ? 1 : options->clip_count)) {
        return 0;
    }
    work->seek = is_whole ? 0 : llrint(options->clips[work->clip] * CLF__FRAMES_A_SECOND);
    work->end = has_end ? llrint(options->clips[work->clip + 1] * CLF__FRAMES_A_SECOND) : all;
    work->end = work->end < all ? work->end : all;
    work->clip += 2;
    return 1;
}

int clf__transcription_next(struct clf__transcription *work)
{
    while (work->seek >= work->end) {
        if (!next_clip(work)) {
            return 0;
        }
    }
    int64_t left = work->end - work->seek;
    work->size = left < CLF__WINDOW_FRAMES ? (int)left : CLF__WINDOW_FRAMES;
    return 1;
}

/* Detects the language from the first 30 s, with silence after the end of the recording. */
static clf_status find_language(struct clf__transcription *work)
{
    struct clf_transcriber *transcriber = work->transcriber;
    work->language = transcriber->language;
    if (!transcriber->is_multilingual) {
        return clf__copy_string(&work->transcript->language, "en");
    }
    if (work->language < 0) {
        work->size = CLF__WINDOW_FRAMES;
        work->slot = 0;
        CLF__TRY(clf__transcription_take(work));
        CLF__TRY(clf__encode_windows(transcriber, 1));
        clf_status status = clf__detect_language(&work->language, work->probability, transcriber);
        if (status != CLF_OK) {
            return clf__fail_in(status, "%s: at 0.00 s", clf_audio_name(work->windows->audio));
        }
    }
    return clf__speech_language_code(&work->transcript->language, transcriber->model->tokenizer,
                                     work->language);
}

clf_status clf__transcription_begin(struct clf__transcription *work, struct clf_audio *audio)
{
    struct clf_transcriber *transcriber = work->transcriber;
    CLF__TRY(clf__allocate(&work->transcript, 1, sizeof *work->transcript));
    work->transcript->has_words = transcriber->options.word_timestamps;
    CLF__TRY(clf__windows_measure(
        work->windows, audio,
        clf__tensor_rows(clf__session_frames(transcriber->session), 0, CLF__WINDOW_FRAMES), transcriber));
    CLF__TRY(find_language(work));
    for (int i = 0; i < transcriber->prompt.count; i++) {
        CLF__TRY(clf__ids_append(&work->said, transcriber->prompt.data[i]));
    }
    return CLF_OK;
}

clf_status clf__transcriber_detect(char **code, double *probability, struct clf_transcriber *transcriber,
                                   struct clf_audio *audio)
{
    struct clf__transcription work = {
        .transcriber = transcriber, .windows = &transcriber->windows[0], .probability = probability};
    *code = NULL;
    *probability = 1;
    clf_status status = clf__transcription_begin(&work, audio);
    if (status == CLF_OK) {
        status = clf__copy_string(code, work.transcript->language);
    }
    clf__transcription_free(&work);
    return status;
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

void clf__transcription_free(struct clf__transcription *work)
{
    clf__ids_free(&work->said);
    clf_transcript_free(work->transcript);
    work->transcript = NULL;
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
