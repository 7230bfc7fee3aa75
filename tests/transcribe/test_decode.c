/* Decoding of windows with a model of random weights: temperature fallback, prompts and suppressed tokens. */
#include "support/process.h"
#include "transcribe/recording.h"

/* A recording at these temperatures, where no attempt is good enough. */
static struct clf_transcript *never_sure(struct clf_model *model, const double *temperatures, int count,
                                         uint64_t seed, int conditions)
{
    struct clf_transcript *transcript;
    struct clf_transcribe_options options;
    clf_transcribe_options_init(&options);
    options.language = "pt";
    options.beam = 2;
    options.best_of = 3;
    options.no_speech_threshold = NAN;
    options.log_probability_threshold = 0;
    options.temperatures = temperatures;
    options.temperature_count = count;
    options.seed = seed;
    options.condition_on_previous = conditions;
    assert_ok(transcribe(&transcript, model, &options, make_samples(COUNT), COUNT));
    for (int i = 0; i < transcript->count; i++) {
        assert_true(transcript->segments[i].temperature == temperatures[count - 1]);
    }
    assert_true(transcript->count > 0 && transcript->segments[transcript->count - 1].seek > 0);
    return transcript;
}

static void free_all(struct clf_transcript *const *transcripts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        clf_transcript_free(transcripts[i]);
    }
}

static void test_fallback(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    static const double rising[] = {0, 0.3, 0.5, 0.8}, other_rising[] = {0.2, 0.3, 0.5, 0.8};
    struct clf_transcript *cold = never_sure(model, rising, 1, 0, 1);
    struct clf_transcript *warm = never_sure(model, rising, 3, 0, 1);
    struct clf_transcript *hot = never_sure(model, rising, 4, 0, 1);
    struct clf_transcript *hot_again = never_sure(model, other_rising, 4, 0, 1);
    struct clf_transcript *hot_other = never_sure(model, rising, 4, 1, 1);
    struct clf_transcript *hot_apart = never_sure(model, rising, 4, 0, 0);
    struct clf_transcript *warm_apart = never_sure(model, rising, 3, 0, 0);
    assert_true(is_other(cold, warm) && is_other(warm, hot) && is_other(hot, hot_other));
    assert_same(hot, hot_again);
    assert_same(hot, hot_apart); /* above 0.5 there is no prompt in any case */
    assert_true(is_other(warm, warm_apart));
    struct clf_transcript *const all[] = {cold, warm, hot, hot_again, hot_other, hot_apart, warm_apart};
    free_all(all, sizeof all / sizeof *all);
    clf_model_free(model);
}

/* Which attempt is accepted: the first that passes, or silence. */
static void test_thresholds(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    static const double temperatures[] = {0, 0.4, 0.8};
    const struct {
        double ratio, log_probability, no_speech, expected;
    } cases[] = {
        {NAN, -1000, NAN, 0}, {NAN, NAN, NAN, 0},
        {0, NAN, NAN, 0.8},   {0, -1000, 0, 0.8}, /* a repetitive result is confident enough: not silence */
        {0, 0, 0, -1},                            /* silence, however repetitive */
        {NAN, 0, 1, 0.8},                         /* not confident, and not silence */
        {NAN, 0, NAN, 0.8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clf_transcript *transcript;
        struct clf_transcribe_options options;
        clf_transcribe_options_init(&options);
        options.beam = 1;
        options.best_of = 1;
        options.language = "pt";
        options.temperatures = temperatures;
        options.temperature_count = 3;
        options.compression_ratio_threshold = cases[i].ratio;
        options.log_probability_threshold = cases[i].log_probability;
        options.no_speech_threshold = cases[i].no_speech;
        if (!isnan(cases[i].ratio) && !clf__compression_is_known()) {
            continue;
        }
        assert_ok(transcribe(&transcript, model, &options, make_samples(COUNT), COUNT));
        assert_true((cases[i].expected < 0) == (transcript->count == 0));
        for (int k = 0; k < transcript->count; k++) {
            assert_true(transcript->segments[k].temperature == cases[i].expected);
        }
        clf_transcript_free(transcript);
    }
    clf_model_free(model);
}

/* One window with this prompt. */
static struct clf_transcript *behind(struct clf_model *model, const char *hotwords, const char *prompt)
{
    struct clf_transcript *transcript;
    struct clf_transcribe_options options;
    clf_transcribe_options_init(&options);
    options.language = "pt";
    options.beam = 2;
    options.no_speech_threshold = options.log_probability_threshold = NAN;
    options.compression_ratio_threshold = NAN;
    options.hotwords = hotwords;
    options.initial_prompt = prompt;
    assert_ok(transcribe(&transcript, model, &options, make_samples(COUNT), 20 * CLF_AUDIO_RATE));
    assert_true(transcript->text[0] != '\0');
    return transcript;
}

/* A prompt has the same effect from any source; the tokens of this model are bytes. */
static void test_hotwords(void **state)
{
    (void)state;
    enum { HALF = 448 / 2 - 1, LONG = 300, ROOM = 448 - 448 / 4 };
    struct clf_model *model = load_model();
    char hot[LONG + 1] = {0}, previous[LONG + 1] = {0}, cut[LONG + 1] = {0};
    for (int i = 0; i < LONG; i++) {
        hot[i] = (char)('a' + i % 7);
        previous[i] = (char)('k' + i % 5);
    }
    memcpy(cut, hot, HALF - 1); /* a space precedes it */
    struct clf_transcript *all[] = {
        behind(model, "bread", NULL),
        behind(model, NULL, " bread "),
        behind(model, "bread", "salt"),
        behind(model, NULL, "bread salt"),
        behind(model, hot, NULL),
        behind(model, NULL, cut),
        behind(model, NULL, NULL),
        behind(model, hot, previous),
        behind(model, hot, previous + LONG - (ROOM - HALF)),
    };
    assert_same(all[0], all[1]);
    assert_same(all[2], all[3]);
    assert_same(all[4], all[5]);
    assert_true(is_other(all[0], all[2]) && is_other(all[0], all[4]) && is_other(all[0], all[6]));
    assert_true(is_other(all[7], all[4]));
    free_all(all, sizeof all / sizeof *all);
    clf_model_free(model);
}

/* A recording of several windows, with a carried prompt, or an initial one only. */
static struct clf_transcript *carried(struct clf_model *model, const char *prompt, int carries,
                                      int conditions)
{
    struct clf_transcript *transcript;
    struct clf_transcribe_options options;
    clf_transcribe_options_init(&options);
    options.language = "Portuguese";
    options.beam = 1;
    options.no_speech_threshold = options.log_probability_threshold = NAN;
    options.compression_ratio_threshold = NAN;
    options.initial_prompt = prompt;
    options.carry_initial_prompt = carries;
    options.condition_on_previous = conditions;
    assert_ok(transcribe(&transcript, model, &options, make_samples(COUNT), COUNT));
    assert_true(transcript->count > 1 && transcript->segments[transcript->count - 1].seek > 0);
    return transcript;
}

static double last_probability(const struct clf_transcript *transcript)
{
    return transcript->segments[transcript->count - 1].avg_logprob;
}

/* Windows without context all begin with the carried prompt, as a first window always does. */
static void test_carried_prompt(void **state)
{
    (void)state;
    enum { LONG = 300 };
    struct clf_model *model = load_model();
    char prompt[LONG + 1] = {0};
    for (int i = 0; i < LONG; i++) {
        prompt[i] = (char)('a' + i % 7);
    }
    struct clf_transcript *all[] = {
        carried(model, "salt", 1, 0), carried(model, "salt", 0, 0),
        carried(model, NULL, 0, 0),   carried(model, NULL, 1, 0),
        carried(model, prompt, 1, 0), carried(model, prompt + LONG - (448 / 2 - 1), 1, 0),
    };
    assert_same(all[2], all[3]);
    assert_true(is_other(all[0], all[2]));
    assert_true(last_probability(all[0]) != last_probability(all[1]));
    assert_true(all[0]->segments[0].avg_logprob == all[1]->segments[0].avg_logprob);
    assert_same(all[4], all[5]); /* the latest of it */
    free_all(all, sizeof all / sizeof *all);
    clf_model_free(model);
}

/* An empty prompt is a space; an empty prefix, or empty hot words, have no effect. */
static void test_empty_prompt(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    struct clf_transcript *all[] = {behind(model, NULL, NULL), behind(model, NULL, ""),
                                    behind(model, NULL, " "), behind(model, "", NULL)};
    assert_same(all[1], all[2]);
    assert_same(all[0], all[3]);
    assert_true(is_other(all[0], all[1]));
    free_all(all, sizeof all / sizeof *all);
    clf_model_free(model);
}

/* A decoder with few positions holds hot words, or hot words and previous text; otherwise an error is
 * returned at once. */
static void test_room(void **state)
{
    (void)state;
    static const struct {
        int positions, previous, timestamps, fits;
    } cases[] = {{20, 1, 1, 1}, {20, 1, 0, 0}, {16, 1, 1, 0}, {16, 0, 1, 1}, {4, 0, 1, 0}};
    struct clf_model *model = load_model();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clf_transcript *transcript;
        struct clf_transcriber *transcriber;
        struct clf_transcribe_options options;
        clf_transcribe_options_init(&options);
        options.language = "pt";
        options.beam = 1;
        options.temperature_count = 0;
        options.hotwords = "bread and butter";
        options.initial_prompt = cases[i].previous ? "jam and tea and milk" : NULL;
        options.condition_on_previous = cases[i].previous;
        options.timestamps = cases[i].timestamps;
        model->transformer->config.decoder_max_positions = cases[i].positions;
        if (cases[i].fits) {
            assert_ok(transcribe(&transcript, model, &options, make_samples(COUNT), COUNT));
            clf_transcript_free(transcript);
        } else {
            assert_fails(
                clf_transcriber_create(&transcriber, model, &options), CLF_TEXT,
                process_format("leave no room for text in the decoder's %d positions", cases[i].positions));
        }
    }
    clf_model_free(model);
}

static int count_of(const struct clf_transcript *transcript, int32_t id)
{
    int count = 0;
    for (int i = 0; i < transcript->count; i++) {
        for (int k = 0; k < transcript->segments[i].token_count; k++) {
            count += transcript->segments[i].tokens[k] == id;
        }
    }
    return count;
}

static struct clf_transcript *without(struct clf_model *model, const int32_t *suppressed, int count)
{
    struct clf_transcript *transcript;
    struct clf_transcribe_options options;
    clf_transcribe_options_init(&options);
    options.language = "pt";
    options.beam = 1;
    options.no_speech_threshold = options.log_probability_threshold = NAN;
    options.compression_ratio_threshold = NAN;
    options.suppressed = suppressed;
    options.suppressed_count = count;
    assert_ok(transcribe(&transcript, model, &options, make_samples(COUNT), 20 * CLF_AUDIO_RATE));
    return transcript;
}

static void test_suppressed(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    int32_t ids[] = {-1, 0};
    struct clf_transcript *usual = without(model, NULL, 0), *same = without(model, ids, 1);
    for (int i = 0; i < usual->count && ids[1] == 0; i++) {
        const struct clf_segment *segment = &usual->segments[i];
        for (int k = 0; k < segment->token_count; k++) {
            ids[1] = segment->tokens[k] < 256 ? segment->tokens[k] : ids[1];
        }
    }
    struct clf_transcript *other = without(model, ids, 2), *alone = without(model, ids + 1, 1);
    assert_same(usual, same);
    assert_true(count_of(usual, ids[1]) > 0);
    assert_int_equal(count_of(other, ids[1]), 0);
    assert_int_equal(count_of(alone, ids[1]), 0);
    clf_transcript_free(usual);
    clf_transcript_free(same);
    clf_transcript_free(other);
    clf_transcript_free(alone);
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_fallback, support_teardown),
        cmocka_unit_test_teardown(test_thresholds, support_teardown),
        cmocka_unit_test_teardown(test_hotwords, support_teardown),
        cmocka_unit_test_teardown(test_carried_prompt, support_teardown),
        cmocka_unit_test_teardown(test_empty_prompt, support_teardown),
        cmocka_unit_test_teardown(test_room, support_teardown),
        cmocka_unit_test_teardown(test_suppressed, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
