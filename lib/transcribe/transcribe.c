/* A recording from window to window: the times in what the model says of one tell where the next one begins
 * (openai/whisper, transcribe.py). */
#include <clformer/transcriber.h>

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "transcribe/internal.h"

struct work {
    struct clf_transcriber *transcriber;
    struct clf_transcript *transcript;
    struct clf__ids said; /* the prompt, then the tokens of all segments */
    int forgotten;        /* so many of them are no longer a prompt */
    int capacity;         /* of segments */
    int32_t language;
    /* The window. */
    int64_t seek; /* frames */
    int size;     /* likewise */
    struct clf__decoded decoded;
};

static clf_status add_segment(struct work *work, struct clf_segment **out)
{
    struct clf_transcript *transcript = work->transcript;
    if (transcript->count == work->capacity) {
        int capacity = work->capacity > 0 ? 2 * work->capacity : 16;
        CLF__TRY(clf__resize(&transcript->segments, (size_t)capacity, sizeof *transcript->segments));
        work->capacity = capacity;
    }
    struct clf_segment *segment = &transcript->segments[transcript->count];
    *segment = (struct clf_segment){
        .id = transcript->count,
        .seek = work->seek,
        .avg_logprob = work->decoded.avg_logprob,
        .compression_ratio = work->decoded.compression_ratio,
        .no_speech_prob = work->decoded.no_speech,
    };
    transcript->count++;
    *out = segment;
    return CLF_OK;
}

/* A segment that takes no time, or has no text, stays without its tokens. */
static clf_status empty_segment(struct clf_segment *segment)
{
    clf__free(segment->text);
    segment->text = NULL;
    segment->token_count = 0;
    return clf__copy_string(&segment->text, "");
}

/* Ids first .. end - 1 of the window, between two times in seconds. */
static clf_status cut_segment(struct work *work, int first, int end, double start, double stop)
{
    const struct clf_transcriber *transcriber = work->transcriber;
    const struct clf_transcribe_options *options = &transcriber->options;
    struct clf_segment *segment;
    const int32_t *ids = work->decoded.ids + first;
    size_t size;
    CLF__TRY(add_segment(work, &segment));
    segment->start = start;
    segment->end = stop;
    segment->token_count = end - first;
    CLF__TRY(clf__allocate(&segment->tokens, (size_t)(end - first), sizeof *segment->tokens));
    memcpy(segment->tokens, ids, (size_t)(end - first) * sizeof *ids);
    CLF__TRY(clf__speech_text(&segment->text, &transcriber->tokens, transcriber->model->tokenizer, ids,
                              end - first));
    clf__speech_strip(&size, segment->text);
    if (start == stop || size == 0) {
        CLF__TRY(empty_segment(segment));
    }
    for (int i = 0; i < segment->token_count; i++) {
        CLF__TRY(clf__ids_append(&work->said, segment->tokens[i]));
    }
    if (options->segment != NULL) {
        options->segment(options->user, segment);
    }
    return CLF_OK;
}

static int is_time(const struct work *work, int index)
{
    return index >= 0 && work->decoded.ids[index] >= work->transcriber->tokens.timestamp_begin;
}

/* How many steps of 0.02 s behind the window's beginning. */
static int steps_at(const struct work *work, int index)
{
    return work->decoded.ids[index] - work->transcriber->tokens.timestamp_begin;
}

static double window_start(const struct work *work)
{
    return (double)work->seek / CLF__FRAMES_A_SECOND;
}

/* 0.02 is openai/whisper's step: n * 0.02 is not always n / 50. */
static double time_at(const struct work *work, int index)
{
    return window_start(work) + steps_at(work, index) * 0.02;
}

/* Its last id, and that alone, is a time: nothing was cut off. */
static int ends_with_time(const struct work *work)
{
    int count = work->decoded.count;
    return count >= 2 && is_time(work, count - 1) && !is_time(work, count - 2);
}

/* Cuts between each two times side by side. Returns how many ids are in segments. */
static clf_status cut_pairs(struct work *work, int *done)
{
    const struct clf__decoded *decoded = &work->decoded;
    *done = 0;
    for (int i = 1; i <= decoded->count; i++) {
        int is_pair = i < decoded->count && is_time(work, i) && is_time(work, i - 1);
        int is_last = i == decoded->count && *done > 0 && ends_with_time(work);
        if (is_pair || is_last) {
            CLF__TRY(cut_segment(work, *done, i, time_at(work, *done), time_at(work, i - 1)));
            *done = i;
        }
    }
    return CLF_OK;
}

/* Without pairs the window is one segment, up to its last time. */
static clf_status cut_whole(struct work *work)
{
    double length = (double)work->size / CLF__FRAMES_A_SECOND;
    int last = work->decoded.count - 1;
    while (last >= 0 && !is_time(work, last)) {
        last--;
    }
    if (last >= 0 && steps_at(work, last) != 0) {
        length = steps_at(work, last) * 0.02;
    }
    return cut_segment(work, 0, work->decoded.count, window_start(work), window_start(work) + length);
}

/* Cuts what was said into segments, and goes on behind the last of them. */
static clf_status cut_window(struct work *work)
{
    int done;
    CLF__TRY(cut_pairs(work, &done));
    if (done == 0) {
        CLF__TRY(cut_whole(work));
    }
    work->seek +=
        done == 0 || ends_with_time(work) ? work->size : steps_at(work, done - 1) * CLF__FRAMES_A_TIMESTAMP;
    if (!work->transcriber->options.condition_on_previous) {
        work->forgotten = work->said.count;
    }
    return CLF_OK;
}

static int is_silent(const struct work *work)
{
    const struct clf_transcribe_options *options = &work->transcriber->options;
    return work->decoded.no_speech > options->no_speech_threshold &&
           !(work->decoded.avg_logprob > options->log_probability_threshold);
}

static clf_status take_window(struct work *work)
{
    return clf__windows_take(&work->transcriber->windows, clf__session_frames(work->transcriber->session),
                             work->seek, work->size);
}

static clf_status do_window(struct work *work)
{
    struct clf_transcriber *transcriber = work->transcriber;
    const struct clf_transcribe_options *options = &transcriber->options;
    struct clf__ids previous = {.data = work->said.data + work->forgotten,
                                .count = work->said.count - work->forgotten};
    CLF__TRY(clf__transcriber_go_on(transcriber));
    CLF__TRY(take_window(work));
    CLF__TRY(clf__encode_window(transcriber));
    CLF__TRY(clf__decode_window(&work->decoded, transcriber, work->language, &previous));
    int64_t begun = work->seek;
    if (is_silent(work)) {
        work->seek += work->size;
    } else {
        CLF__TRY(cut_window(work));
    }
    if (work->seek <= begun) { /* a pair at 0.00 would begin the same window for ever */
        work->seek = begun + work->size;
    }
    if (options->progress != NULL) { /* the last times may lie behind the end */
        int64_t all = transcriber->windows.frames, done = work->seek < all ? work->seek : all;
        options->progress(options->user, (double)done / CLF__FRAMES_A_SECOND,
                          (double)all / CLF__FRAMES_A_SECOND);
    }
    return CLF_OK;
}

/* The window of at most 30 s from `seek` to `end`. */
static void size_window(struct work *work, int64_t end)
{
    int64_t left = end - work->seek;
    work->size = left < CLF__WINDOW_FRAMES ? (int)left : CLF__WINDOW_FRAMES;
}

static clf_status do_clip(struct work *work, int64_t from, int64_t to)
{
    int64_t end = to < work->transcriber->windows.frames ? to : work->transcriber->windows.frames;
    work->seek = from;
    while (work->seek < end) {
        size_window(work, end);
        CLF__TRY(do_window(work));
    }
    return CLF_OK;
}

static clf_status do_clips(struct work *work)
{
    const struct clf_transcribe_options *options = &work->transcriber->options;
    int64_t all = work->transcriber->windows.frames;
    if (options->clip_count == 0) {
        return do_clip(work, 0, all);
    }
    for (int i = 0; i < options->clip_count; i += 2) {
        int64_t from = llrint(options->clips[i] * CLF__FRAMES_A_SECOND);
        int has_end = i + 1 < options->clip_count;
        CLF__TRY(do_clip(work, from, has_end ? llrint(options->clips[i + 1] * CLF__FRAMES_A_SECOND) : all));
    }
    return CLF_OK;
}

/* By the first 30 s: behind the end is silence, unlike in a window that is decoded. */
static clf_status find_language(struct work *work)
{
    struct clf_transcriber *transcriber = work->transcriber;
    work->language = transcriber->language;
    if (!transcriber->is_multilingual) {
        return clf__copy_string(&work->transcript->language, "en");
    }
    if (work->language < 0) {
        work->size = CLF__WINDOW_FRAMES;
        CLF__TRY(take_window(work));
        CLF__TRY(clf__encode_window(transcriber));
        CLF__TRY(clf__detect_language(&work->language, transcriber));
    }
    return clf__speech_language_code(&work->transcript->language, transcriber->model->tokenizer,
                                     work->language);
}

/* The text of all segments. */
static clf_status join_text(struct work *work)
{
    struct clf__ids *said = &work->said;
    int prompt = work->transcriber->prompt.count;
    return clf__speech_text(&work->transcript->text, &work->transcriber->tokens,
                            work->transcriber->model->tokenizer, said->data + prompt, said->count - prompt);
}

static clf_status transcribe(struct work *work, struct clf_audio *audio)
{
    struct clf_transcriber *transcriber = work->transcriber;
    CLF__TRY(clf__windows_measure(&transcriber->windows, audio, clf__session_frames(transcriber->session)));
    CLF__TRY(find_language(work));
    for (int i = 0; i < transcriber->prompt.count; i++) {
        CLF__TRY(clf__ids_append(&work->said, transcriber->prompt.data[i]));
    }
    CLF__TRY(do_clips(work));
    return join_text(work);
}

clf_status clf_transcribe(struct clf_transcript **out, struct clf_transcriber *transcriber,
                          struct clf_audio *audio)
{
    *out = NULL;
    if (transcriber == NULL || audio == NULL || transcriber->is_working) {
        return clf__fail(CLF_BAD_ARGUMENT, transcriber == NULL ? "there is no transcriber"
                                           : audio == NULL     ? "there is no recording to transcribe"
                                                           : "the transcriber is at work: a callback cannot "
                                                             "call it");
    }
    struct work work = {.transcriber = transcriber};
    CLF__TRY(clf__allocate(&work.transcript, 1, sizeof *work.transcript));
    transcriber->is_working = 1;
    clf_status status = transcribe(&work, audio);
    transcriber->is_working = 0;
    clf__ids_free(&work.said);
    if (status != CLF_OK) {
        clf_transcript_free(work.transcript);
        return status;
    }
    *out = work.transcript;
    return CLF_OK;
}

void clf_transcript_free(struct clf_transcript *transcript)
{
    if (transcript == NULL) {
        return;
    }
    for (int i = 0; i < transcript->count; i++) {
        clf__free(transcript->segments[i].text);
        clf__free(transcript->segments[i].tokens);
    }
    clf__free(transcript->segments);
    clf__free(transcript->text);
    clf__free(transcript->language);
    clf__free(transcript);
}
