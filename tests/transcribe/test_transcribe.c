/* Transcribing with a model of random weights: properties of any transcript. Equality with openai/whisper is
 * checked with trained models, which are too large for fixtures. */
#include <clformer/clformer.h>

#include <math.h>
#include <string.h>

#include <jansson.h>

#include "base/file.h"
#include "base/memory.h"
#include "support/process.h"
#include "transcribe/recording.h"

/* Without segment timestamps, times are unconstrained, and may decrease. */
static void check_segments(const struct clf_transcript *transcript, double end, int is_timed)
{
    double last = 0;
    int64_t seek = 0;
    size_t size = 0;
    for (int i = 0; i < transcript->count; i++) {
        const struct clf_segment *segment = &transcript->segments[i];
        assert_true(segment->seek >= seek);
        assert_true(!is_timed || segment->start <= segment->end);
        assert_true(!is_timed || segment->start >= last || segment->seek > seek);
        assert_true(segment->end <= end + 30.001);
        assert_true(segment->avg_logprob < 0);
        assert_true(segment->no_speech_prob >= 0 && segment->no_speech_prob <= 1);
        assert_true((segment->token_count == 0) == (segment->text[0] == '\0'));
        last = segment->start;
        seek = segment->seek;
        size += strlen(segment->text);
    }
    assert_true(strlen(transcript->text) <= size + 16); /* split characters may be joined again */
}

static void test_options(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    const float *samples = make_samples(COUNT);
    for (int variant = 0; variant < 6; variant++) {
        struct clf_transcript *transcript;
        struct heard heard = {0};
        struct clf_transcribe_options options;
        clf_transcribe_options_init(&options);
        options.beam = variant % 3 + 1;
        options.timestamps = variant != 4;
        options.language = variant % 2 ? "pt" : NULL;
        options.translate = variant == 3;
        options.no_speech_threshold = variant == 1 ? NAN : 0.6;
        options.condition_on_previous = variant != 2;
        options.initial_prompt = variant == 5 ? " the heath\n" : NULL;
        options.prefix = variant == 5 ? "the" : NULL;
        options.segment = hear;
        options.progress = see;
        options.interrupted = ask;
        options.payload = &heard;
        assert_ok(transcribe(&transcript, model, &options, samples, COUNT));
        check_segments(transcript, SECONDS, options.timestamps);
        assert_int_equal(heard.segments, transcript->count);
        assert_true(heard.progress >= 2 && (int)heard.last == SECONDS && heard.asked > 2);
        assert_true(variant % 2 == 0 || strcmp(transcript->language, "pt") == 0);
        assert_int_equal(strlen(transcript->language), 2);
        clf_transcript_free(transcript);
    }
    clf_model_free(model);
}

/* Words form their segments' text, and have times within them. */
static void test_words(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    const float *samples = make_samples(COUNT);
    for (int variant = 0; variant < 3; variant++) {
        struct clf_transcript *transcript;
        struct clf_transcribe_options options;
        int words = 0;
        clf_transcribe_options_init(&options);
        options.beam = 1;
        options.no_speech_threshold = NAN;
        options.word_timestamps = 1;
        options.timestamps = variant != 1;
        options.language = "pt";
        options.hallucination_silence_threshold = variant == 2 ? 1 : 0;
        assert_ok(transcribe(&transcript, model, &options, samples, COUNT));
        assert_true(transcript->has_words);
        for (int i = 0; i < transcript->count; i++) {
            const struct clf_segment *segment = &transcript->segments[i];
            for (int k = 0; k < segment->word_count; k++) {
                const struct clf_word *word = &segment->words[k];
                assert_true(word->start >= 0 && word->start <= word->end && word->end <= SECONDS + 30);
                assert_true(word->probability >= 0 && word->probability <= 1);
                assert_true(word->text[0] != '\0');
                words++;
            }
            assert_true(segment->word_count == 0 || segment->text[0] != '\0');
        }
        assert_true(words > 0 || variant > 0); /* unconstrained times are arbitrary, and all may be
                                                  hallucinations */
        clf_transcript_free(transcript);
    }
    clf_model_free(model);
}

static void test_clips(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    const float *samples = make_samples(COUNT);
    const double clips[] = {36, 38, 2, 3.5, 1, 1, 39.5};
    struct clf_transcript *transcript;
    struct clf_transcribe_options options;
    clf_transcribe_options_init(&options);
    options.no_speech_threshold = NAN;
    options.clips = clips;
    options.clip_count = 7;
    assert_ok(transcribe(&transcript, model, &options, samples, COUNT));
    assert_true(transcript->count >= 3);
    int part = 0; /* in this order */
    for (int i = 0; i < transcript->count; i++) {
        static const int64_t parts[][2] = {{3600, 3800}, {200, 350}, {3950, SECONDS * 100}};
        int64_t seek = transcript->segments[i].seek;
        while (part < 3 && (seek < parts[part][0] || seek >= parts[part][1])) {
            part++;
        }
        assert_true(part < 3);
    }
    assert_int_equal(part, 2);
    clf_transcript_free(transcript);
    clf_model_free(model);
}

static void test_short(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    const float *samples = make_samples(COUNT);
    static const int counts[] = {0, 1, 159, 160, 161, 480000, 480001};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct clf_transcript *transcript;
        struct clf_transcribe_options options;
        clf_transcribe_options_init(&options);
        options.no_speech_threshold = NAN;
        options.beam = 1;
        assert_ok(transcribe(&transcript, model, &options, samples, counts[i]));
        assert_true((counts[i] >= 160) == (transcript->count > 0));
        clf_transcript_free(transcript);
    }
    clf_model_free(model);
}

static void test_refused(void **state)
{
    (void)state;
    struct clf_model *model = load_model(), *other;
    float *samples = make_samples(COUNT);
    struct clf_transcriber *transcriber;
    struct clf_transcript *transcript;
    struct heard heard = {.stop_at = 9};
    struct clf_transcribe_options options;
    const double falling[] = {3, 2}, out_of_range = 101;
    const int32_t id_out_of_range = 1774;
    clf_transcribe_options_init(&options);
    options.language = "xx";
    assert_fails(clf_transcriber_create(&transcriber, model, &options), CLF_BAD_ARGUMENT,
                 "unknown language \"xx\"");
    options.language = NULL;
    options.beam = 65;
    assert_fails(clf_transcriber_create(&transcriber, model, &options), CLF_BAD_ARGUMENT,
                 "beam: 65 is out of range; use 1 to 64");
    options.beam = 2;
    options.batch = 65;
    assert_fails(clf_transcriber_create(&transcriber, model, &options), CLF_BAD_ARGUMENT,
                 "batch: 65 is out of range; use 1 to 64");
    options.batch = 1;
    options.patience = NAN;
    assert_fails(clf_transcriber_create(&transcriber, model, &options), CLF_BAD_ARGUMENT, "patience: nan");
    options.patience = 1;
    options.clips = falling;
    options.clip_count = 2;
    assert_fails(clf_transcriber_create(&transcriber, model, &options), CLF_BAD_ARGUMENT, "clip 2");
    assert_null(transcriber);
    options.clip_count = 0;
    options.hallucination_silence_threshold = 2;
    assert_fails(clf_transcriber_create(&transcriber, model, &options), CLF_BAD_ARGUMENT,
                 "requires word timestamps");
    options.hallucination_silence_threshold = 0;
    options.temperatures = falling;
    assert_fails(clf_transcriber_create(&transcriber, model, &options), CLF_BAD_ARGUMENT,
                 "temperatures: 0 were given");
    options.temperatures = &out_of_range;
    options.temperature_count = 1;
    assert_fails(clf_transcriber_create(&transcriber, model, &options), CLF_BAD_ARGUMENT,
                 "temperature: 101 is out of range; use 0 to 100");
    options.temperatures = NULL;
    options.best_of = 0;
    assert_fails(clf_transcriber_create(&transcriber, model, &options), CLF_BAD_ARGUMENT, "best of: 0");
    options.best_of = 5;
    options.compression_ratio_threshold = 2;
    if (!clf__compression_is_known()) {
        assert_fails(clf_transcriber_create(&transcriber, model, &options), CLF_UNSUPPORTED, "without zlib");
    }
    options.compression_ratio_threshold = NAN;
    options.suppressed = &id_out_of_range;
    options.suppressed_count = 1;
    assert_fails(clf_transcriber_create(&transcriber, model, &options), CLF_BAD_ARGUMENT,
                 "suppressed id: 1774 is outside the vocabulary; use 0 to 1773");
    options.suppressed = NULL;
    options.hotwords = options.prefix = "a";
    assert_fails(clf_transcriber_create(&transcriber, model, &options), CLF_BAD_ARGUMENT,
                 "have no effect with a prefix");
    options.hotwords = options.prefix = NULL;
    options.interrupted = ask;
    options.payload = &heard;
    assert_fails(transcribe(&transcript, model, &options, samples, COUNT), CLF_INTERRUPTED, "interrupted");
    assert_null(transcript);
    heard.stop_at = 0;
    samples[20000] = NAN;
    assert_fails(transcribe(&transcript, model, &options, samples, COUNT), CLF_FORMAT, "is NaN or infinite");
    assert_ok(
        clf_model_load(&other, support_device(CLF_VARIANT_AUTO), support_fixture("models/whisper"), NULL));
    assert_fails(clf_transcriber_create(&transcriber, other, NULL), CLF_UNSUPPORTED,
                 "is a speech model other than Whisper; use `clformer translate` with the paths of "
                 "recordings as lines");
    clf_model_free(other);
    assert_ok(
        clf_model_load(&other, support_device(CLF_VARIANT_AUTO), support_fixture("models/marian"), NULL));
    assert_fails(clf_transcriber_create(&transcriber, other, NULL), CLF_UNSUPPORTED,
                 "is a text model; use `clformer translate`");
    assert_fails(clf_transcriber_create(&transcriber, NULL, NULL), CLF_BAD_ARGUMENT,
                 "model: is NULL; load one with clf_model_load()");
    clf_model_free(other);
    clf_model_free(model);
}

/* Silence, noise and clipped audio terminate with any model, and give no more text than windows allow. */
static void test_without_speech(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    struct support_random random = {5};
    enum { LENGTH = 31 * CLF_AUDIO_RATE };
    float *samples = support_array(LENGTH, sizeof *samples);
    for (int kind = 0; kind < 3; kind++) {
        struct clf_transcript *transcript;
        struct clf_transcribe_options options;
        clf_transcribe_options_init(&options);
        options.beam = 1;
        options.temperature_count = 0;
        for (int i = 0; i < LENGTH; i++) {
            samples[i] = kind == 0         ? 0
                         : kind == 1       ? support_uniform(&random)
                         : i / 40 % 2 == 0 ? 9.0F
                                           : -9.0F;
        }
        assert_ok(transcribe(&transcript, model, &options, samples, LENGTH));
        check_segments(transcript, 31, 1);
        clf_transcript_free(transcript);
    }
    clf_model_free(model);
}

/* Windows give the same results in sequence and in isolation. */
static void test_windows(void **state)
{
    (void)state;
    enum { BANDS = 80, SIZE = CLF__WINDOW_FRAMES * BANDS };
    struct clf__audio_windows windows = {0};
    struct clf__window_samples at;
    struct clf__window_maker *maker;
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    struct clf_audio *audio;
    struct clf__tensor y = support_tensor(device, CLF__F32, CLF__WINDOW_FRAMES, BANDS, NULL);
    assert_ok(clf_audio_open_samples(&audio, make_samples(COUNT), COUNT));
    assert_ok(clf__window_maker_create(&maker, device, BANDS));
    assert_ok(clf__audio_windows_begin(&windows, audio));
    windows.peak = -INFINITY;
    for (int64_t frame = 0; clf__audio_windows_has(&windows, frame); frame += CLF__WINDOW_FRAMES) {
        float peak;
        assert_ok(clf__audio_windows_read(&at, &windows, frame));
        assert_ok(clf__window_maker_measure(&peak, maker, &at));
        windows.peak = fmaxf(windows.peak, peak);
    }
    assert_ok(clf__audio_windows_end_measure(&windows));
    assert_int_equal(windows.frames, SECONDS * 100);
    assert_ok(clf__audio_windows_read(&at, &windows, 0));
    assert_ok(clf__window_maker_fill(maker, y, &at, CLF__WINDOW_FRAMES, windows.peak));
    const float *first = support_read(y);
    assert_ok(clf__audio_windows_read(&at, &windows, 2000));
    assert_ok(clf__window_maker_fill(maker, y, &at, SECONDS * 100 - 2000, windows.peak));
    const float *second = support_read(y);
    assert_memory_equal(second, first + 2000 * BANDS, (size_t)1000 * BANDS * sizeof *first);
    for (int i = (SECONDS * 100 - 2000) * BANDS; i < SIZE; i++) {
        assert_true(second[i] == 0);
    }
    assert_ok(clf__audio_windows_read(&at, &windows, 0));
    assert_ok(clf__window_maker_fill(maker, y, &at, CLF__WINDOW_FRAMES, windows.peak));
    assert_memory_equal(support_read(y), first, (size_t)SIZE * sizeof *first);
    clf__window_maker_free(maker);
    clf__free(windows.samples);
    clf_audio_free(audio);
}

static char *make_wav(const char *name, int count)
{
    const float *samples = make_samples(count);
    char *path = support_temporary_path(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    const uint32_t size = (uint32_t)count * 2;
    const uint32_t head[] = {0x46464952, size + 36, 0x45564157, 0x20746d66, 16,  0x00010001,
                             16000,      32000,     0x00100002, 0x61746164, size};
    fwrite(head, sizeof head, 1, file);
    for (int i = 0; i < count; i++) {
        int16_t value = (int16_t)lrintf(samples[i] * 32767);
        fwrite(&value, sizeof value, 1, file);
    }
    fclose(file);
    return path;
}

/* Each in a separate file, none of them a recording. */
static void check_formats(const char *always, const char *path)
{
    static const char *const endings[] = {"txt", "srt", "vtt", "tsv", "json"};
    const char *folder = support_temporary_folder(), *all = process_format("%s --format all", always);
    struct process_result result = run_clformer(NULL, process_format("%s -o %s %s", all, folder, path));
    assert_output(result, "");
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t size;
        process_read(folder, process_format("talk.one.%s", endings[i]), &size);
        assert_true(size > 0);
    }
    result = run_clformer(NULL, process_format("%s %s", all, path));
    assert_refused(result, 2, "--format all: writes several files; add --output FOLDER");
    result = run_clformer(NULL, process_format("%s --format vtt %s %s", always, path, path));
    assert_refused(result, 2, "need several files in this format; add --output FOLDER");
    assert_ok(clf__file_copy(process_format("%s/sound.txt", folder), path));
    result = run_clformer(NULL, process_format("%s -o %s %s/sound.txt", always, folder, folder));
    assert_refused(result, 2, "would overwrite the recording");
    result = run_clformer(NULL, process_format("%s --carry-initial-prompt %s", always, path));
    assert_refused(result, 2, "--carry-initial-prompt: requires --initial-prompt");
    result = run_clformer(NULL, process_format("%s --log-probability-threshold never %s", always, path));
    assert_refused(result, 2, "must be a number from -1000 to 1000 or none, not \"never\"");
    result =
        run_clformer(NULL, process_format("%s --log-probability-threshold none --no-speech-threshold none "
                                          "--compression-ratio-threshold none --max-initial-timestamp none "
                                          "--length-penalty 0.5 --language Portuguese %s",
                                          always, path));
    assert_int_equal(result.status, 0);
}

static void test_command(void **state)
{
    (void)state;
    char *path = make_wav("talk.one.wav", 4 * CLF_AUDIO_RATE), *folder = support_temporary_path("out");
    const char *always = process_format("transcribe -m %s --beam 1 --no-speech-threshold 1", tiny());
    struct process_result text = run_clformer(NULL, process_format("%s %s", always, path));
    assert_int_equal(text.status, 0);
    assert_true(strlen(text.output) > 0);
    struct process_result both =
        run_clformer(NULL, process_format("%s -o %s /nowhere.wav %s", always, folder, path));
    assert_int_equal(both.status, 1);
    assert_string_equal(both.output, "");
    assert_non_null(strstr(both.errors, "/nowhere.wav: cannot be opened"));
    size_t size;
    assert_string_equal(process_read(folder, "talk.one.txt", &size), text.output);
    struct process_result json = run_clformer(NULL, process_format("%s --format json %s", always, path));
    json_t *object = json_loads(json.output, 0, NULL);
    assert_true(json_array_size(json_object_get(object, "segments")) > 0);
    json_decref(object);
    struct process_result words = run_clformer(
        NULL, process_format("%s --word-timestamps --format vtt --highlight-words %s", always, path));
    assert_int_equal(words.status, 0);
    assert_non_null(strstr(words.output, "<u>"));
    struct process_result lines =
        run_clformer(NULL, process_format("%s --max-line-width 9 %s", always, path));
    assert_refused(lines, 2, "only with --word-timestamps and --format srt, vtt or all");
    check_formats(always, path);
    struct process_result clip = run_clformer(NULL, process_format("%s --clip 1,x %s", always, path));
    assert_refused(clip, 2, "--clip: must be times in seconds separated by commas");
    const char *hot =
        process_format("%s --format json --log-probability-threshold 0 --best-of 2 %s", always, path);
    struct process_result drawn = run_clformer(
        NULL, process_format("%s --temperature 0.3 --temperature-increment-on-fallback 0.5", hot));
    assert_non_null(strstr(drawn.output, "\"temperature\": 0.8"));
    drawn = run_clformer(NULL, process_format("%s --temperature 0.3,0.7", hot));
    assert_non_null(strstr(drawn.output, "\"temperature\": 0.7"));
    struct process_result cut = run_clformer(NULL, process_format("%s --temperature 0.3,", hot));
    assert_refused(cut, 2, "--temperature: must be numbers separated by commas");
    struct process_result half = run_clformer(NULL, process_format("%s --suppress-tokens 1,2.5", hot));
    assert_refused(half, 2, "--suppress-tokens: must be ids separated by commas, or -1, not \"1,2.5\"");
    char *longer = make_wav("talk.two.wav", 33 * CLF_AUDIO_RATE);
    const char *three = process_format("%s /nowhere.wav %s %s", longer, path, longer);
    struct process_result apart = run_clformer(NULL, process_format("%s %s", always, three));
    struct process_result together = run_clformer(NULL, process_format("%s --batch 3 %s", always, three));
    assert_string_equal(together.output, apart.output);
    assert_true(together.status == 1 && apart.status == 1);
    assert_true(strlen(apart.output) > 2 * strlen(text.output));
    apart = run_clformer(NULL, process_format("%s --format json %s", always, three));
    together = run_clformer(NULL, process_format("%s --format json --batch 2 %s", always, three));
    assert_string_equal(together.output, apart.output);
    struct process_result none = run_clformer(NULL, always);
    assert_refused(none, 2, "transcribe requires one or more recordings");
    struct process process = {.input = "\1\2\3\4", .input_size = 4};
    struct process_result raw = process_run(&process, process_format("%s --raw 8000 -", always));
    assert_int_equal(raw.status, 0); /* too short for a frame */
    assert_string_equal(raw.output, "");
}

#ifdef CLF_HAS_FFMPEG

/* A WAV file of floats with the samples of a recording. */
static char *decode(const char *recording)
{
    enum { MOST = 2 * CLF_AUDIO_RATE };
    float *samples = support_array(MOST, sizeof *samples);
    size_t count;
    struct clf_audio *audio;
    assert_ok(clf_audio_open(&audio, recording));
    assert_ok(clf_audio_read(samples, &count, audio, MOST));
    clf_audio_free(audio);
    const uint32_t size = (uint32_t)count * 4;
    const uint32_t head[] = {0x46464952, size + 36, 0x45564157, 0x20746d66, 16,  0x00010003,
                             16000,      64000,     0x00200004, 0x61746164, size};
    char *path = support_temporary_path("decoded.wav");
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(head, sizeof head, 1, file);
    fwrite(samples, sizeof *samples, count, file);
    fclose(file);
    return path;
}

/* A recording that FFmpeg reads, from a file or standard input, has the transcript of the WAV file with the
 * same samples. Messages of FFmpeg are not shown. */
static void test_ffmpeg(void **state)
{
    (void)state;
    static const char recording[] = CLF_SOURCE_FOLDER "/tests/fixtures/audio/tone.m4a";
    const char *always = process_format("transcribe -m %s --beam 1 --no-speech-threshold 1", tiny());
    struct process_result wav = run_clformer(NULL, process_format("%s %s", always, decode(recording)));
    assert_int_equal(wav.status, 0);
    assert_true(strlen(wav.output) > 0);
    struct process_result file = run_clformer(NULL, process_format("%s %s", always, recording));
    assert_output(file, wav.output);
    assert_string_equal(file.errors, "");
    size_t size;
    char *bytes = process_read(CLF_SOURCE_FOLDER "/tests/fixtures/audio", "tone.m4a", &size);
    struct process piped = {.input = bytes, .input_size = size};
    struct process_result pipe = process_run(&piped, process_format("%s -", always));
    assert_output(pipe, wav.output);
    piped.input_size = size / 2;
    struct process_result cut = process_run(&piped, process_format("%s -", always));
    assert_refused(cut, 1, "standard input: damaged or truncated (M4A and MP4): moov atom not found");
}

#endif

static void test_command_without_audio(void **state)
{
    (void)state;
    struct process_result result = run_clformer(NULL, process_format("transcribe -m %s a.wav", tiny()));
    assert_refused(result, 1, "built without libsndfile and soxr");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_options, support_teardown),
        cmocka_unit_test_teardown(test_words, support_teardown),
        cmocka_unit_test_teardown(test_clips, support_teardown),
        cmocka_unit_test_teardown(test_short, support_teardown),
        cmocka_unit_test_teardown(test_refused, support_teardown),
        cmocka_unit_test_teardown(test_without_speech, support_teardown),
        cmocka_unit_test_teardown(test_windows, support_teardown),
#ifdef CLF_HAS_FFMPEG
        cmocka_unit_test_teardown(test_ffmpeg, support_teardown),
#endif
        cmocka_unit_test_teardown(clf_audio_reads_files() ? test_command : test_command_without_audio,
                                  support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
