/* Recordings of bulk priority do not delay an interactive one, which has the same transcript as alone. */
#include <time.h>

#include "engine/engine.h"
#include "transcribe/recording.h"

enum { BULK = 6, BULK_SECONDS = 90, SHORT_COUNT = 34 * CLF_AUDIO_RATE };

/* Returns the number of windows that the engine has decoded. */
static int64_t count_windows(struct clf_engine *engine)
{
    struct clf_stage_times times = {.size = sizeof times};
    clf__engine_copy_times(engine, &times);
    return times.lines;
}

static struct clf_transcript *transcribe_short(struct clf_transcriber *transcriber, const float *samples)
{
    struct clf_transcript *transcript;
    struct clf_audio *audio;
    assert_ok(clf_audio_open_samples(&audio, samples, SHORT_COUNT));
    assert_ok(clf_transcribe(&transcript, transcriber, audio));
    clf_audio_free(audio);
    return transcript;
}

static void test_bulk(void **state)
{
    (void)state;
    static const double zero[] = {0};
    struct clf_model *model = load_model();
    struct clf_engine *engine;
    struct clf_engine_options engine_options;
    struct clf_transcriber *transcriber, *bulk;
    struct clf_transcribe_options options;
    struct clf_job *jobs[BULK];
    struct clf_audio *recordings[BULK];
    const float *samples = make_samples((BULK_SECONDS + 1) * CLF_AUDIO_RATE);
    clf_engine_options_init(&engine_options);
    engine_options.batch_windows = 1;
    assert_ok(clf_engine_create(&engine, &model, 1, &engine_options));
    clf_transcribe_options_init(&options);
    options.language = "pt";
    options.temperatures = zero;
    options.temperature_count = 1;
    options.no_speech_threshold = NAN;
    assert_ok(clf_transcriber_create_shared(&transcriber, engine, &options));
    options.priority = CLF_PRIORITY_BULK;
    assert_ok(clf_transcriber_create_shared(&bulk, engine, &options));
    struct clf_transcript *alone = transcribe_short(transcriber, samples);
    int64_t windows = count_windows(engine), start = windows;
    for (int i = 0; i < BULK; i++) {
        size_t count = (size_t)BULK_SECONDS * CLF_AUDIO_RATE;
        assert_ok(clf_audio_open_samples(&recordings[i], samples + (size_t)i * 100, count));
        assert_ok(clf_transcribe_submit(&jobs[i], bulk, recordings[i], NULL));
    }
    while (count_windows(engine) == start) { /* until bulk windows are decoded */
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    start = count_windows(engine);
    struct clf_transcript *transcript = transcribe_short(transcriber, samples);
    int64_t passed = count_windows(engine) - start; /* at most one bulk window for each of its steps */
    assert_same(alone, transcript);
    assert_true(windows >= 2 && passed >= windows && passed <= 2 * windows + 4);
    int is_over = 1;
    for (int i = 0; i < BULK; i++) {
        is_over &= clf_job_poll(jobs[i], NULL);
    }
    assert_false(is_over);
    for (int i = 0; i < BULK; i++) {
        clf_job_free(jobs[i]);
        clf_audio_free(recordings[i]);
    }
    clf_transcript_free(alone);
    clf_transcript_free(transcript);
    clf_transcriber_free(transcriber);
    clf_transcriber_free(bulk);
    clf_engine_free(engine);
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_bulk, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
