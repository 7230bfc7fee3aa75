/* Voice activity detection: the rules of faster-whisper, Silero's network, and the built-in detector on
 * generated sounds. */
#include <math.h>
#include <string.h>

#include <clformer/audio.h>
#include <jansson.h>

#include "audio/vad/detector.h"
#include "audio/vad/silero.h"
#include "base/file.h"
#include "base/memory.h"
#include "support/process.h"
#include "support/sounds.h"

enum { SECONDS = 12, COUNT = SECONDS * SOUNDS_RATE };

static json_t *load(const char *name)
{
    json_t *root = json_load_file(support_fixture(name), 0, NULL);
    assert_non_null(root);
    return root;
}

static double option(const json_t *object, const char *name, double otherwise)
{
    const json_t *value = json_object_get(object, name);
    return value != NULL ? json_number_value(value) : otherwise;
}

/* The spans of random probabilities are those of faster-whisper. */
static void test_spans(void **state)
{
    (void)state;
    json_t *cases = load("audio/vad/spans.json");
    size_t number;
    const json_t *each;
    json_array_foreach(cases, number, each)
    {
        const json_t *probabilities = json_object_get(each, "probabilities"),
                     *spans = json_object_get(each, "spans");
        size_t count = json_array_size(probabilities);
        float *values = support_array(count, sizeof *values);
        for (size_t i = 0; i < count; i++) {
            values[i] = (float)json_number_value(json_array_get(probabilities, i));
        }
        double threshold = option(each, "threshold", 0);
        const struct clf__speech_rules rules = {
            /* the fixture has three decimals, and thresholds have two */
            .threshold = threshold - 1e-4,
            .neg_threshold = option(each, "neg_threshold", fmax(threshold - 0.15, 0.01)) - 1e-4,
            .min_speech = option(each, "min_speech_duration_ms", 0) * 16,
            .min_silence = option(each, "min_silence_duration_ms", 0) * 16,
            .speech_pad = option(each, "speech_pad_ms", 0) * 16,
            .max_speech = option(each, "max_speech_duration_s", 0) * 16000,
        };
        struct clf__spans found = {0};
        assert_ok(
            clf__speech_find(&found, values, (int64_t)count, (int64_t)option(each, "samples", 0), &rules));
        assert_int_equal(found.count, json_array_size(spans));
        for (int i = 0; i < found.count; i++) {
            const json_t *span = json_array_get(spans, (size_t)i);
            assert_int_equal(found.data[i].start, json_integer_value(json_array_get(span, 0)));
            assert_int_equal(found.data[i].end, json_integer_value(json_array_get(span, 1)));
        }
        clf__spans_free(&found);
    }
    assert_int_equal(json_array_size(cases), 40);
    json_decref(cases);
}

/* Sample i of the recording of make_vad.py. */
static float sample(int i)
{
    double t = i;
    return (float)(0.6 * sin(t * (0.02 + t * 1e-6)) * sin(t * 0.0004));
}

/* The network of each published kind of file gives the probabilities of onnxruntime. */
static void test_networks(void **state)
{
    (void)state;
    static const char *const files[] = {"sequence.onnx", "branches.onnx", "named.onnx",
                                        "weights.safetensors"};
    json_t *expected = load("audio/vad/probabilities.json");
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        struct clf__silero *network;
        struct clf__silero_state now = {0};
        assert_ok(clf__silero_open(&network, support_fixture(process_format("audio/vad/%s", files[k]))));
        for (size_t chunk = 0; chunk < json_array_size(expected); chunk++) {
            float samples[CLF__VAD_CHUNK], probability;
            for (int i = 0; i < CLF__VAD_CHUNK; i++) {
                samples[i] = sample((int)chunk * CLF__VAD_CHUNK + i);
            }
            assert_ok(clf__silero_run(&probability, network, &now, samples));
            double wanted = json_number_value(json_array_get(expected, chunk));
            assert_true(fabs((double)probability - wanted) < 1e-5);
        }
        clf__silero_free(network);
    }
    assert_int_equal(json_array_size(expected), 60);
    json_decref(expected);
}

/* Writes the first `size` bytes of a fixture, with one byte changed, to a file; returns its path. */
static const char *change(const char *fixture, size_t size, size_t at, char byte)
{
    char *bytes;
    size_t whole;
    const char *path = process_format("%s/changed.onnx", support_temporary_folder());
    assert_ok(clf__file_read(&bytes, &whole, support_fixture(fixture), 1 << 20));
    size = size < whole ? size : whole;
    bytes[at] = byte;
    assert_ok(clf__file_write(path, bytes, size));
    clf__free(bytes);
    return path;
}

/* Returns the position of the last occurrence of a name, which is the one of the tensor. */
static size_t find_name(const char *fixture, const char *name)
{
    char *bytes;
    size_t size, length = strlen(name);
    assert_ok(clf__file_read(&bytes, &size, support_fixture(fixture), 1 << 20));
    size_t at = size - length;
    while (memcmp(bytes + at, name, length) != 0) {
        assert_true(at > 0);
        at--;
    }
    clf__free(bytes);
    return at;
}

static void test_bad_networks(void **state)
{
    (void)state;
    static const char file[] = "audio/vad/sequence.onnx";
    struct clf__silero *network;
    assert_fails(clf__silero_open(&network, "/nowhere/silero.onnx"), CLF_FILE, "/nowhere/silero.onnx");
    assert_null(network);
    assert_fails(clf__silero_open(&network, support_fixture("audio/tone.wma")), CLF_FORMAT,
                 "tone.wma: not an ONNX file");
    assert_fails(clf__silero_open(&network, support_fixture("speech/tiny/model.safetensors")), CLF_FORMAT,
                 "model.safetensors: is not a network for voice activity detection at 16 kHz; use");
    assert_fails(clf__silero_open(&network, change(file, 8000, 0, 8)), CLF_FORMAT,
                 "changed.onnx: not an ONNX file, or a field is truncated near byte");
    assert_fails(clf__silero_open(&network, change(file, 1 << 20, find_name(file, "conv1d.bias"), 'x')),
                 CLF_FORMAT, "changed.onnx: a tensor is missing; use");
    size_t weight = find_name(file, "onnx::LSTM_210");
    assert_fails(clf__silero_open(&network, change(file, 1 << 20, weight, 'p')), CLF_FORMAT,
                 "changed.onnx: a ");
}

/* Returns how many chunks of a recording the built-in detector takes for speech, from `first` to `end` in
 * seconds. */
static int count_speech(const float *samples, int count, double first, double end)
{
    struct clf__detector *detector;
    float *probabilities;
    int found = 0;
    assert_ok(clf__detector_create(&detector, NULL));
    for (int i = 0; i + CLF__VAD_CHUNK <= count; i += CLF__VAD_CHUNK) {
        assert_ok(clf__detector_add(detector, samples + i));
    }
    assert_ok(clf__detector_finish(&probabilities, detector));
    for (int i = 0; i < count / CLF__VAD_CHUNK; i++) {
        double at = (double)i * CLF__VAD_CHUNK / SOUNDS_RATE;
        assert_true(probabilities[i] >= 0 && probabilities[i] <= 1);
        found += at >= first && at < end && probabilities[i] >= 0.5F;
    }
    clf__free(probabilities);
    clf__detector_free(detector);
    return found;
}

/* Silence, noise, music and hum are not speech. */
static void test_no_speech(void **state)
{
    (void)state;
    for (int kind = 0; kind < 7; kind++) {
        float *samples = support_array(COUNT, sizeof *samples);
        if (kind == 1 || kind == 2) {
            sounds_add_noise(samples, COUNT, kind == 1 ? 0.3F : 0.001F);
        } else if (kind == 3) {
            sounds_add_music(samples, COUNT);
        } else if (kind == 6) {
            sounds_add_music(samples + COUNT / 3, COUNT / 3);
        } else if (kind >= 4) {
            sounds_add_hum(samples, COUNT);
            sounds_add_noise(samples, COUNT, kind == 4 ? 0.0F : 0.01F);
        }
        assert_int_equal(count_speech(samples, COUNT, 0, SECONDS), 0);
    }
}

/* Speech is found after silence, noise and hum, and between 4 and 8 s only. */
static void test_speech(void **state)
{
    (void)state;
    enum { FIRST = 4 * SOUNDS_RATE, LENGTH = 4 * SOUNDS_RATE, CHUNKS = LENGTH / CLF__VAD_CHUNK };
    for (int kind = 0; kind < 4; kind++) {
        float *samples = support_array(COUNT, sizeof *samples);
        sounds_add_speech(samples + FIRST, LENGTH, (uint64_t)kind + 1);
        if (kind == 1 || kind == 2) {
            sounds_add_noise(samples, COUNT, kind == 1 ? 0.01F : 0.03F);
        } else if (kind == 3) {
            sounds_add_hum(samples, COUNT);
        }
        assert_true(count_speech(samples, COUNT, 4, 8) > CHUNKS * 9 / 10);
        assert_int_equal(count_speech(samples, COUNT, 0, 3.5) + count_speech(samples, COUNT, 8.5, SECONDS),
                         0);
    }
    assert_int_equal(count_speech(NULL, 0, 0, 0), 0);
}

/* The share of the chunks of synthesised music that is taken for speech: at most 1 per cent, and 20 per cent
 * of strings with vibrato, whose harmonics move like those of a voice. */
static void test_music(void **state)
{
    (void)state;
    enum { LENGTH = 30 };
    for (int kind = 0; kind < 4; kind++) {
        float *samples = support_array((size_t)LENGTH * SOUNDS_RATE, sizeof *samples);
        sounds_add_chords(samples, LENGTH * SOUNDS_RATE, kind, 3);
        int found = count_speech(samples, LENGTH * SOUNDS_RATE, 0, LENGTH);
        assert_true(found <= LENGTH * SOUNDS_RATE / CLF__VAD_CHUNK / (kind == 2 ? 5 : 100));
    }
}

/* Finds the spans of speech of a recording, in seconds. */
static int find_spans(double (*out)[2], const float *samples, int count)
{
    const struct clf__speech_rules rules = {.threshold = 0.5,
                                            .neg_threshold = 0.35,
                                            .min_silence = 2.0 * SOUNDS_RATE,
                                            .speech_pad = 0.4 * SOUNDS_RATE,
                                            .max_speech = INFINITY};
    struct clf__detector *detector;
    struct clf__spans spans = {0};
    float *probabilities;
    int chunks = count / CLF__VAD_CHUNK;
    assert_ok(clf__detector_create(&detector, NULL));
    for (int i = 0; i < chunks; i++) {
        assert_ok(clf__detector_add(detector, samples + (size_t)i * CLF__VAD_CHUNK));
    }
    assert_ok(clf__detector_finish(&probabilities, detector));
    assert_ok(clf__speech_find(&spans, probabilities, chunks, count, &rules));
    for (int i = 0; i < spans.count && i < 8; i++) {
        out[i][0] = (double)spans.data[i].start / SOUNDS_RATE;
        out[i][1] = (double)spans.data[i].end / SOUNDS_RATE;
    }
    int found = spans.count;
    clf__spans_free(&spans);
    clf__free(probabilities);
    clf__detector_free(detector);
    return found;
}

/* Speech with long pauses of silence, noise or music: each part is one span, with times of the recording. */
static void test_pauses(void **state)
{
    (void)state;
    enum { PAUSE = 9, PART = 4, PARTS = 3, LENGTH = PARTS * (PAUSE + PART) + PAUSE };
    for (int kind = 0; kind < 3; kind++) {
        double spans[8][2];
        float *samples = support_array((size_t)LENGTH * SOUNDS_RATE, sizeof *samples);
        for (int i = 0; i <= PARTS; i++) {
            float *pause = samples + (size_t)i * (PAUSE + PART) * SOUNDS_RATE;
            if (kind == 1) {
                sounds_add_noise(pause, PAUSE * SOUNDS_RATE, 0.01F);
            } else if (kind == 2) {
                sounds_add_chords(pause, PAUSE * SOUNDS_RATE, 0, (uint64_t)i + 1);
            }
            if (i < PARTS) {
                sounds_add_speech(pause + PAUSE * SOUNDS_RATE, PART * SOUNDS_RATE, (uint64_t)i + 1);
            }
        }
        assert_int_equal(find_spans(spans, samples, LENGTH * SOUNDS_RATE), PARTS);
        for (int i = 0; i < PARTS; i++) {
            double start = i * (PAUSE + PART) + PAUSE, end = start + PART;
            assert_true(spans[i][0] > start - 1 && spans[i][0] < start + 0.1);
            assert_true(spans[i][1] > end - 0.1 && spans[i][1] < end + 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_spans, support_teardown),
        cmocka_unit_test_teardown(test_networks, support_teardown),
        cmocka_unit_test_teardown(test_bad_networks, support_teardown),
        cmocka_unit_test_teardown(test_no_speech, support_teardown),
        cmocka_unit_test_teardown(test_speech, support_teardown),
        cmocka_unit_test_teardown(test_music, support_teardown),
        cmocka_unit_test_teardown(test_pauses, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
