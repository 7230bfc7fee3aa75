/* The buffer of a live transcription with scripted hypotheses: which words are final, what the buffer keeps,
 * and the events. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audio/window_maker.h"
#include "base/memory.h"
#include "support/process.h"
#include "support/sounds.h"
#include "transcribe/live_buffer.h"

enum { RATE = SOUNDS_RATE, ROOM = CLF__WINDOW_SAMPLES, MOST_TEXT = 1 << 16 };

/* --- The buffer, with a script of words --- */

/* Word k has this text and lasts from 0.4 k to 0.4 k + 0.3 s. */
enum { SEGMENT = 12 };
struct script {
    int word_count;
    int segment_words; /* 0: one segment */
    int never_agrees;
    int requests, most_count, calls_of_final;
    char before[256]; /* of the last request */
    int64_t first;
    const char *final_text; /* all final text so far */
    int counts_only;        /* the samples are sounds: every request has one word */
};

/* Samples whose values are their positions. */
static float *make_positions(int count)
{
    float *samples = support_array((size_t)count, sizeof *samples);
    for (int i = 0; i < count; i++) {
        samples[i] = ldexpf((float)i, -24);
    }
    return samples;
}

static clf_status add_word(struct clf_transcript *transcript, const char *text, double start, double end)
{
    struct clf_segment *segment = &transcript->segments[transcript->count - 1];
    struct clf_word *words = segment->words;
    CLF__TRY(clf__resize(&words, (size_t)segment->word_count + 1, sizeof *words));
    segment->words = words;
    words[segment->word_count] = (struct clf_word){.start = start, .end = end, .probability = 0.5};
    CLF__TRY(clf__copy_string(&words[segment->word_count].text, text));
    segment->word_count++;
    return CLF_OK;
}

static clf_status add_segment(struct clf_transcript *transcript)
{
    CLF__TRY(clf__resize(&transcript->segments, (size_t)transcript->count + 1, sizeof *transcript->segments));
    transcript->segments[transcript->count++] = (struct clf_segment){0};
    return CLF_OK;
}

/* Adds the words of the script in the samples; a word in the last 0.3 s is incomplete. */
static clf_status add_words(struct clf_transcript *transcript, const struct clf__live_request *request,
                            struct script *script)
{
    CLF__TRY(clf__copy_string(&transcript->language, "pt"));
    if (script->counts_only) {
        CLF__TRY(add_segment(transcript));
        return add_word(transcript, " hi", 0.1, 0.2);
    }
    script->first = (int64_t)ldexpf(request->samples[0], 24);
    double from = (double)script->first / RATE, to = from + (double)request->count / RATE;
    for (int k = 0; k < script->word_count; k++) {
        double start = 0.4 * k, end = start + 0.3;
        if (start < from - 1e-9 || end > to) {
            continue;
        }
        if (transcript->count == 0 || (script->segment_words > 0 && k % script->segment_words == 0)) {
            CLF__TRY(add_segment(transcript));
        }
        const char *mark = end > to - 0.3 ? "?" : script->never_agrees && script->requests % 2 ? "'" : "";
        char text[32];
        snprintf(text, sizeof text, " w%d%s", k, mark);
        CLF__TRY(add_word(transcript, text, start - from, end - from));
    }
    return CLF_OK;
}

static clf_status play(struct clf_transcript **out, const struct clf__live_request *request, void *user)
{
    struct script *script = user;
    script->requests++;
    script->calls_of_final += request->has_final;
    script->most_count = request->count > script->most_count ? request->count : script->most_count;
    snprintf(script->before, sizeof script->before, "%s", request->before);
    CLF__TRY(clf__allocate(out, 1, sizeof **out));
    clf_status status = add_words(*out, request, script);
    if (status != CLF_OK) {
        clf_transcript_free(*out);
        *out = NULL;
    }
    return status;
}

/* What the events contain. */
struct events {
    char log[MOST_TEXT]; /* all events */
    char words[MOST_TEXT], segments[MOST_TEXT], unstable[MOST_TEXT];
    int segment_count;
    double delay;
};

static void take_all(struct events *events, struct script *script, struct clf__live_buffer *buffer)
{
    const struct clf_live_event *event;
    while ((event = clf__live_events_take(&buffer->events)) != NULL) {
        size_t used = strlen(events->log);
        snprintf(events->log + used, sizeof events->log - used, "%d %.2f %.2f %.2f %s\n", (int)event->kind,
                 event->start, event->end, event->received, event->text);
        char *text = event->kind == CLF_LIVE_WORDS     ? events->words
                     : event->kind == CLF_LIVE_SEGMENT ? events->segments
                                                       : events->unstable;
        if (event->kind == CLF_LIVE_UNSTABLE) {
            *text = '\0';
        }
        assert_true(strlen(text) + strlen(event->text) < MOST_TEXT);
        strcat(text, event->text);
        const char *rest = event->text; /* the words are its parts */
        for (int i = 0; i < event->word_count; i++) {
            size_t size = strlen(event->words[i].text);
            assert_memory_equal(rest, event->words[i].text, size);
            rest += size;
        }
        assert_string_equal(rest, "");
        assert_string_equal(event->language, "pt");
        events->segment_count += event->kind == CLF_LIVE_SEGMENT;
        for (int i = 0; event->kind == CLF_LIVE_WORDS && i < event->word_count; i++) {
            events->delay = fmax(events->delay, event->received - event->words[i].end);
        }
    }
    script->final_text = events->words;
}

static struct clf__live_buffer begin(struct script *script, double step)
{
    struct clf__live_buffer buffer = {
        .transcribe = play, .context = script, .step = (int)lrint(step * RATE), .emits_unstable = 1};
    assert_ok(clf__live_buffer_begin(&buffer));
    return buffer;
}

/* Feeds samples in blocks of `block`, or of changing sizes if it is 0. */
static void play_all(struct events *events, struct script *script, double step, const float *samples,
                     int count, int block)
{
    struct clf__live_buffer buffer = begin(script, step);
    struct support_random random = {5};
    memset(events, 0, sizeof *events);
    for (int at = 0, size; at < count; at += size) {
        size = block > 0 ? block : 1 + support_integer(&random, 3 * RATE);
        size = size < count - at ? size : count - at;
        assert_ok(clf__live_buffer_feed(&buffer, samples + at, (size_t)size, 0));
        assert_true(buffer.count <= ROOM);
        take_all(events, script, &buffer);
    }
    assert_ok(clf__live_buffer_finish(&buffer));
    take_all(events, script, &buffer);
    clf__live_buffer_free(&buffer);
}

/* Returns the text of the words of a script. */
static const char *whole_text(int word_count)
{
    char *text = support_array(MOST_TEXT, 1);
    for (int k = 0; k < word_count; k++) {
        snprintf(text + strlen(text), 32, " w%d", k);
    }
    return text;
}

/* The final text is that of the recording, each word is final two steps after it is complete, and the events
 * do not depend on the size of blocks. */
static void test_script(void **state)
{
    (void)state;
    enum { WORDS = 300, COUNT = 124 * RATE };
    static struct events events, other;
    const float *samples = make_positions(COUNT);
    static const double steps[] = {1, 0.37, 2.5};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct script script = {.word_count = WORDS, .segment_words = SEGMENT};
        play_all(&events, &script, steps[i], samples, COUNT, COUNT);
        assert_string_equal(events.words, whole_text(WORDS));
        assert_string_equal(events.segments, whole_text(WORDS));
        assert_string_equal(events.unstable, "");
        assert_int_equal(events.segment_count, WORDS / SEGMENT);
        assert_true(events.delay <= 0.3 + 2 * steps[i] + 1e-6);
        assert_true(script.most_count <= (15 + SEGMENT * 0.4 + 3 * steps[i]) * RATE);
        for (int k = 0; k < 2; k++) {
            struct script again = {.word_count = WORDS, .segment_words = SEGMENT};
            play_all(&other, &again, steps[i], samples, COUNT, k == 0 ? 1600 : 0);
            assert_string_equal(events.log, other.log);
            assert_int_equal(script.requests, again.requests);
        }
    }
}

/* Without agreement, the words of the oldest segment are final when the buffer is full; with one segment, all
 * but the last word. Each word is final once, and requests are at most 30 s long. */
static void test_full(void **state)
{
    (void)state;
    enum { WORDS = 300, COUNT = 124 * RATE };
    static struct events events;
    const float *samples = make_positions(COUNT);
    for (int kind = 0; kind < 4; kind++) {
        double step = kind % 2 ? 7.5 : 1;
        struct script script = {
            .word_count = WORDS, .segment_words = kind < 2 ? SEGMENT : 0, .never_agrees = 1};
        play_all(&events, &script, step, samples, COUNT, 0);
        assert_true(script.most_count <= ROOM);
        assert_true(events.delay <= 30 + step);
        assert_string_equal(events.words, events.segments);
        const char *at = events.words;
        for (int k = 0; k < WORDS; k++) {
            char word[32];
            snprintf(word, sizeof word, " w%d", k);
            assert_memory_equal(at, word, strlen(word));
            at += strlen(word) + strspn(at + strlen(word), "'?");
        }
        assert_string_equal(at, "");
    }
}

/* A stream without words: the buffer stays bounded, and there is no final text. */
static void test_no_words(void **state)
{
    (void)state;
    enum { COUNT = 95 * RATE };
    static struct events events;
    struct script script = {0};
    play_all(&events, &script, 1, make_positions(COUNT), COUNT, 0);
    assert_true(script.most_count <= ROOM && script.requests >= 95);
    assert_string_equal(events.words, "");
    assert_int_equal(events.segment_count, 0);
    assert_int_equal(script.calls_of_final, 0);
}

/* The text before the buffer is the end of the final text that precedes it. */
static void test_before(void **state)
{
    (void)state;
    enum { WORDS = 300, COUNT = 124 * RATE };
    static struct events events;
    const float *samples = make_positions(COUNT);
    struct script script = {.word_count = WORDS, .segment_words = SEGMENT, .final_text = ""};
    struct clf__live_buffer buffer = begin(&script, 1);
    for (int i = 0; i < 124; i++) {
        assert_ok(clf__live_buffer_feed(&buffer, samples + (size_t)i * RATE, RATE, 0));
        int passed =
            (int)floor(((double)script.first / RATE - 0.3) / 0.4 + 1e-3) + 1; /* words before the buffer */
        const char *text = whole_text(passed > 0 ? passed : 0);
        size_t size = strlen(script.before);
        assert_true(size <= CLF__PROMPT_CHARACTERS && (passed <= 0 || size > 0));
        assert_true(strlen(text) >= size && strcmp(text + strlen(text) - size, script.before) == 0);
        assert_true(size == strlen(text) || size > CLF__PROMPT_CHARACTERS - 5);
        take_all(&events, &script, &buffer);
    }
    assert_true(script.first > 100 * RATE && script.calls_of_final > 100);
    clf__live_buffer_free(&buffer);
}

/* While audio waits, only a full buffer is transcribed, and no word is lost. */
static void test_waiting(void **state)
{
    (void)state;
    enum { WORDS = 150, COUNT = 64 * RATE };
    static struct events events;
    const float *samples = make_positions(COUNT);
    struct script script = {.word_count = WORDS, .segment_words = SEGMENT};
    struct clf__live_buffer buffer = begin(&script, 1);
    memset(&events, 0, sizeof events);
    for (int i = 0; i < 64; i++) {
        assert_ok(clf__live_buffer_feed(&buffer, samples + (size_t)i * RATE, RATE, (size_t)(63 - i) * RATE));
        take_all(&events, &script, &buffer);
        assert_true(i >= 28 || script.requests == 0);
    }
    assert_ok(clf__live_buffer_finish(&buffer));
    take_all(&events, &script, &buffer);
    assert_true(script.requests < 20 && script.most_count <= ROOM);
    assert_string_equal(events.words, whole_text(WORDS));
    clf__live_buffer_free(&buffer);
}

/* Feeds samples until an allocation fails; returns the status. */
static clf_status play_until_failure(struct clf__live_buffer *buffer, const float *samples, int count)
{
    CLF__TRY(clf__live_buffer_begin(buffer));
    CLF__TRY(clf__live_buffer_feed(buffer, samples, (size_t)count, 0));
    return clf__live_buffer_finish(buffer);
}

/* Any allocation may fail: the failure is reported, and nothing leaks. */
static void test_no_memory(void **state)
{
    (void)state;
    enum { COUNT = 33 * RATE };
    const float *samples = make_positions(COUNT);
    clf_status status = CLF_OUT_OF_MEMORY;
    for (uint64_t n = 1; status != CLF_OK;
         n = n * (support_small() ? 5 : 9) / (support_small() ? 4 : 8) + 1) {
        struct script script = {.word_count = 75, .segment_words = SEGMENT};
        struct clf__live_buffer buffer = {
            .transcribe = play, .context = &script, .step = 3 * RATE, .emits_unstable = 1};
        clf__memory_fail_at(n);
        status = play_until_failure(&buffer, samples, COUNT);
        clf__memory_fail_at(0);
        assert_true(status == CLF_OK || status == CLF_OUT_OF_MEMORY);
        clf__live_buffer_free(&buffer);
    }
}

/* --- Voice activity --- */

static struct clf__live_buffer begin_speech(struct script *script)
{
    struct clf__live_buffer buffer = begin(script, 1);
    const struct clf__speech_rules rules = {.threshold = 0.5,
                                            .neg_threshold = 0.35,
                                            .min_silence = 0.5 * RATE,
                                            .speech_pad = 0.4 * RATE,
                                            .max_speech = INFINITY};
    buffer.pad = (int)rules.speech_pad;
    assert_ok(clf__speech_stream_create(&buffer.speech, NULL, &rules));
    return buffer;
}

/* Silence, noise and music cost nothing, and the buffer stays small. */
static void test_silence(void **state)
{
    (void)state;
    enum { COUNT = 40 * RATE };
    for (int kind = 0; kind < 4; kind++) {
        float *samples = support_array(COUNT, sizeof *samples);
        struct script script = {.counts_only = 1};
        struct clf__live_buffer buffer = begin_speech(&script);
        if (kind == 1 || kind == 2) {
            sounds_add_noise(samples, COUNT, kind == 1 ? 0.3F : 0.001F);
        } else if (kind == 3) {
            sounds_add_music(samples, COUNT);
        }
        for (int at = 0; at < COUNT; at += RATE / 4) {
            assert_ok(clf__live_buffer_feed(&buffer, samples + at, RATE / 4, 0));
            assert_true(buffer.count <= 2.5 * RATE);
        }
        assert_ok(clf__live_buffer_finish(&buffer));
        assert_int_equal(script.requests, 0);
        assert_null(clf__live_events_take(&buffer.events));
        clf__live_buffer_free(&buffer);
    }
}

/* Only speech is transcribed: its words are final after it ends, and a segment ends there. Times refer to the
 * stream. */
static void test_speech(void **state)
{
    (void)state;
    enum { COUNT = 30 * RATE };
    float *samples = support_array(COUNT, sizeof *samples);
    struct script script = {.counts_only = 1};
    struct clf__live_buffer buffer = begin_speech(&script);
    static struct events events;
    int by_second[30] = {0};
    sounds_add_speech(samples + 5 * RATE, 4 * RATE, 1);
    sounds_add_speech(samples + 18 * RATE, 3 * RATE, 2);
    sounds_add_noise(samples, COUNT, 0.003F);
    memset(&events, 0, sizeof events);
    for (int i = 0; i < 30; i++) {
        int before = script.requests;
        assert_ok(clf__live_buffer_feed(&buffer, samples + (size_t)i * RATE, RATE, 0));
        by_second[i] = script.requests - before;
        take_all(&events, &script, &buffer);
    }
    for (int i = 0; i < 30; i++) {
        int is_spoken = (i >= 5 && i < 10) || (i >= 18 && i < 22);
        assert_true(by_second[i] <= 1 && (is_spoken || by_second[i] == 0));
        assert_true(by_second[i] == 1 || !((i > 5 && i < 9) || (i > 18 && i < 21)));
    }
    assert_true(script.most_count <= 6 * RATE);
    assert_string_equal(events.words, " hi hi");
    assert_int_equal(events.segment_count, 2);
    double first, second;
    assert_int_equal(sscanf(strstr(events.log, "\n1 "), "\n1 %lf", &first), 1);
    assert_true(first > 4.2 && first < 5.6);
    char *last = strstr(strstr(events.log, "\n1 ") + 1, "\n1 ");
    assert_int_equal(sscanf(last + 1, "1 %lf", &second), 1);
    assert_true(second > 17.2 && second < 18.6);
    clf__live_buffer_free(&buffer);
}

/* The spans of a stream do not depend on the size of blocks, and cover the speech. */
static void test_speech_stream(void **state)
{
    (void)state;
    enum { COUNT = 12 * RATE };
    float *samples = support_array(COUNT, sizeof *samples);
    struct clf__span found[2];
    sounds_add_speech(samples + 4 * RATE, 4 * RATE, 3);
    sounds_add_noise(samples, COUNT, 0.01F);
    for (int i = 0; i < 2; i++) {
        const struct clf__speech_rules rules = {
            .threshold = 0.5, .neg_threshold = 0.35, .min_silence = 8000, .speech_pad = 1600};
        struct clf__speech_stream *stream;
        int is_open, block = i == 0 ? COUNT : 700;
        assert_ok(clf__speech_stream_create(&stream, NULL, &rules));
        for (int at = 0; at < COUNT; at += block) {
            int size = block < COUNT - at ? block : COUNT - at;
            assert_ok(clf__speech_stream_add(stream, samples + at, (size_t)size));
        }
        assert_ok(clf__speech_stream_find(&found[i], &is_open, stream, 0));
        assert_false(is_open);
        struct clf__span rest;
        assert_ok(clf__speech_stream_find(&rest, &is_open, stream, found[i].end));
        assert_true(rest.start == rest.end && !is_open);
        clf__speech_stream_free(stream);
    }
    assert_memory_equal(&found[0], &found[1], sizeof found[0]);
    assert_true(labs((long)(found[0].start - 4 * RATE)) < RATE / 2);
    assert_true(labs((long)(found[0].end - 8 * RATE)) < RATE / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_script, support_teardown),
        cmocka_unit_test_teardown(test_full, support_teardown),
        cmocka_unit_test_teardown(test_no_words, support_teardown),
        cmocka_unit_test_teardown(test_before, support_teardown),
        cmocka_unit_test_teardown(test_waiting, support_teardown),
        cmocka_unit_test_teardown(test_no_memory, support_teardown),
        cmocka_unit_test_teardown(test_silence, support_teardown),
        cmocka_unit_test_teardown(test_speech, support_teardown),
        cmocka_unit_test_teardown(test_speech_stream, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
