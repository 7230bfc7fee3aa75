/* Splits the decoded tokens of a window into segments; the timestamps determine the start of the next window
 * (openai/whisper, transcribe.py). */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "transcribe/transcription.h"

/* Text that was decoded above this temperature is not used as a prompt. */
static const double MISLEADING = 0.5;

static clf_status add_segment(struct clf__transcription *work, struct clf_segment **out)
{
    struct clf_transcript *transcript = work->transcript;
    CLF__TRY(
        clf__grow(&transcript->segments, transcript->count, &work->capacity, sizeof *transcript->segments));
    struct clf_segment *segment = &transcript->segments[transcript->count];
    *segment = (struct clf_segment){
        .id = transcript->count,
        .seek = work->seek,
        .temperature = work->decoded.temperature,
        .avg_logprob = work->decoded.avg_logprob,
        .compression_ratio = work->decoded.compression_ratio,
        .no_speech_prob = work->decoded.no_speech,
    };
    transcript->count++;
    *out = segment;
    return work->transcriber->options.multilingual ? clf__copy_string(&segment->language, work->code)
                                                   : CLF_OK;
}

static void free_words(struct clf_segment *segment)
{
    for (int i = 0; i < segment->word_count; i++) {
        clf__free(segment->words[i].text);
    }
    clf__free(segment->words);
    segment->words = NULL;
    segment->word_count = 0;
}

void clf__segment_free(struct clf_segment *segment)
{
    clf__free(segment->text);
    clf__free(segment->tokens);
    clf__free(segment->language);
    free_words(segment);
}

/* A segment without duration or text is kept without tokens. */
static clf_status empty_segment(struct clf_segment *segment)
{
    char *text;
    CLF__TRY(clf__copy_string(&text, ""));
    clf__free(segment->text);
    segment->text = text;
    segment->token_count = 0;
    free_words(segment);
    return CLF_OK;
}

/* Adds a segment of ids first to end - 1 of the window, between two times in seconds. */
static clf_status cut_segment(struct clf__transcription *work, int first, int end, double start, double stop)
{
    const struct clf_transcriber *transcriber = work->transcriber;
    struct clf_segment *segment;
    const int32_t *ids = work->decoded.ids + first;
    CLF__TRY(add_segment(work, &segment));
    segment->start = start;
    segment->end = stop;
    segment->token_count = end - first;
    CLF__TRY(clf__allocate(&segment->tokens, (size_t)(end - first), sizeof *segment->tokens));
    memcpy(segment->tokens, ids, (size_t)(end - first) * sizeof *ids);
    return clf__speech_text(&segment->text, &transcriber->tokens, transcriber->model->tokenizer, ids,
                            end - first);
}

/* Returns 1 if the recording has silence that was skipped after a span. */
static int has_silence(const struct clf__span *spans, int index)
{
    return spans[index + 1].start > spans[index].end;
}

/* Moves the times of a segment that continues in another span out of the silence around spans: a segment does
 * not begin in the padding after speech, nor end in the padding before it. */
static void leave_padding(const struct clf__transcription *work, struct clf_segment *segment)
{
    const struct clf__span *spans = work->spans;
    double pad = work->transcriber->options.vad_speech_pad_ms / 1000;
    int first = clf__spans_find(spans, work->span_count, segment->start, 0);
    int last = clf__spans_find(spans, work->span_count, segment->end, 1);
    double next = (double)clf__spans_length(spans, first + 1) / CLF_AUDIO_RATE;
    double before = (double)clf__spans_length(spans, last) / CLF_AUDIO_RATE;
    if (first < last && next - segment->start <= pad && has_silence(spans, first)) {
        segment->start = next;
        first++;
    }
    if (first < last && segment->end - before <= pad && has_silence(spans, last - 1)) {
        segment->end = before;
    }
}

/* Converts times in the spans of a recording to times in the recording. A word belongs to the span that
 * contains its midpoint, as in faster-whisper. */
static void move_times(const struct clf__transcription *work, struct clf_segment *segment)
{
    const struct clf__span *spans = work->spans;
    for (int i = 0; i < segment->word_count; i++) {
        struct clf_word *word = &segment->words[i];
        int span = clf__spans_find(spans, work->span_count, (word->start + word->end) / 2, 0);
        word->start = clf__spans_time(spans, span, word->start);
        word->end = clf__spans_time(spans, span, word->end);
    }
    double window = clf__transcription_time(work, (double)segment->seek / CLF__FRAMES_A_SECOND, 0);
    segment->seek = llrint(window * CLF__FRAMES_A_SECOND);
    leave_padding(work, segment);
    segment->start = clf__transcription_time(work, segment->start, 0);
    segment->end = fmax(clf__transcription_time(work, segment->end, 1), segment->start);
    if (segment->word_count > 0) {
        segment->start = segment->words[0].start;
        segment->end = segment->words[segment->word_count - 1].end;
    }
}

/* Completes a final segment: adds its tokens to the text for later prompts and calls the callback. */
static clf_status finish_segment(struct clf__transcription *work, struct clf_segment *segment)
{
    const struct clf_recordings *recordings = work->recordings;
    size_t size;
    clf__speech_strip(&size, segment->text);
    if (segment->start == segment->end || size == 0) {
        CLF__TRY(empty_segment(segment));
    }
    for (int i = 0; i < segment->token_count; i++) {
        CLF__TRY(clf__ids_append(&work->said, segment->tokens[i]));
    }
    if (work->span_count > 0) {
        move_times(work, segment);
    }
    if (recordings->segment != NULL) {
        recordings->segment(work->index, segment, recordings->payload);
    }
    return CLF_OK;
}

static int is_time(const struct clf__transcription *work, int index)
{
    return index >= 0 && work->decoded.ids[index] >= work->transcriber->tokens.timestamp_begin;
}

/* Returns the timestamp at `index` as the number of 0.02 s steps from the start of the window. */
static int steps_at(const struct clf__transcription *work, int index)
{
    return work->decoded.ids[index] - work->transcriber->tokens.timestamp_begin;
}

static double window_start(const struct clf__transcription *work)
{
    return (double)work->seek / CLF__FRAMES_A_SECOND;
}

static double time_at(const struct clf__transcription *work, int index)
{
    return window_start(work) + steps_at(work, index) * CLF__TIMESTAMP_STEP;
}

/* Returns 1 if only the last id is a timestamp: the window's text is complete. */
static int ends_with_time(const struct clf__transcription *work)
{
    int count = work->decoded.count;
    return count >= 2 && is_time(work, count - 1) && !is_time(work, count - 2);
}

/* Splits the window between adjacent timestamps. Returns the number of ids in segments. */
static clf_status cut_pairs(struct clf__transcription *work, int *done)
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

/* Without adjacent timestamps the window is one segment, up to its last timestamp. */
static clf_status cut_whole(struct clf__transcription *work)
{
    double length = (double)work->size / CLF__FRAMES_A_SECOND;
    int last = work->decoded.count - 1;
    while (last >= 0 && !is_time(work, last)) {
        last--;
    }
    if (last >= 0 && steps_at(work, last) != 0) {
        length = steps_at(work, last) * CLF__TIMESTAMP_STEP;
    }
    return cut_segment(work, 0, work->decoded.count, window_start(work), window_start(work) + length);
}

/* Finds the words of the window's segments, which start at index `first`. */
static clf_status find_words(struct clf__transcription *work, const struct clf__window_place *place,
                             int first)
{
    struct clf_transcript *transcript = work->transcript;
    const struct clf_transcribe_options *options = &work->transcriber->options;
    struct clf_segment *segments = transcript->segments + first;
    int count = transcript->count - first, *counts;
    struct clf__timed_words words = {0};
    struct clf__ids ids = {0};
    CLF__TRY(clf__allocate(&counts, (size_t)count, sizeof *counts));
    clf_status status = CLF_OK;
    for (int i = 0; i < count; i++) {
        int before = ids.count;
        for (int k = 0; k < segments[i].token_count && status == CLF_OK; k++) {
            if (segments[i].tokens[k] < work->transcriber->tokens.end) {
                status = clf__ids_append(&ids, segments[i].tokens[k]);
            }
        }
        counts[i] = ids.count - before;
    }
    if (status == CLF_OK) {
        status = clf__window_words(&words, work->transcriber, place, work->language, work->code, ids.data,
                                   ids.count, work->size);
    }
    if (status == CLF_OK) {
        const char *prepend = options->prepend_punctuations, *append = options->append_punctuations;
        status = clf__timed_words_settle(&words, prepend != NULL ? prepend : CLF__PREPENDED,
                                         append != NULL ? append : CLF__APPENDED);
    }
    if (status == CLF_OK) {
        status = clf__timed_words_share(segments, counts, count, &words, window_start(work), work->spoken);
    }
    clf__timed_words_free(&words);
    clf__ids_free(&ids);
    clf__free(counts);
    return status;
}

/* Returns the end time of the last word in the segments from `first` on. */
static double words_end(const struct clf__transcription *work, int first)
{
    const struct clf_transcript *transcript = work->transcript;
    for (int i = transcript->count - 1; i >= first; i--) {
        const struct clf_segment *segment = &transcript->segments[i];
        if (segment->word_count > 0) {
            return segment->words[segment->word_count - 1].end;
        }
    }
    return transcript->segments[transcript->count - 1].end;
}

/* Adds words to the window's segments and sets the start of the next window from them, or `repeats`. */
static clf_status time_words(struct clf__transcription *work, const struct clf__window_place *place)
{
    int first = work->first_segment;
    const struct clf_transcribe_options *options = &work->transcriber->options;
    struct clf_transcript *transcript = work->transcript;
    struct clf__window_times times = {
        .start = window_start(work),
        .end = window_start(work) + (double)work->size / CLF__FRAMES_A_SECOND,
        .whole = (double)(work->seek + CLF__WINDOW_FRAMES) / CLF__FRAMES_A_SECOND,
        .spoken = work->spoken,
        .recording = (double)work->windows.frames / CLF__FRAMES_A_SECOND,
        .silence = options->hallucination_silence_threshold,
    };
    CLF__TRY(find_words(work, place, first));
    double end = words_end(work, first);
    if (!ends_with_time(work) && end > times.start) {
        int is_rest_silent = times.silence > 0.0 && times.whole - end <= times.silence;
        work->next_seek = is_rest_silent ? work->seek + work->size : llrint(end * CLF__FRAMES_A_SECOND);
    }
    int count = transcript->count - first, kept = count;
    if (times.silence > 0.0) {
        kept = clf__segments_keep(transcript->segments + first, count, &times, &work->next_seek);
    }
    work->repeats = kept < 0;
    while (transcript->count > first + (kept > 0 ? kept : 0)) {
        clf__segment_free(&transcript->segments[--transcript->count]);
    }
    if (kept > 0) {
        work->spoken = words_end(work, first);
    }
    return CLF_OK;
}

clf_status clf__transcription_cut(struct clf__transcription *work, const struct clf__window_place *place)
{
    int done;
    work->repeats = 0;
    CLF__TRY(cut_pairs(work, &done));
    if (done == 0) {
        CLF__TRY(cut_whole(work));
    }
    int is_whole = done == 0 || ends_with_time(work);
    work->next_seek =
        work->seek + (is_whole ? work->size : steps_at(work, done - 1) * CLF__FRAMES_A_TIMESTAMP);
    return work->transcriber->options.word_timestamps ? time_words(work, place) : CLF_OK;
}

clf_status clf__transcription_publish(struct clf__transcription *work)
{
    struct clf_transcript *transcript = work->transcript;
    for (int i = work->first_segment; i < transcript->count; i++) {
        CLF__TRY(finish_segment(work, &transcript->segments[i]));
    }
    work->seek = work->next_seek;
    int is_misled =
        !work->transcriber->options.condition_on_previous || work->decoded.temperature > MISLEADING;
    if (is_misled && !work->repeats) {
        work->forgotten = work->said.count;
    }
    return CLF_OK;
}
