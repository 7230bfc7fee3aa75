/* Live transcription with a model of random weights. */
#include "transcribe/recording.h"

#include "support/process.h"
#include "support/sounds.h"

enum { LIVE_SECONDS = 12, LIVE_COUNT = LIVE_SECONDS * CLF_AUDIO_RATE };

/* Everything that a live transcription returned. */
struct live_result {
    char events[1 << 15], words[1 << 14], segments[1 << 14];
};

static struct clf_transcribe_options make_options(void)
{
    static const double zero[] = {0};
    struct clf_transcribe_options options;
    clf_transcribe_options_init(&options);
    options.beam = 1;
    options.temperatures = zero;
    options.temperature_count = 1;
    options.no_speech_threshold = NAN;
    return options;
}

static void take_all(struct live_result *result, struct clf_live *live)
{
    const struct clf_live_event *event;
    while ((event = clf_live_take(live)) != NULL) {
        size_t used = strlen(result->events);
        assert_int_equal(event->size, sizeof *event);
        snprintf(result->events + used, sizeof result->events - used, "%d %.3f %.3f %.3f %s:%s\n",
                 (int)event->kind, event->start, event->end, event->received, event->language, event->text);
        char *text = event->kind == CLF_LIVE_WORDS ? result->words : result->segments;
        if (event->kind != CLF_LIVE_UNSTABLE) {
            assert_true(strlen(text) + strlen(event->text) < sizeof result->words);
            strcat(text, event->text);
        }
        for (int i = 0; i < event->word_count; i++) {
            const struct clf_word *word = &event->words[i];
            assert_true(word->start <= word->end && word->end <= event->received);
        }
    }
}

static clf_status run(struct live_result *result, struct clf_transcriber *transcriber,
                      const struct clf_live_options *options, const float *samples, int count, int block)
{
    struct clf_live *live;
    memset(result, 0, sizeof *result);
    CLF__TRY(clf_live_open(&live, transcriber, options));
    clf_status status = CLF_OK;
    for (int at = 0; at < count && status == CLF_OK; at += block) {
        int size = block < count - at ? block : count - at;
        status = clf_live_feed(live, samples + at, (size_t)size, 0);
        take_all(result, live);
    }
    status = status == CLF_OK ? clf_live_finish(live) : status;
    take_all(result, live);
    struct clf__failure failure = clf__failure_keep(status);
    clf_live_free(live);
    return clf__failure_again(&failure);
}

/* Blocks of any size give the same events, and the final words those of the segments. */
static void test_blocks(void **state)
{
    (void)state;
    static const int blocks[] = {LIVE_COUNT, 4096, 23457};
    static struct live_result first, result;
    struct clf_model *model = load_model();
    struct clf_transcriber *transcriber;
    struct clf_transcribe_options options = make_options();
    struct clf_live_options live;
    const float *samples = make_samples(LIVE_COUNT + 3 * CLF_AUDIO_RATE);
    clf_live_options_init(&live);
    live.step = 3;
    live.unstable = 1;
    assert_ok(clf_transcriber_create(&transcriber, model, &options));
    for (int i = 0; i < 3; i++) {
        assert_ok(run(i == 0 ? &first : &result, transcriber, &live, samples, LIVE_COUNT, blocks[i]));
        assert_true(i == 0 || strcmp(first.events, result.events) == 0);
    }
    assert_string_equal(first.words, first.segments);
    assert_true(strlen(first.words) > 0);
    assert_int_equal(process_count(first.events, "\n2 "), LIVE_SECONDS / 3 + 1 - (first.events[0] == '2'));
    clf_transcriber_free(transcriber);
    clf_model_free(model);
}

/* Appends the words of a transcript. */
static const char *words_of(const struct clf_transcript *transcript)
{
    const char *text = "";
    for (int i = 0; i < transcript->count; i++) {
        for (int k = 0; k < transcript->segments[i].word_count; k++) {
            text = process_format("%s%s", text, transcript->segments[i].words[k].text);
        }
    }
    return text;
}

/* A stream that ends before the first step has the words of a recording, also with a prompt. */
static void test_as_recording(void **state)
{
    (void)state;
    enum { COUNT_8 = 8 * CLF_AUDIO_RATE };
    static struct live_result result;
    struct clf_model *model = load_model();
    const float *samples = make_samples(COUNT_8 + 3 * CLF_AUDIO_RATE);
    struct clf_live_options live;
    clf_live_options_init(&live);
    live.step = 10;
    size_t total = 0;
    for (int i = 0; i < 3; i++) {
        struct clf_transcriber *transcriber;
        struct clf_transcript *transcript;
        struct clf_transcribe_options options = make_options();
        options.language = i == 0 ? "pt" : NULL;
        options.initial_prompt = i == 1 ? "bread" : NULL;
        options.hotwords = i == 2 ? "butter" : NULL;
        options.word_timestamps = 1;
        assert_ok(transcribe(&transcript, model, &options, samples, COUNT_8));
        assert_ok(clf_transcriber_create(&transcriber, model, &options));
        assert_ok(run(&result, transcriber, &live, samples, COUNT_8, COUNT_8));
        assert_string_equal(result.words, words_of(transcript));
        assert_int_equal(strstr(result.events, process_format(" %s:", transcript->language)) != NULL,
                         strlen(result.words) > 0);
        total += strlen(result.words);
        clf_transcript_free(transcript);
        clf_transcriber_free(transcriber);
    }
    assert_true(total > 0);
    clf_model_free(model);
}

/* With voice activity detection, silence is never decoded. */
static void test_silence(void **state)
{
    (void)state;
    static struct live_result result;
    struct clf_model *model = load_model();
    struct clf_transcriber *transcriber;
    struct clf_transcribe_options options = make_options();
    float *samples = support_array(LIVE_COUNT, sizeof *samples);
    struct heard heard = {0};
    options.vad = 1;
    options.interrupted = ask;
    options.payload = &heard;
    assert_ok(clf_transcriber_create(&transcriber, model, &options));
    assert_ok(run(&result, transcriber, NULL, samples, LIVE_COUNT, 4096));
    assert_string_equal(result.events, "");
    assert_int_equal(heard.asked, 0); /* it is asked between steps of the decoder */
    sounds_add_speech(samples + LIVE_COUNT / 3, LIVE_COUNT / 3, 1);
    assert_ok(run(&result, transcriber, NULL, samples, LIVE_COUNT, 4096));
    assert_true(heard.asked > 0 && strlen(result.words) > 0);
    clf_transcriber_free(transcriber);
    clf_model_free(model);
}

static void test_failures(void **state)
{
    (void)state;
    static struct live_result result;
    static const double clips[] = {0, 1};
    struct clf_model *model = load_model();
    struct clf_transcriber *transcriber, *other;
    struct clf_live *live;
    struct clf_live_options options;
    struct heard heard = {.stop_at = 3};
    struct clf_transcribe_options rules = make_options();
    float *samples = make_samples(LIVE_COUNT);
    clf_live_options_init(&options);
    assert_fails(clf_live_open(&live, NULL, NULL), CLF_BAD_ARGUMENT, "transcriber: is NULL");
    assert_null(live);
    rules.interrupted = ask;
    rules.payload = &heard;
    assert_ok(clf_transcriber_create(&transcriber, model, &rules));
    options.step = 0.05;
    assert_fails(clf_live_open(&live, transcriber, &options), CLF_BAD_ARGUMENT, "use 0.1 to 10");
    assert_fails(run(&result, transcriber, NULL, samples, LIVE_COUNT, LIVE_COUNT), CLF_INTERRUPTED, "");
    assert_ok(clf_live_open(&live, transcriber, NULL));
    assert_null(clf_live_take(live));
    assert_fails(clf_live_feed(live, NULL, 1, 0), CLF_BAD_ARGUMENT, "samples: is NULL");
    samples[100] = NAN;
    assert_fails(clf_live_feed(live, samples, 200, 0), CLF_FORMAT, "the sample at 0.01 s is NaN");
    assert_ok(clf_live_feed(live, samples, 100, 0));
    heard.stop_at = 0;
    assert_ok(clf_live_finish(live));
    assert_fails(clf_live_finish(live), CLF_BAD_ARGUMENT, "is finished or has failed");
    assert_fails(clf_live_feed(live, samples, 1, 0), CLF_BAD_ARGUMENT, "is finished or has failed");
    assert_fails(clf_live_feed(NULL, samples, 1, 0), CLF_BAD_ARGUMENT, "live: is NULL");
    clf_live_free(live);
    clf_live_free(NULL);
    clf_transcriber_free(transcriber);
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = {"clips", "batch_windows", "prefix", "timestamps 0"};
        rules = make_options();
        rules.clips = i == 0 ? clips : NULL;
        rules.clip_count = i == 0 ? 2 : 0;
        rules.batch_windows = i == 1;
        rules.prefix = i == 2 ? "bread" : NULL;
        rules.timestamps = i != 3;
        assert_ok(clf_transcriber_create(&other, model, &rules));
        assert_fails(clf_live_open(&live, other, NULL), CLF_BAD_ARGUMENT, names[i]);
        clf_transcriber_free(other);
    }
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_blocks, support_teardown),
        cmocka_unit_test_teardown(test_as_recording, support_teardown),
        cmocka_unit_test_teardown(test_silence, support_teardown),
        cmocka_unit_test_teardown(test_failures, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
