#include "transcribe/live_buffer.h"

#include <math.h>
#include <string.h>

#include "audio/window_maker.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "text/sentences/sentences.h"

enum {
    RATE = CLF_AUDIO_RATE,
    ROOM = CLF__WINDOW_SAMPLES,
    LONG = 15 * RATE, /* a longer buffer is cut at the end of a segment of final words (whisper_streaming) */
    LEAD = RATE,      /* kept of silence, in addition to the padding, because speech is detected late */
};

clf_status clf__live_buffer_begin(struct clf__live_buffer *buffer)
{
    buffer->next = buffer->step;
    return clf__allocate(&buffer->samples, ROOM, sizeof *buffer->samples);
}

void clf__live_buffer_free(struct clf__live_buffer *buffer)
{
    clf__speech_stream_free(buffer->speech);
    clf__agreement_free(&buffer->agreement);
    clf__live_events_free(&buffer->events);
    clf__free(buffer->samples);
    clf__free(buffer->cuts);
    clf__free(buffer->language);
}

/* Returns the end of the buffer in the stream. */
static int64_t end_of(const struct clf__live_buffer *buffer)
{
    return buffer->first + buffer->count;
}

double clf__live_buffer_received(const struct clf__live_buffer *buffer)
{
    return (double)end_of(buffer) / RATE;
}

/* Removes the samples before sample `position` of the stream. */
static clf_status drop_before(struct clf__live_buffer *buffer, int64_t position)
{
    int count = (int)clf__min_int64(clf__max_int64(position - buffer->first, 0), buffer->count);
    buffer->first += count;
    buffer->count -= count;
    memmove(buffer->samples, buffer->samples + count, (size_t)buffer->count * sizeof *buffer->samples);
    return clf__agreement_pass(&buffer->agreement,
                               (double)(buffer->first + 1) / RATE); /* times are rounded */
}

/* --- A hypothesis --- */

static clf_status transcribe(struct clf_transcript **out, struct clf__live_buffer *buffer, int count)
{
    char *before;
    *out = NULL;
    CLF__TRY(clf__agreement_prompt(&before, &buffer->agreement));
    const struct clf__live_request request = {
        .samples = buffer->samples, .count = count, .before = before, .has_final = buffer->agreement.end > 0};
    clf_status status = buffer->transcribe(out, &request, buffer->context);
    clf__free(before);
    if (status == CLF_OK) { /* the events need the language */
        clf__free(buffer->language);
        buffer->language = (*out)->language;
        buffer->events.language = buffer->language;
        (*out)->language = NULL;
    }
    return status;
}

/* Marks the words that begin a sentence. */
static clf_status mark_sentences(struct clf__live_words *words)
{
    struct clf__part_list sentences = {0};
    char *text;
    size_t at = 0;
    CLF__TRY(clf__copy_string(&text, ""));
    clf_status status = CLF_OK;
    for (int i = 0; i < words->count && status == CLF_OK; i++) {
        status = clf__append(&text, "%s", words->data[i].word.text);
    }
    status = status == CLF_OK ? clf__sentences_find(&sentences, text, strlen(text)) : status;
    for (int i = 0, next = 0; i < words->count && status == CLF_OK; i++) {
        size_t size = strlen(words->data[i].word.text);
        struct clf__part word = clf__part_trim(text, at, at + size);
        while (next < sentences.count && sentences.items[next].start < word.start) {
            next++;
        }
        words->data[i].begins_segment |=
            next < sentences.count && word.size > 0 && sentences.items[next].start == word.start;
        at += size;
    }
    clf__part_list_free(&sentences);
    clf__free(text);
    return status;
}

/* Finds where the hypothesis can be divided. */
static clf_status find_cuts(struct clf__live_buffer *buffer, const struct clf__live_words *words)
{
    buffer->cut_count = 0;
    buffer->before_last = words->count > 1 ? words->data[words->count - 2].word.end : -1;
    for (int i = 1; i < words->count; i++) {
        if (words->data[i].begins_segment) {
            CLF__TRY(
                clf__grow(&buffer->cuts, buffer->cut_count, &buffer->cut_capacity, sizeof *buffer->cuts));
            buffer->cuts[buffer->cut_count++] = words->data[i - 1].word.end;
        }
    }
    return CLF_OK;
}

/* Copies the words of a transcript of the first `count` samples, with times in the stream. */
static clf_status read_words(struct clf__live_words *words, struct clf__live_buffer *buffer,
                             const struct clf_transcript *transcript, int count)
{
    double offset = (double)buffer->first / RATE, end = offset + (double)count / RATE;
    for (int i = 0; i < transcript->count; i++) {
        const struct clf_segment *segment = &transcript->segments[i];
        for (int k = 0; k < segment->word_count; k++) {
            struct clf_word word = segment->words[k];
            word.start = fmin(offset + word.start, end);
            word.end = fmin(offset + word.end, end);
            CLF__TRY(clf__live_words_add(words, &word, k == 0));
        }
    }
    CLF__TRY(mark_sentences(words));
    return find_cuts(buffer, words);
}

/* Makes the first `count` unstable words final. */
static clf_status commit(struct clf__live_buffer *buffer, int count)
{
    const struct clf__live_words *committed = &buffer->agreement.committed;
    CLF__TRY(clf__agreement_commit(&buffer->agreement, count));
    return clf__live_events_add(&buffer->events, committed, committed->count - count);
}

static clf_status emit_unstable(struct clf__live_buffer *buffer)
{
    return buffer->emits_unstable
               ? clf__live_events_add_unstable(&buffer->events, &buffer->agreement.unstable)
               : CLF_OK;
}

/* Transcribes the first `count` samples. is_last: all of their words are final. */
static clf_status decode(struct clf__live_buffer *buffer, int count, int is_last)
{
    struct clf_transcript *transcript;
    struct clf__live_words words = {0};
    struct clf__agreement *agreement = &buffer->agreement;
    int before = agreement->committed.count;
    CLF__TRY(transcribe(&transcript, buffer, count));
    buffer->decoded = buffer->first + count;
    clf_status status = read_words(&words, buffer, transcript, count);
    if (status == CLF_OK) {
        status = clf__agreement_add(agreement, &words);
    }
    clf__live_words_free(&words);
    clf_transcript_free(transcript);
    CLF__TRY(status);
    CLF__TRY(clf__live_events_add(&buffer->events, &agreement->committed, before));
    if (is_last) {
        CLF__TRY(commit(buffer, agreement->unstable.count));
        CLF__TRY(clf__live_events_end_segment(&buffer->events));
    }
    return emit_unstable(buffer);
}

/* --- What the buffer keeps --- */

/* Cuts the buffer at the end of the last segment whose words are final. */
static clf_status cut_final(struct clf__live_buffer *buffer)
{
    double last = 0;
    for (int i = 0; i < buffer->cut_count && buffer->cuts[i] <= buffer->agreement.end; i++) {
        last = buffer->cuts[i];
    }
    return drop_before(buffer, llrint(last * RATE));
}

/* Makes room for the next step in a full buffer: the words of the oldest segment are final. If there is only
 * one segment, its last word, which may be incomplete, is not. Without words, the last 15 s are kept. */
static clf_status cut_oldest(struct clf__live_buffer *buffer)
{
    double least = (double)(end_of(buffer) + buffer->step - ROOM) / RATE, time = buffer->before_last;
    int count = 0;
    for (int i = buffer->cut_count - 1; i >= 0 && buffer->cuts[i] >= least; i--) {
        time = buffer->cuts[i];
    }
    if (time < least) {
        time = (double)(end_of(buffer) - LONG) / RATE;
    }
    const struct clf__live_words *unstable = &buffer->agreement.unstable;
    while (count < unstable->count && unstable->data[count].word.end <= time) {
        count++;
    }
    CLF__TRY(commit(buffer, count));
    CLF__TRY(clf__live_events_end_segment(&buffer->events));
    return drop_before(buffer, (int64_t)ceil(time * RATE));
}

static clf_status trim(struct clf__live_buffer *buffer)
{
    CLF__TRY(buffer->count > LONG ? cut_final(buffer) : CLF_OK);
    return buffer->count + buffer->step > ROOM ? cut_oldest(buffer) : CLF_OK;
}

/* Ends an utterance: nothing before sample `position` is needed any more. */
static clf_status end_utterance(struct clf__live_buffer *buffer, int64_t position)
{
    struct clf__live_words *unstable = &buffer->agreement.unstable;
    if (unstable->count > 0) { /* the audio was not speech after all */
        clf__live_words_drop(unstable, unstable->count);
        CLF__TRY(emit_unstable(buffer));
    }
    CLF__TRY(clf__live_events_end_segment(&buffer->events));
    CLF__TRY(clf__agreement_pass(&buffer->agreement, INFINITY));
    return drop_before(buffer, position);
}

/* Transcribes the speech in the buffer. */
static clf_status decode_speech(struct clf__live_buffer *buffer)
{
    for (;;) {
        struct clf__span span;
        int is_open;
        CLF__TRY(clf__speech_stream_find(&span, &is_open, buffer->speech, buffer->first));
        if (span.end == span.start) {
            int kept = clf__min_int(buffer->pad + LEAD, ROOM - buffer->step);
            return end_utterance(buffer, end_of(buffer) - kept);
        }
        CLF__TRY(drop_before(buffer, span.start));
        CLF__TRY(decode(buffer, (int)(span.end - buffer->first), !is_open));
        if (is_open) {
            return trim(buffer);
        }
        CLF__TRY(end_utterance(buffer, span.end));
    }
}

/* --- Samples --- */

/* Transcribes the buffer at the end of a step. */
static clf_status take_step(struct clf__live_buffer *buffer)
{
    buffer->events.received = clf__live_buffer_received(buffer);
    if (buffer->speech != NULL) {
        return decode_speech(buffer);
    }
    CLF__TRY(decode(buffer, buffer->count, 0));
    return trim(buffer);
}

/* Adds samples up to the end of the step; *taken receives their number. */
static clf_status take(struct clf__live_buffer *buffer, const float *samples, size_t count, size_t *taken)
{
    float *added = buffer->samples + buffer->count;
    *taken = clf__min_size(count, (size_t)(buffer->next - end_of(buffer)));
    for (size_t i = 0; i < *taken; i++) {
        added[i] = fminf(fmaxf(samples[i], -1), 1);
    }
    buffer->count += (int)*taken;
    return buffer->speech != NULL ? clf__speech_stream_add(buffer->speech, added, *taken) : CLF_OK;
}

clf_status clf__live_buffer_feed(struct clf__live_buffer *buffer, const float *samples, size_t count,
                                 size_t waiting)
{
    size_t taken;
    for (; count > 0; samples += taken, count -= taken) {
        CLF__TRY(take(buffer, samples, count, &taken));
        if (end_of(buffer) == buffer->next) {
            int is_full = buffer->count + buffer->step > ROOM;
            buffer->next += buffer->step;
            CLF__TRY(waiting < (size_t)buffer->step || is_full ? take_step(buffer) : CLF_OK);
        }
    }
    return CLF_OK;
}

clf_status clf__live_buffer_finish(struct clf__live_buffer *buffer)
{
    buffer->events.received = clf__live_buffer_received(buffer);
    if (buffer->speech != NULL) {
        CLF__TRY(clf__speech_stream_end(buffer->speech));
        return decode_speech(buffer);
    }
    if (end_of(buffer) > buffer->decoded) {
        return decode(buffer, buffer->count, 1);
    }
    CLF__TRY(commit(buffer, buffer->agreement.unstable.count));
    CLF__TRY(clf__live_events_end_segment(&buffer->events));
    return emit_unstable(buffer);
}
