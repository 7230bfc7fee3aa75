/* Parts of a recording that are transcribed side by side, and voice activity detection, with a model of
 * random weights: each part has the result of the same samples as a recording of their own. */
#include "transcribe/recording.h"

#include "support/sounds.h"
#include "text/tokenizers/speech_tokens.h"
#include "transcribe/plan.h"

enum { LENGTH = 75, SAMPLES = LENGTH * CLF_AUDIO_RATE };

/* Syllables and music, with pauses of silence and noise: 0 to 20, 24 to 40 and 44 to 72 s are speech. */
static float *make_recording(void)
{
    enum { RATE = CLF_AUDIO_RATE };
    float *samples = support_array(SAMPLES, sizeof *samples);
    sounds_add_speech(samples, 20 * RATE, 1);
    sounds_add_speech(samples + 24 * RATE, 16 * RATE, 2);
    sounds_add_speech(samples + 44 * RATE, 28 * RATE, 3);
    sounds_add_noise(samples + 20 * RATE, 4 * RATE, 0.01F);
    sounds_add_music(samples + 40 * RATE, 4 * RATE);
    return samples;
}

static struct clf_transcribe_options make_options(int variant)
{
    static const double clips[] = {2, 36, 50, 52.5, 1, 4, 60};
    struct clf_transcribe_options options;
    clf_transcribe_options_init(&options);
    options.beam = variant == 1 ? 2 : 1;
    options.best_of = 2;
    options.no_speech_threshold = NAN;
    options.log_probability_threshold = variant == 1 ? -4.2 : NAN; /* some windows are decoded again */
    options.compression_ratio_threshold = NAN;
    options.language = variant == 2 ? "pt" : NULL;
    options.word_timestamps = variant == 2;
    options.initial_prompt = variant == 3 ? "bread" : NULL;
    options.clips = variant == 3 ? clips : NULL;
    options.clip_count = variant == 3 ? (int)(sizeof clips / sizeof *clips) : 0;
    return options;
}

static void assert_same_words(const struct clf_segment *one, const struct clf_segment *other)
{
    assert_int_equal(one->word_count, other->word_count);
    for (int i = 0; i < one->word_count; i++) {
        const struct clf_word *a = &one->words[i], *b = &other->words[i];
        assert_string_equal(a->text, b->text);
        assert_true(a->start == b->start && a->end == b->end && a->probability == b->probability);
    }
}

/* Returns the time in the recording of a time in the samples of a part: the slow way, span by span. */
static double move(const struct clf__span *spans, int count, double seconds, int is_end)
{
    double left = seconds;
    for (int i = 0;; i++) {
        double length = (double)(spans[i].end - spans[i].start) / CLF_AUDIO_RATE;
        if (i == count - 1 || left < length - 1e-6 || (is_end && left < length + 1e-6)) {
            return (double)spans[i].start / CLF_AUDIO_RATE + left;
        }
        left -= length;
    }
}

/* Moves the times of a segment of a part, out of the silence of 0.4 s around speech if the segment continues
 * in other speech. */
static void move_segment(double *start, double *end, const struct clf__span *spans, int count)
{
    static const double pad = 0.4;
    double from = *start, to = *end, at = 0;
    for (int i = 0; i + 1 < count; i++) {
        at += (double)(spans[i].end - spans[i].start) / CLF_AUDIO_RATE;
        int is_cut = spans[i + 1].start > spans[i].end;
        from = is_cut && *start < at - 1e-6 && *end > at + 1e-6 && at - *start <= pad ? at : from;
    }
    at = 0;
    for (int i = 0; i + 1 < count; i++) {
        at += (double)(spans[i].end - spans[i].start) / CLF_AUDIO_RATE;
        int is_cut = spans[i + 1].start > spans[i].end;
        to = is_cut && from < at - 1e-6 && *end > at + 1e-6 && *end - at <= pad ? at : to;
    }
    *start = move(spans, count, from, 0);
    *end = move(spans, count, to, 1);
}

/* Compares the segments from *next on with those of a part that was transcribed alone. */
static void assert_part(const struct clf_transcript *whole, int *next, const struct clf_transcript *part,
                        const struct clf__span *spans, int count)
{
    for (int i = 0; i < part->count; i++) {
        const struct clf_segment *alone = &part->segments[i], *segment = &whole->segments[(*next)++];
        assert_true(*next <= whole->count);
        assert_string_equal(segment->text, alone->text);
        assert_int_equal(segment->token_count, alone->token_count);
        assert_memory_equal(segment->tokens, alone->tokens,
                            (size_t)alone->token_count * sizeof *alone->tokens);
        assert_true(segment->avg_logprob == alone->avg_logprob &&
                    segment->no_speech_prob == alone->no_speech_prob &&
                    segment->temperature == alone->temperature);
        assert_int_equal(segment->word_count, alone->word_count);
        if (alone->word_count == 0) {
            double start = alone->start, end = alone->end;
            move_segment(&start, &end, spans, count);
            assert_true(fabs(segment->start - start) < 0.0051);
            assert_true(fabs(segment->end - fmax(end, segment->start)) < 0.0051);
        }
        for (int k = 0; k < alone->word_count; k++) {
            const struct clf_word *word = &segment->words[k], *before = &alone->words[k];
            double length = before->end - before->start, middle = (before->start + before->end) / 2;
            assert_string_equal(word->text, before->text);
            assert_true(fabs(word->end - word->start - length) < 0.0101);
            assert_true(fabs((word->start + word->end) / 2 - move(spans, count, middle, 0)) < 0.0101);
        }
    }
}

/* Transcribes each part of a plan as a recording of its own. */
static void check_parts(const struct clf_transcript *whole, struct clf_model *model,
                        const struct clf_transcribe_options *options, const float *samples)
{
    struct clf_transcribe_options own = *options;
    struct clf_transcriber *transcriber;
    struct clf_audio *audio;
    struct clf__plan plan;
    int next = 0;
    assert_ok(clf_transcriber_create(&transcriber, model, options));
    assert_ok(clf_audio_open_samples(&audio, samples, SAMPLES));
    assert_ok(clf__plan_make(&plan, transcriber, audio, &(struct clf_translate_options){0}));
    own.batch_windows = own.vad = own.clip_count = 0;
    own.clips = NULL;
    own.segment = NULL;
    own.progress = NULL;
    own.interrupted = NULL;
    own.language = options->multilingual ? NULL : whole->language; /* that of the first part */
    for (int i = 0; i < plan.count; i++) {
        const struct clf__part *part = &plan.parts[i];
        const struct clf__span *spans = plan.spans.data + part->first;
        struct clf_transcript *alone;
        int count = 0;
        float *joined = support_array(CLF__WINDOW_SAMPLES, sizeof *joined);
        for (int k = 0; k < part->count; k++) {
            size_t length = (size_t)(spans[k].end - spans[k].start);
            memcpy(joined + count, samples + spans[k].start, length * sizeof *joined);
            count += (int)length;
        }
        assert_true(count <= CLF__WINDOW_SAMPLES);
        assert_ok(transcribe(&alone, model, &own, joined, count));
        assert_part(whole, &next, alone, spans, part->count);
        clf_transcript_free(alone);
    }
    assert_int_equal(next, whole->count);
    clf__plan_free(&plan);
    clf_audio_free(audio);
    clf_transcriber_free(transcriber);
}

/* Any number of windows side by side gives the same transcript, which consists of those of its parts. */
static void test_parts(void **state)
{
    (void)state;
    static const int sizes[] = {1, 3, 8};
    struct clf_model *model = load_model();
    const float *samples = make_recording();
    for (int i = 0; i < 8; i++) {
        int variant = i / 2;
        if (support_small() && i != 2 && i != 5) { /* samples and languages; words of speech */
            continue;
        }
        struct clf_transcript *first = NULL;
        struct clf_transcribe_options options = make_options(variant);
        options.vad = i % 2;
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k += support_small() ? 2 : 1) {
            struct clf_transcript *transcript;
            struct heard heard = {0};
            options.batch_windows = sizes[k];
            options.segment = hear;
            options.progress = variant != 3 ? see : NULL; /* clips are not in order */
            options.interrupted = ask;
            options.payload = &heard;
            assert_ok(transcribe(&transcript, model, &options, samples, SAMPLES));
            assert_int_equal(heard.segments, transcript->count);
            assert_true(variant == 3 || (heard.last == heard.whole && heard.progress > 1));
            assert_true(transcript->count > 2);
            if (first == NULL) {
                first = transcript;
                check_parts(first, model, &options, samples);
                continue;
            }
            assert_same(first, transcript);
            assert_string_equal(first->language, transcript->language);
            for (int s = 0; s < first->count; s++) {
                assert_same_words(&first->segments[s], &transcript->segments[s]);
            }
            clf_transcript_free(transcript);
        }
        clf_transcript_free(first);
    }
    clf_model_free(model);
}

/* With `multilingual`, each part has its own language, and each window of sequential decoding one of the
 * model's languages. */
static void test_multilingual(void **state)
{
    (void)state;
    static const char *const languages[] = {"en", "pt", "de"};
    struct clf_model *model = load_model();
    const float *samples = make_recording();
    struct clf_transcript *transcripts[4], *first = NULL;
    struct clf_transcribe_options options = make_options(0);
    options.multilingual = 1;
    for (int size = support_small() ? 3 : 1; size <= 3; size += 2) {
        options.batch_windows = size;
        struct clf_transcript *transcript;
        assert_ok(transcribe(&transcript, model, &options, samples, SAMPLES));
        if (first != NULL) {
            assert_same(first, transcript);
        }
        clf_transcript_free(first);
        first = transcript;
    }
    check_parts(first, model, &options, samples);
    for (int i = 0; i < first->count; i++) {
        assert_non_null(first->segments[i].language);
    }
    clf_transcript_free(first);
    struct clf_transcriber *transcriber;
    assert_ok(clf_transcriber_create(&transcriber, model, &options));
    int32_t times[CLF__SPEECH_TIMES]; /* are suppressed, so that each window has 30 s */
    for (int i = 0; i < CLF__SPEECH_TIMES; i++) {
        times[i] = transcriber->tokens.timestamp_begin + i;
    }
    clf_transcriber_free(transcriber);
    options.batch_windows = options.condition_on_previous = options.timestamps = 0;
    options.suppressed = times;
    options.suppressed_count = CLF__SPEECH_TIMES;
    for (int i = 0; i < 4; i++) {
        options.multilingual = i == 3;
        options.language = i < 3 ? languages[i] : NULL;
        assert_ok(transcribe(&transcripts[i], model, &options, samples, SAMPLES));
        assert_int_equal(transcripts[i]->count, 3);
    }
    for (int k = 0; k < 3; k++) {
        const struct clf_segment *segment = &transcripts[3]->segments[k];
        int matches = 0;
        for (int i = 0; i < 3; i++) {
            int is_same = transcripts[i]->segments[k].avg_logprob == segment->avg_logprob &&
                          strcmp(transcripts[i]->segments[k].text, segment->text) == 0;
            matches += is_same;
            assert_true(!is_same || strcmp(segment->language, languages[i]) == 0);
            assert_null(transcripts[i]->segments[k].language);
        }
        assert_int_equal(matches, 1);
    }
    for (int i = 0; i < 4; i++) {
        clf_transcript_free(transcripts[i]);
    }
    clf_model_free(model);
}

/* Makes the plan of a recording. */
static struct clf__plan plan_of(struct clf_model *model, const struct clf_transcribe_options *options,
                                const float *samples, int count)
{
    struct clf__plan plan;
    struct clf_transcriber *transcriber;
    struct clf_audio *audio;
    assert_ok(clf_transcriber_create(&transcriber, model, options));
    assert_ok(clf_audio_open_samples(&audio, samples, (size_t)count));
    assert_ok(clf__plan_make(&plan, transcriber, audio, &(struct clf_translate_options){0}));
    clf_audio_free(audio);
    clf_transcriber_free(transcriber);
    return plan;
}

/* Windows are cut in pauses of their last 5 s and cover the recording, or its speech. */
static void test_plan(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    struct clf_transcribe_options options = make_options(0);
    float *samples = make_recording();
    memset(samples + 27 * CLF_AUDIO_RATE, 0, CLF_AUDIO_RATE * sizeof *samples);
    options.batch_windows = 4;
    struct clf__plan plan = plan_of(model, &options, samples, SAMPLES);
    assert_int_equal(plan.count, 3);
    double cut = (double)plan.spans.data[0].end / CLF_AUDIO_RATE;
    assert_true(cut > 27 && cut < 28);
    for (int i = 0; i < plan.count; i++) {
        const struct clf__span *span = &plan.spans.data[i];
        assert_int_equal(span->start, i > 0 ? plan.spans.data[i - 1].end : 0);
        assert_true(span->end - span->start <= CLF__WINDOW_SAMPLES && span->end % CLF__FRAME_SAMPLES == 0);
    }
    assert_int_equal(plan.spans.data[2].end, SAMPLES);
    clf__plan_free(&plan);
    options.vad = 1;
    plan = plan_of(model, &options, samples, SAMPLES);
    assert_true(plan.count == 3 && plan.spans.count >= 4); /* 20 + 3, 12 and 28 s */
    int64_t length = clf__spans_length(plan.spans.data, plan.spans.count);
    assert_true(length > 63 * CLF_AUDIO_RATE && length < 69 * CLF_AUDIO_RATE);
    clf__plan_free(&plan);
    options.batch_windows = 0;
    plan = plan_of(model, &options, samples, SAMPLES);
    assert_true(plan.count == 1 && plan.parts[0].count == plan.spans.count && plan.spans.count == 3);
    double first = (double)plan.spans.data[1].start / CLF_AUDIO_RATE;
    assert_true(fabs(first - 23.6) < 0.3);
    clf__plan_free(&plan);
    clf_model_free(model);
}

/* Without speech there are no segments, and the language is that of silence. */
static void test_silence(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    for (int variant = 0; variant < 6; variant++) {
        struct clf_transcript *transcript;
        struct heard heard = {0};
        struct clf_transcribe_options options = make_options(variant % 2 * 2);
        int count = variant == 4 ? 0 : 40 * CLF_AUDIO_RATE;
        float *samples = support_array((size_t)count + 1, sizeof *samples);
        options.vad = 1;
        options.batch_windows = variant / 2;
        options.segment = hear;
        options.payload = &heard;
        if (variant > 1 && count > 0) {
            sounds_add_noise(samples, count, 0.2F);
            sounds_add_music(samples + count / 2, count / 2);
        }
        assert_ok(transcribe(&transcript, model, &options, samples, count));
        assert_true(transcript->count == 0 && heard.segments == 0);
        assert_string_equal(transcript->text, "");
        assert_int_equal(strlen(transcript->language), 2);
        clf_transcript_free(transcript);
    }
    clf_model_free(model);
}

/* Sequential decoding of speech is that of the joined speech, with times of the recording. */
static void test_joined(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    const float *samples = make_recording();
    for (int variant = support_small() ? 2 : 0; variant < 3; variant += 2) {
        struct clf_transcript *whole, *alone;
        struct heard heard = {0};
        struct clf_transcribe_options options = make_options(variant);
        options.vad = 1;
        struct clf__plan plan = plan_of(model, &options, samples, SAMPLES);
        int count = 0, next = 0;
        float *joined = support_array(SAMPLES, sizeof *joined);
        for (int i = 0; i < plan.spans.count; i++) {
            const struct clf__span *span = &plan.spans.data[i];
            memcpy(joined + count, samples + span->start, (size_t)(span->end - span->start) * sizeof *joined);
            count += (int)(span->end - span->start);
        }
        options.progress = see;
        options.payload = &heard;
        assert_ok(transcribe(&whole, model, &options, samples, SAMPLES));
        assert_true(heard.last == LENGTH && heard.whole == LENGTH);
        options.vad = 0;
        options.progress = NULL;
        assert_ok(transcribe(&alone, model, &options, joined, count));
        assert_true(count < SAMPLES && alone->count > 1);
        assert_part(whole, &next, alone, plan.spans.data, plan.spans.count);
        assert_int_equal(next, whole->count);
        assert_string_equal(whole->text, alone->text);
        clf_transcript_free(alone);
        clf_transcript_free(whole);
        clf__plan_free(&plan);
    }
    clf_model_free(model);
}

/* Several recordings of which some fail, as `several` opens them. */
struct several {
    const float *samples;
    float *broken;
    struct clf_audio *audio[5];
    int statuses[5], done;
    struct clf_transcript *transcripts[5];
    int asked, stop_at;
};

static const int seconds[5] = {35, 0, 64, 3, 40};

static clf_status open_one(struct clf_audio **out, int index, void *user)
{
    struct several *several = user;
    if (index == 3) {
        return clf__fail(CLF_FILE, "it is not there");
    }
    const float *samples = index == 2 ? several->broken : several->samples + index * 1000;
    CLF__TRY(clf_audio_open_samples(out, samples, (size_t)seconds[index] * CLF_AUDIO_RATE));
    several->audio[index] = *out;
    return CLF_OK;
}

static void end_one(int index, clf_status status, struct clf_transcript *transcript, void *user)
{
    struct several *several = user;
    assert_true((status == CLF_OK) == (transcript != NULL) && several->statuses[index] == -1);
    several->statuses[index] = (int)status;
    several->transcripts[index] = transcript;
    several->done++;
    clf_audio_free(several->audio[index]);
    several->audio[index] = NULL;
}

static int ask_several(void *user)
{
    struct several *several = user;
    return ++several->asked >= several->stop_at && several->stop_at > 0;
}

/* Recordings follow each other; one that fails does not affect the others, and an interruption ends all. */
static void test_several(void **state)
{
    (void)state;
    static const int stops[] = {0, 20, 1, 3, 8, 100};
    struct clf_model *model = load_model();
    float *samples = make_recording(), *broken = make_recording();
    broken[33 * CLF_AUDIO_RATE] = NAN;
    for (size_t i = 0; i < (support_small() ? 2 : sizeof stops / sizeof *stops); i++) {
        struct several several = {.samples = samples, .broken = broken, .stop_at = stops[i]};
        struct clf_recordings recordings;
        struct clf_transcriber *transcriber;
        struct clf_transcribe_options options = make_options(0);
        options.batch_windows = 3;
        options.interrupted = ask_several;
        options.payload = &several;
        memset(several.statuses, -1, sizeof several.statuses);
        clf_recordings_init(&recordings);
        recordings.count = 5;
        recordings.open = open_one;
        recordings.done = end_one;
        recordings.payload = &several;
        assert_ok(clf_transcriber_create(&transcriber, model, &options));
        clf_status status = clf_transcribe_several(transcriber, &recordings);
        assert_int_equal(status, stops[i] > 0 ? CLF_INTERRUPTED : CLF_OK);
        clf_transcriber_free(transcriber);
        for (int k = 0; k < 5; k++) {
            assert_null(several.audio[k]);
            if (stops[i] == 0) {
                struct clf_transcript *alone;
                static const int expected[] = {CLF_OK, CLF_OK, CLF_FORMAT, CLF_FILE, CLF_OK};
                assert_int_equal(several.statuses[k], expected[k]);
                if (expected[k] == CLF_OK) {
                    options.interrupted = NULL;
                    assert_ok(
                        transcribe(&alone, model, &options, samples + k * 1000, seconds[k] * CLF_AUDIO_RATE));
                    assert_same(several.transcripts[k], alone);
                    clf_transcript_free(alone);
                }
            }
            clf_transcript_free(several.transcripts[k]);
        }
    }
    clf_model_free(model);
}

static void test_refused(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    struct clf_transcriber *transcriber;
    struct clf_transcribe_options options;
    static const struct {
        double threshold, neg, speech, silence, pad, most;
        int batch_windows;
        const char *message;
    } cases[] = {
        {1.5, NAN, 0, NAN, 400, NAN, 0, "VAD threshold: 1.5 is out of range; use 0 to 1"},
        {NAN, NAN, 0, NAN, 400, NAN, 0, "VAD threshold: nan is out of range"},
        {0.5, -1, 0, NAN, 400, NAN, 0, "VAD negative threshold: -1 is out of range"},
        {0.5, NAN, -1, NAN, 400, NAN, 0, "VAD minimum speech in milliseconds: -1 is out of range"},
        {0.5, NAN, 0, -1, 400, NAN, 0, "VAD minimum silence in milliseconds: -1 is out of range"},
        {0.5, NAN, 0, NAN, -1, NAN, 0, "VAD speech padding in milliseconds: -1 is out of range"},
        {0.5, NAN, 0, NAN, 400, 1, 0, "VAD maximum speech: 1 seconds are too few with 400 milliseconds"},
        {0.5, NAN, 0, NAN, 15000, NAN, 1, "VAD maximum speech: 29.98 seconds are too few with 15000"},
        {0.5, NAN, 0, NAN, 400, NAN, 65, "batch windows: 65 is out of range; use 0 to 64"},
        {0.5, NAN, 0, NAN, 400, NAN, -1, "batch windows: -1 is out of range; use 0 to 64"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clf_transcribe_options_init(&options);
        options.vad = 1;
        options.vad_threshold = cases[i].threshold;
        options.vad_neg_threshold = cases[i].neg;
        options.vad_min_speech_duration_ms = cases[i].speech;
        options.vad_min_silence_duration_ms = cases[i].silence;
        options.vad_speech_pad_ms = cases[i].pad;
        options.vad_max_speech_duration_s = cases[i].most;
        options.batch_windows = cases[i].batch_windows;
        assert_fails(clf_transcriber_create(&transcriber, model, &options), CLF_BAD_ARGUMENT,
                     cases[i].message);
    }
    clf_transcribe_options_init(&options);
    options.vad_model = "silero.onnx";
    assert_fails(clf_transcriber_create(&transcriber, model, &options), CLF_BAD_ARGUMENT,
                 "silero.onnx: the VAD model requires voice activity detection; turn it on");
    options.vad_model = NULL;
    options.multilingual = 1;
    options.language = "pt";
    assert_fails(clf_transcriber_create(&transcriber, model, &options), CLF_BAD_ARGUMENT,
                 "language pt: has no effect if the language of each window is detected; remove one");
    options.multilingual = 0;
    options.vad_model = "silero.onnx";
    options.vad = 1;
    assert_fails(clf_transcriber_create(&transcriber, model, &options), CLF_FILE, "silero.onnx: ");
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_parts, support_teardown),
        cmocka_unit_test_teardown(test_multilingual, support_teardown),
        cmocka_unit_test_teardown(test_plan, support_teardown),
        cmocka_unit_test_teardown(test_silence, support_teardown),
        cmocka_unit_test_teardown(test_joined, support_teardown),
        cmocka_unit_test_teardown(test_several, support_teardown),
        cmocka_unit_test_teardown(test_refused, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
