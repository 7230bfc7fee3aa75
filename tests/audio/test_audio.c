/* Recordings: every supported format, rates and channels, pipes, reading twice; and invalid files. libsndfile
 * writes the recordings here. */
#include <clformer/audio.h>
#include <clformer/log.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audio/decoder.h"
#include "base/file.h"
#include "base/memory.h"
#include "support/samples.h"
#include "support/support.h"

static void test_memory(void **state)
{
    (void)state;
    const float samples[] = {0.5F, -0.25F, 3.0F, -2.0F, NAN};
    float read[8];
    size_t count;
    struct clf_audio *audio;
    assert_ok(clf_audio_open_samples(&audio, samples, 5));
    assert_int_equal(clf_audio_length(audio), 5);
    for (int pass = 0; pass < 2; pass++) {
        assert_ok(clf_audio_read(read, &count, audio, 3));
        assert_int_equal(count, 3);
        assert_true(read[0] == 0.5F && read[1] == -0.25F && read[2] == 1.0F);
        assert_ok(clf_audio_read(read, &count, audio, 1));
        assert_true(count == 1 && read[0] == -1.0F);
        assert_fails(clf_audio_read(read, &count, audio, 8), CLF_FORMAT,
                     "samples: the sample at 0.00 s is NaN or infinite; record or convert the file again");
        assert_ok(clf_audio_rewind(audio));
    }
    clf_audio_free(audio);
    assert_ok(clf_audio_open_samples(&audio, NULL, 0));
    assert_ok(clf_audio_read(read, &count, audio, 8));
    assert_int_equal(count, 0);
    clf_audio_free(audio);
    clf_audio_free(NULL);
}

#ifdef CLF_HAS_AUDIO

#include <sndfile.h>

enum { LONGEST = 200000 };
#define PI 3.14159265358979323846

struct kind {
    const char *name;
    int format, rate, channels;
    double seconds;
    double noise; /* tolerance of samples, root mean square */
};

/* A tone of 440 Hz in the first channel, whose volume changes every second; the others are silent. */
static float tone(double second)
{
    return (float)((0.3 + 0.2 * floor(fmod(second, 3))) * sin(2 * PI * 440 * second));
}

static char *make_recording(const struct kind *kind)
{
    char *path = support_temporary_path(kind->name);
    SF_INFO info = {.samplerate = kind->rate, .channels = kind->channels, .format = kind->format};
    SNDFILE *file = sf_open(path, SFM_WRITE, &info);
    assert_non_null(file);
    int frames = (int)lround(kind->seconds * kind->rate);
    float *samples = support_array((size_t)frames * (size_t)kind->channels, sizeof *samples);
    for (int i = 0; i < frames; i++) {
        samples[i * kind->channels] = tone((double)i / kind->rate);
    }
    assert_int_equal(sf_writef_float(file, samples, frames), frames);
    sf_close(file);
    return path;
}

/* The distance from the tone, excluding its start, end and volume changes. */
static double distance(const float *samples, int count, int channels)
{
    double sum = 0;
    int compared = 0;
    for (int i = 0; i < count; i++) {
        int within = i % CLF_AUDIO_RATE;
        if (within > 800 && within < CLF_AUDIO_RATE - 800 && i < count - 800) {
            double off = (double)samples[i] - (double)tone((double)i / CLF_AUDIO_RATE) / channels;
            sum += off * off;
            compared++;
        }
    }
    return sqrt(sum / compared);
}

static void check_recording(struct clf_audio *audio, const struct kind *kind)
{
    float *samples = support_array(LONGEST, sizeof *samples), *again = support_array(LONGEST, sizeof *again);
    int count = support_read_samples(samples, LONGEST, audio),
        expected = (int)lround(kind->seconds * CLF_AUDIO_RATE);
    int is_mp3 = (kind->format & SF_FORMAT_TYPEMASK) == SF_FORMAT_MPEG; /* its ends are not kept exactly */
    assert_in_range(count, expected - (is_mp3 ? 2400 : 1), expected + (is_mp3 ? 2400 : 1));
    if (!is_mp3) {
        double off = distance(samples, count, kind->channels);
        if (off > kind->noise) {
            fail_msg("%s: %g from the tone, more than %g", kind->name, off, kind->noise);
        }
        assert_in_range(clf_audio_length(audio), expected - 1, expected + 1);
    }
    assert_ok(clf_audio_rewind(audio));
    assert_int_equal(support_read_samples(again, LONGEST, audio), count);
    assert_memory_equal(again, samples, (size_t)count * sizeof *samples);
}

static const struct kind kinds[] = {
    {"16.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1, 3.2, 2e-5},
    {"24.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_24, 16000, 1, 3.2, 1e-6},
    {"u8.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_U8, 16000, 1, 3.2, 6e-3},
    {"float.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 16000, 1, 3.2, 1e-7},
    {"telephone.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 8000, 1, 3.2, 1e-3},
    {"studio.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_24, 192000, 2, 2.5, 1e-3},
    {"odd.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 44100, 8, 3.2, 1e-3},
    {"slow.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 11025, 1, 3.2, 1e-3},
    {"stereo.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 44100, 2, 3.2, 1e-3},
    {"vorbis.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 44100, 1, 3.2, 2e-2},
    {"layer3.mp3", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, 44100, 1, 3.2, 0},
    {"10ms.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 48000, 1, 0.01, INFINITY},
    {"one_sample.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 1, 1.0 / 16000, INFINITY},
};

static void test_kinds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct clf_audio *audio;
        char *path = make_recording(&kinds[i]);
        assert_ok(clf_audio_open(&audio, path));
        assert_string_equal(clf_audio_name(audio), path);
        check_recording(audio, &kinds[i]);
        clf_audio_free(audio);
    }
}

/* Concatenates files. */
static char *concatenate(const char *name, char *const *paths, int count)
{
    char *all = NULL, *path = support_temporary_path(name);
    size_t total = 0;
    for (int i = 0; i < count; i++) {
        char *bytes;
        size_t size;
        assert_ok(clf__file_read(&bytes, &size, paths[i], 1 << 24));
        assert_ok(clf__resize(&all, total + size, 1));
        memcpy(all + total, bytes, size);
        total += size;
        clf__free(bytes);
    }
    assert_ok(clf__file_write(path, all, total));
    clf__free(all);
    return path;
}

/* All recordings in one file are read, each like a separate file. */
static void test_concatenated(void **state)
{
    (void)state;
    static const struct kind parts[][3] = {
        {{"a.mp3", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, 44100, 1, 3.2, 0},
         {"b.mp3", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, 44100, 1, 1.7, 0},
         {"c.mp3", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, 22050, 2, 2.1, 0}},
        {{"a.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 44100, 1, 3.2, 0},
         {"b.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 44100, 1, 1.7, 0},
         {"c.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 16000, 2, 2.1, 0}},
        {{"a.opus", SF_FORMAT_OGG | SF_FORMAT_OPUS, 48000, 1, 3.2, 0},
         {"b.opus", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 44100, 1, 1.7, 0},
         {"c.opus", SF_FORMAT_OGG | SF_FORMAT_OPUS, 16000, 2, 2.1, 0}},
        {{"a.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 44100, 1, 3.2, 0},
         {"b.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_24, 44100, 1, 1.7, 0},
         {"c.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 16000, 2, 2.1, 0}},
        {{"a.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 44100, 1, 3.2, 0},
         {"b.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 44100, 1, 1.7, 0},
         {"c.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 16000, 2, 2.1, 0}},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        float *expected = support_array(LONGEST, sizeof *expected),
              *all = support_array(LONGEST, sizeof *all);
        char *paths[3];
        int count = 0;
        int64_t length = 0;
        struct clf_audio *audio;
        for (int k = 0; k < 3; k++) {
            paths[k] = make_recording(&parts[i][k]);
            assert_ok(clf_audio_open(&audio, paths[k]));
            length += clf_audio_length(audio);
            count += support_read_samples(expected + count, LONGEST - count, audio);
            clf_audio_free(audio);
        }
        assert_ok(clf_audio_open(&audio, concatenate("all", paths, 3)));
        assert_int_equal(clf_audio_length(audio), length);
        for (int turn = 0; turn < 2; turn++) {
            assert_int_equal(support_read_samples(all, LONGEST, audio), count);
            assert_memory_equal(all, expected, (size_t)count * sizeof *all);
            assert_ok(clf_audio_rewind(audio));
        }
        clf_audio_free(audio);
    }
}

/* Starts a child that writes a file from an offset on to a pipe as standard input; returns the saved
   descriptor. */
static int pipe_in(const char *path, size_t offset)
{
    int ends[2], saved = dup(STDIN_FILENO);
    char *bytes;
    size_t size;
    assert_ok(clf__file_read(&bytes, &size, path, 1 << 24));
    assert_int_equal(pipe(ends), 0);
    if (fork() == 0) {
        close(ends[0]);
        for (ssize_t wrote = 1; offset < size && wrote > 0; offset += (size_t)wrote) {
            wrote = write(ends[1], bytes + offset, size - offset < 999 ? size - offset : 999);
        }
        _exit(0);
    }
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    clf__free(bytes);
    return saved;
}

static void pipe_out(int saved)
{
    dup2(saved, STDIN_FILENO);
    close(saved);
    wait(NULL);
}

static void test_pipes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct clf_audio *audio;
        int saved = pipe_in(make_recording(&kinds[i]), 0);
        assert_ok(clf_audio_open(&audio, "-"));
        pipe_out(saved);
        assert_string_equal(clf_audio_name(audio), "standard input");
        check_recording(audio, &kinds[i]);
        clf_audio_free(audio);
    }
}

static void test_raw(void **state)
{
    (void)state;
    struct clf_audio *audio;
    struct kind kind = kinds[0];
    kind.rate = 22050;
    kind.noise = 1e-3;
    char *path = make_recording(&kind);
    int saved = pipe_in(path, 44); /* behind the header */
    assert_ok(clf_audio_open_raw(&audio, "-", kind.rate));
    pipe_out(saved);
    check_recording(audio, &kind);
    clf_audio_free(audio);
    assert_fails(clf_audio_open_raw(&audio, path, 999), CLF_BAD_ARGUMENT, "use 1000 to 1000000 Hz");
    assert_null(audio);
}

static void test_not_a_number(void **state)
{
    (void)state;
    char *path = support_temporary_path("nan.wav");
    SF_INFO info = {.samplerate = 16000, .channels = 1, .format = SF_FORMAT_WAV | SF_FORMAT_FLOAT};
    SNDFILE *file = sf_open(path, SFM_WRITE, &info);
    float *samples = support_array(LONGEST, sizeof *samples);
    samples[24000] = NAN;
    sf_writef_float(file, samples, 32000);
    sf_close(file);
    struct clf_audio *audio;
    size_t count;
    assert_ok(clf_audio_open(&audio, path));
    assert_fails(clf_audio_read(samples, &count, audio, 32000), CLF_FORMAT,
                 "nan.wav: the sample at 1.50 s is NaN or infinite; record or convert the file again");
    clf_audio_free(audio);
}

/* Samples above full scale are clipped, as from memory. */
static void test_clipped(void **state)
{
    (void)state;
    char *path = support_temporary_path("loud.wav");
    SF_INFO info = {.samplerate = 16000, .channels = 1, .format = SF_FORMAT_WAV | SF_FORMAT_FLOAT};
    SNDFILE *file = sf_open(path, SFM_WRITE, &info);
    float *samples = support_array(LONGEST, sizeof *samples);
    for (int i = 0; i < 16000; i++) {
        samples[i] = i % 2 == 0 ? 5.0F : -7.0F;
    }
    sf_writef_float(file, samples, 16000);
    sf_close(file);
    struct clf_audio *audio;
    size_t count;
    assert_ok(clf_audio_open(&audio, path));
    assert_ok(clf_audio_read(samples, &count, audio, LONGEST));
    assert_int_equal(count, 16000);
    for (int i = 0; i < 16000; i++) {
        assert_true(samples[i] == (i % 2 == 0 ? 1.0F : -1.0F));
    }
    clf_audio_free(audio);
}

static const char *cut(const struct kind *kind, double part, const char *name)
{
    char *bytes, *path = support_temporary_path(name);
    size_t size;
    assert_ok(clf__file_read(&bytes, &size, make_recording(kind), 1 << 24));
    assert_ok(clf__file_write(path, bytes, (size_t)((double)size * part)));
    clf__free(bytes);
    return path;
}

static void keep_message(clf_log_level level, const char *message, void *user)
{
    (void)level;
    snprintf(user, 200, "%s", message);
}

/* A recorder that was stopped wrote no length. */
static const char *stop(const struct kind *kind, const char *name)
{
    char *bytes, *path = support_temporary_path(name);
    size_t size, at = 0;
    assert_ok(clf__file_read(&bytes, &size, make_recording(kind), 1 << 24));
    while (memcmp(bytes + at, "data", 4) != 0) {
        at++;
    }
    memset(bytes + at + 4, 0, 4);
    assert_ok(clf__file_write(path, bytes, size));
    clf__free(bytes);
    return path;
}

static void test_cut_off(void **state)
{
    (void)state;
    struct clf_audio *audio;
    float *samples = support_array(LONGEST, sizeof *samples);
    size_t count;
    assert_ok(clf_audio_open(&audio, cut(&kinds[8], 0.5, "cut.flac")));
    clf_status status = clf_audio_read(samples, &count, audio, LONGEST);
    assert_fails(status, CLF_FORMAT, "cut.flac: the file is ");
    clf_audio_free(audio);
    /* A WAV file's header may declare any length: the actual data counts, with a warning. */
    char message[200] = "";
    clf_log_set(keep_message, message);
    assert_ok(clf_audio_open(&audio, cut(&kinds[0], 0.5, "cut.wav")));
    assert_ok(clf_audio_read(samples, &count, audio, LONGEST));
    assert_in_range(count, 25500, 25600);
    clf_audio_free(audio);
    assert_non_null(
        strstr(message, "cut.wav: the file is truncated; it contains 1.60 s of the declared 3.20 s"));
    message[0] = '\0';
    assert_ok(clf_audio_open(&audio, make_recording(&kinds[1])));
    clf_audio_free(audio);
    assert_string_equal(message, "");
    clf_log_set(NULL, NULL);
    assert_fails(clf_audio_open(&audio, stop(&kinds[0], "stopped.wav")), CLF_FORMAT,
                 "stopped.wav: the header declares no samples, but 102400 bytes follow");
}

static void test_refused(void **state)
{
    (void)state;
    struct clf_audio *audio;
    struct kind silent = kinds[0];
    silent.seconds = 0;
    char *text = support_temporary_path("notes.wav"), *empty = support_temporary_path("empty.wav");
    assert_ok(clf__file_write(text, "Just some words.\n", 17));
    assert_ok(clf__file_write(empty, "", 0));
    assert_fails(clf_audio_open(&audio, text), CLF_FORMAT, "notes.wav: not a supported recording");
    assert_null(audio);
    assert_fails(clf_audio_open(&audio, empty), CLF_FORMAT, "empty.wav: is empty");
    assert_fails(clf_audio_open(&audio, make_recording(&silent)), CLF_FORMAT,
                 "16.wav: the file contains no samples; use another recording");
    assert_fails(clf_audio_open(&audio, "/nowhere/a.wav"), CLF_FILE, "/nowhere/a.wav: cannot be opened");
    assert_fails(clf_audio_open(&audio, "/dev/zero"), CLF_FILE, "/dev/zero: neither a file nor a pipe");
    assert_fails(clf_audio_open(&audio, support_temporary_folder()), CLF_FILE, "neither a file nor a pipe");
    assert_fails(clf_audio_open_raw(&audio, empty, 16000), CLF_FORMAT, "empty.wav: is empty");
}

static void test_no_memory(void **state)
{
    (void)state;
    char *path = make_recording(&kinds[8]);
    struct clf_audio *audio = NULL;
    int failures = 0;
    for (uint64_t n = 1; audio == NULL; n++, failures++) {
        clf__memory_fail_at(n);
        clf_status status = clf_audio_open(&audio, path);
        clf__memory_fail_at(0);
        assert_true(status == CLF_OK || (status == CLF_OUT_OF_MEMORY && audio == NULL));
    }
    assert_true(failures > 4);
    clf_audio_free(audio);
}

#else

static void test_absent(void **state)
{
    (void)state;
    struct clf_audio *audio;
    assert_fails(clf_audio_open(&audio, "a.wav"), CLF_UNSUPPORTED,
                 "a.wav: clformer was built without libsndfile and soxr");
    assert_null(audio);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_memory, support_teardown),
#ifdef CLF_HAS_AUDIO
        cmocka_unit_test_teardown(test_concatenated, support_teardown),
        cmocka_unit_test_teardown(test_kinds, support_teardown),
        cmocka_unit_test_teardown(test_pipes, support_teardown),
        cmocka_unit_test_teardown(test_raw, support_teardown),
        cmocka_unit_test_teardown(test_not_a_number, support_teardown),
        cmocka_unit_test_teardown(test_clipped, support_teardown),
        cmocka_unit_test_teardown(test_cut_off, support_teardown),
        cmocka_unit_test_teardown(test_refused, support_teardown),
        cmocka_unit_test_teardown(test_no_memory, support_teardown),
#else
        cmocka_unit_test_teardown(test_absent, support_teardown),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
