/* Recordings transcribed in parallel give the results of single ones, with a model of random weights. */
#include "transcribe/recording.h"

enum { RECORDINGS = 7, SILENT = 2, BROKEN = 3, MISSING = 5 };

static const int seconds[RECORDINGS] = {41, 5, 0, 8, 64, 1, 12};

struct several {
    const float *samples; /* of the longest one; each recording starts at another offset */
    float *broken;
    struct clf_audio *audio[RECORDINGS];
    struct clf_transcript *transcripts[RECORDINGS];
    int statuses[RECORDINGS];
    int opened, done, segments[RECORDINGS], at_work, most_at_work;
    double last[RECORDINGS];
    int asked, stop_at;
};

static const float *samples_of(const struct several *several, int index)
{
    return index == BROKEN ? several->broken : several->samples + index * 1000;
}

static clf_status open_one(struct clf_audio **out, int index, void *user)
{
    struct several *several = user;
    assert_int_equal(index, several->opened);
    several->opened++;
    several->at_work++;
    several->most_at_work =
        several->at_work > several->most_at_work ? several->at_work : several->most_at_work;
    if (index == MISSING) {
        return clf__fail(CLF_FILE, "it is not there");
    }
    CLF__TRY(
        clf_audio_open_samples(out, samples_of(several, index), (size_t)seconds[index] * CLF_AUDIO_RATE));
    several->audio[index] = *out;
    return CLF_OK;
}

static void end_one(int index, clf_status status, struct clf_transcript *transcript, void *user)
{
    struct several *several = user;
    assert_true((status == CLF_OK) == (transcript != NULL));
    assert_int_equal(several->statuses[index], -1);
    if (index == BROKEN && status != CLF_INTERRUPTED) {
        assert_non_null(strstr(clf_last_error(), "is NaN or infinite"));
    }
    several->statuses[index] = (int)status;
    several->transcripts[index] = transcript;
    several->at_work--;
    several->done++;
    clf_audio_free(several->audio[index]);
    several->audio[index] = NULL;
}

static void hear_one(int index, const struct clf_segment *segment, void *user)
{
    struct several *several = user;
    assert_int_equal(segment->id, several->segments[index]);
    several->segments[index]++;
}

static void see_one(int index, double done, double of, void *user)
{
    struct several *several = user;
    assert_true(done > several->last[index] && done <= of && (int)of == seconds[index]);
    several->last[index] = done;
}

static int ask_several(void *user)
{
    struct several *several = user;
    several->asked++;
    return several->stop_at > 0 && several->asked >= several->stop_at;
}

/* A transcriber stays usable after an interruption. */
static void work_alone(struct clf_transcriber *transcriber, const float *samples)
{
    struct clf_audio *audio;
    struct clf_transcript *transcript;
    assert_ok(clf_audio_open_samples(&audio, samples, 5 * CLF_AUDIO_RATE));
    assert_ok(clf_transcribe(&transcript, transcriber, audio));
    assert_true(transcript->count > 0);
    clf_transcript_free(transcript);
    clf_audio_free(audio);
}

static clf_status run(struct several *several, struct clf_model *model,
                      struct clf_transcribe_options *options)
{
    struct clf_recordings recordings;
    struct clf_transcriber *transcriber;
    float *samples = make_samples(80 * CLF_AUDIO_RATE);
    several->samples = samples;
    several->broken = make_samples(seconds[BROKEN] * CLF_AUDIO_RATE);
    several->broken[20000] = NAN;
    memset(samples + SILENT * 1000, 0, 100 * sizeof *samples);
    for (int i = 0; i < RECORDINGS; i++) {
        several->statuses[i] = -1;
    }
    options->interrupted = ask_several;
    options->payload = several;
    assert_ok(clf_transcriber_create(&transcriber, model, options));
    clf_recordings_init(&recordings);
    recordings.count = RECORDINGS;
    recordings.open = open_one;
    recordings.done = end_one;
    recordings.segment = hear_one;
    recordings.progress = see_one;
    recordings.payload = several;
    clf_status status = clf_transcribe_several(transcriber, &recordings);
    if (status == CLF_INTERRUPTED) {
        struct clf__failure failure = clf__failure_keep(status);
        several->stop_at = 0;
        work_alone(transcriber, samples);
        status = clf__failure_again(&failure);
    }
    clf_transcriber_free(transcriber);
    return status;
}

static void free_transcripts(struct several *several)
{
    for (int i = 0; i < RECORDINGS; i++) {
        clf_transcript_free(several->transcripts[i]);
    }
}

static struct clf_transcribe_options make_options(int variant)
{
    struct clf_transcribe_options options;
    clf_transcribe_options_init(&options);
    options.beam = variant + 1;
    options.best_of = 3;
    options.no_speech_threshold = NAN;
    options.log_probability_threshold = variant == 1 ? 0 : -4.2; /* some windows are decoded again, or all */
    options.language = variant == 2 ? "pt" : NULL;
    options.word_timestamps = variant == 2;
    options.initial_prompt = variant == 0 ? "bread" : NULL;
    options.batch = 3;
    return options;
}

static void test_as_alone(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    for (int variant = 0; variant < 3; variant++) {
        struct several several = {0};
        struct clf_transcribe_options options = make_options(variant);
        assert_ok(run(&several, model, &options));
        assert_int_equal(several.done, RECORDINGS);
        assert_int_equal(several.most_at_work, 3);
        options.interrupted = NULL;
        options.batch = 1 + variant; /* free slots change nothing either */
        for (int i = 0; i < RECORDINGS; i++) {
            struct clf_transcript *alone = NULL;
            if (i == BROKEN || i == MISSING) {
                assert_int_equal(several.statuses[i], i == BROKEN ? CLF_FORMAT : CLF_FILE);
                continue;
            }
            assert_ok(
                transcribe(&alone, model, &options, samples_of(&several, i), seconds[i] * CLF_AUDIO_RATE));
            assert_same(several.transcripts[i], alone);
            assert_int_equal(several.segments[i], alone->count);
            assert_string_equal(several.transcripts[i]->language, alone->language);
            for (int k = 0; k < alone->count; k++) {
                const struct clf_segment *one = &alone->segments[k];
                assert_int_equal(several.transcripts[i]->segments[k].word_count, one->word_count);
                for (int w = 0; w < one->word_count; w++) {
                    const struct clf_word *word = &several.transcripts[i]->segments[k].words[w];
                    assert_true(word->start == one->words[w].start && word->end == one->words[w].end);
                    assert_true(word->probability == one->words[w].probability);
                }
            }
            clf_transcript_free(alone);
        }
        free_transcripts(&several);
    }
    clf_model_free(model);
}

/* After an interruption at any moment, each opened recording is reported once. */
static void test_interrupted(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    static const int stops[] = {1, 2, 9, 40, 200};
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        struct several several = {.stop_at = stops[i]};
        struct clf_transcribe_options options = make_options(0);
        assert_fails(run(&several, model, &options), CLF_INTERRUPTED, "interrupted");
        assert_int_equal(several.done, several.opened);
        assert_int_equal(several.at_work, 0);
        for (int k = 0; k < several.opened; k++) {
            assert_true(several.statuses[k] >= 0);
        }
        free_transcripts(&several);
    }
    clf_model_free(model);
}

static void test_refused(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    struct clf_transcriber *transcriber;
    struct clf_recordings recordings;
    clf_recordings_init(&recordings);
    assert_ok(clf_transcriber_create(&transcriber, model, NULL));
    assert_fails(clf_transcribe_several(NULL, &recordings), CLF_BAD_ARGUMENT,
                 "transcriber: is NULL; create one with clf_transcriber_create()");
    assert_fails(clf_transcribe_several(transcriber, NULL), CLF_BAD_ARGUMENT,
                 "recordings: is NULL; pass the recordings to transcribe");
    assert_fails(clf_transcribe_several(transcriber, &recordings), CLF_BAD_ARGUMENT,
                 "recordings: the callbacks `open` and `done` must be set");
    recordings.open = open_one;
    recordings.done = end_one;
    assert_ok(clf_transcribe_several(transcriber, &recordings));
    recordings.count = -1;
    assert_fails(clf_transcribe_several(transcriber, &recordings), CLF_BAD_ARGUMENT,
                 "recordings: the count -1");
    clf_transcriber_free(transcriber);
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_as_alone, support_teardown),
        cmocka_unit_test_teardown(test_interrupted, support_teardown),
        cmocka_unit_test_teardown(test_refused, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
