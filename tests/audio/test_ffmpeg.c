/* M4A, MP4, WebM, WMA and AAC: the samples equal those of the ffmpeg command (fixtures/audio/make.sh). Files
 * that are damaged, cut off, or hold no audio give warnings and errors. */
#include <clformer/audio.h>
#include <clformer/log.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "support/samples.h"
#include "support/support.h"

#ifdef CLF_HAS_FFMPEG

enum {
    LONGEST = 40000,
    FIRST = 8000,
    STORED = 1600
}; /* make.sh stores samples FIRST .. FIRST + STORED - 1 */

static const char *recording(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/tests/fixtures/audio/%s", CLF_SOURCE_FOLDER, name);
    return path;
}

static void check_samples(const float *samples, const char *name, double tolerance)
{
    char path[128];
    char *bytes;
    float expected[STORED];
    size_t size;
    snprintf(path, sizeof path, "%s.f32", name);
    assert_ok(clf__file_read(&bytes, &size, recording(path), 1 << 20));
    assert_int_equal(size, sizeof expected);
    memcpy(expected, bytes, size);
    clf__free(bytes);
    double worst = 0, loudest = 0;
    for (int i = 0; i < STORED; i++) {
        worst = fmax(worst, fabs((double)samples[FIRST + i] - (double)expected[i]));
        loudest = fmax(loudest, fabs((double)expected[i]));
    }
    assert_true(loudest > 0.1); /* the tone, not silence */
    if (worst > tolerance) {
        fail_msg("%s: %g from ffmpeg's samples, more than %g", name, worst, tolerance);
    }
}

/* The number of samples that make.sh printed. clformer and make.sh both resample by soxr, in blocks of other
 * sizes. */
static const struct {
    const char *name;
    int count;
    double tolerance;
} kinds[] = {
    {"tone.m4a", 19319, 1e-4}, {"tone.aac", 20480, 1e-7}, {"tone.webm", 19200, 1e-4},
    {"tone.wma", 18576, 1e-4}, {"film.mp4", 19319, 1e-4},
};

static void keep_message(clf_log_level level, const char *message, void *user)
{
    (void)level;
    snprintf(user, 300, "%s", message);
}

static void ignore_message(clf_log_level level, const char *message, void *user)
{
    (void)user, (void)level, (void)message;
}

static void test_decoded(void **state)
{
    (void)state;
    char message[300] = "";
    clf_log_set(keep_message, message);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        float *samples = support_array(LONGEST, sizeof *samples),
              *again = support_array(LONGEST, sizeof *again);
        struct clf_audio *audio;
        assert_ok(clf_audio_open(&audio, recording(kinds[i].name)));
        int count = support_read_samples(samples, LONGEST, audio);
        assert_in_range(count, kinds[i].count - 1, kinds[i].count + 1);
        check_samples(samples, kinds[i].name, kinds[i].tolerance);
        assert_ok(clf_audio_rewind(audio));
        assert_int_equal(support_read_samples(again, LONGEST, audio), count);
        assert_memory_equal(again, samples, (size_t)count * sizeof *samples);
        int64_t length = clf_audio_length(audio);
        assert_true(length == 0 || llabs(length - count) < CLF_AUDIO_RATE / 10);
        assert_string_equal(message, "");
        clf_audio_free(audio);
    }
    clf_log_set(NULL, NULL);
}

/* Standard input is the reading end of a pipe that holds the file. */
static int pipe_in(const char *name)
{
    int ends[2], saved = dup(STDIN_FILENO);
    char *bytes;
    size_t size;
    assert_ok(clf__file_read(&bytes, &size, recording(name), 1 << 20));
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], bytes, size), size); /* a pipe has room for 64 KiB */
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    clf__free(bytes);
    return saved;
}

static void test_pipes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        float *samples = support_array(LONGEST, sizeof *samples);
        struct clf_audio *audio;
        int saved = pipe_in(kinds[i].name);
        assert_ok(clf_audio_open(&audio, "-"));
        dup2(saved, STDIN_FILENO);
        close(saved);
        assert_in_range(support_read_samples(samples, LONGEST, audio), kinds[i].count - 1,
                        kinds[i].count + 1);
        check_samples(samples, kinds[i].name, kinds[i].tolerance);
        clf_audio_free(audio);
    }
}

/* A copy of the first part of a recording, in which noise takes the place of bytes from..to - 1. */
static void spoil(const char *path, const char *name, double part, size_t from, size_t to)
{
    char *bytes;
    size_t size;
    assert_ok(clf__file_read(&bytes, &size, recording(name), 1 << 20));
    assert_true(to <= size);
    for (size_t i = from; i < to; i++) {
        bytes[i] = (char)(i * 2654435761U >> 7);
    }
    assert_ok(clf__file_write(path, bytes, (size_t)((double)size * part)));
    clf__free(bytes);
}

static const char *copy(const char *name, double part, size_t from, size_t to)
{
    char *path = support_temporary_path(name);
    spoil(path, name, part, from, to);
    return path;
}

/* Reads a damaged recording twice: one warning, once. Returns how many samples it has. */
static int read_damaged(const char *path, const char *warning)
{
    char message[300] = "";
    float *samples = support_array(LONGEST, sizeof *samples);
    struct clf_audio *audio;
    clf_log_set(keep_message, message);
    assert_ok(clf_audio_open(&audio, path));
    int count = support_read_samples(samples, LONGEST, audio);
    if (strstr(message, warning) == NULL) {
        fail_msg("warned \"%s\", not \"%s\"", message, warning);
    }
    message[0] = '\0';
    assert_ok(clf_audio_rewind(audio));
    assert_int_equal(support_read_samples(samples, LONGEST, audio), count);
    assert_string_equal(message, "");
    clf_audio_free(audio);
    clf_log_set(NULL, NULL);
    return count;
}

static void test_damaged(void **state)
{
    (void)state;
    struct clf_audio *audio;
    assert_fails(clf_audio_open(&audio, copy("tone.m4a", 0.5, 0, 0)), CLF_FORMAT,
                 "tone.m4a: damaged or truncated (M4A and MP4): moov atom not found");
    assert_null(audio);
    read_damaged(copy("film.mp4", 0.6, 0, 0), "film.mp4: the file is damaged at 0.56 s and is read only up "
                                              "to there; its declared length is 1.20 s");
    read_damaged(copy("tone.webm", 0.6, 0, 0), "tone.webm: the file is damaged at 0.74 s and is read only up "
                                               "to there; its declared length is 1.21 s");
    read_damaged(copy("tone.wma", 0.6, 0, 0), "tone.wma: the file is damaged at 0.88 s and is read only up "
                                              "to there; its declared length is 1.21 s");
    read_damaged(copy("tone.aac", 0.6, 0, 0),
                 "tone.aac: the file is damaged at 0.77 s; data that cannot be decoded is skipped: ");
    int count = read_damaged(copy("tone.m4a", 1, 4000, 4400), "tone.m4a: the file is damaged at 0.6");
    assert_in_range(count, kinds[0].count / 2, kinds[0].count); /* what follows is read */
}

/* tone.aac, and after it the same frames with headers (ISO/IEC 13818-7, 6.2) that say 44,100 samples a
 * second. */
static void test_other_rate(void **state)
{
    (void)state;
    enum { RATE_BITS = 15 << 2, RATE_44100 = 4 << 2 };
    char *bytes, *path = support_temporary_path("two.aac");
    size_t size;
    assert_ok(clf__file_read(&bytes, &size, recording("tone.aac"), 1 << 20));
    assert_ok(clf__resize(&bytes, 2 * size, 1));
    unsigned char *frame = (unsigned char *)bytes + size;
    memcpy(frame, bytes, size);
    for (size_t at = 0, length; at < size; at += length) {
        assert_true(frame[at] == 0xff);
        length = (size_t)(frame[at + 3] & 3) << 11 | (size_t)frame[at + 4] << 3 | frame[at + 5] >> 5;
        frame[at + 2] = (unsigned char)((frame[at + 2] & ~RATE_BITS) | RATE_44100);
    }
    assert_ok(clf__file_write(path, bytes, 2 * size));
    clf__free(bytes);
    float *samples = support_array(LONGEST, sizeof *samples);
    struct clf_audio *audio;
    size_t count;
    assert_ok(clf_audio_open(&audio, path));
    assert_fails(clf_audio_read(samples, &count, audio, LONGEST), CLF_FORMAT,
                 "two.aac: the sample rate changes from 16000 to 44100 Hz at 1.28 s; convert the file with "
                 "ffmpeg -ar 16000");
    clf_audio_free(audio);
}

/* Files of noise in any place are read or refused. */
static void test_noise(void **state)
{
    (void)state;
    struct support_random random = {.state = 7};
    float *samples = support_array(LONGEST, sizeof *samples);
    char *path = support_temporary_path("noise");
    clf_log_set(ignore_message, NULL);
    for (int i = 0; i < (support_small() ? 60 : 600); i++) {
        struct clf_audio *audio;
        size_t count, from = (size_t)support_integer(&random, i % 2 == 0 ? 600 : 5000);
        spoil(path, kinds[i % 5].name, 1, from, from + 1 + (size_t)support_integer(&random, 60));
        clf_status status = clf_audio_open(&audio, path);
        if (status == CLF_OK) {
            status = clf_audio_read(samples, &count, audio, LONGEST);
            clf_audio_free(audio);
        }
        assert_true(status == CLF_OK || status == CLF_FORMAT);
    }
    clf_log_set(NULL, NULL);
}

static void check_refused(const char *path, clf_status status, const char *part)
{
    struct clf_audio *audio;
    assert_fails(clf_audio_open(&audio, path), status, part);
    assert_null(audio);
}

static void test_refused(void **state)
{
    (void)state;
    char *text = support_temporary_path("notes.m4a"), *list = support_temporary_path("list.m3u8");
    assert_ok(clf__file_write(text, "Just some words.\n", 17));
    char entries[5000];
    snprintf(entries, sizeof entries,
             "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:1,\nfile:%s\n#EXT-X-ENDLIST\n",
             recording("tone.aac"));
    assert_ok(clf__file_write(list, entries, strlen(entries)));
    check_refused(recording("silent.mp4"), CLF_FORMAT,
                  "silent.mp4: the file contains no audio (QuickTime / MOV)");
    check_refused(text, CLF_FORMAT,
                  "notes.m4a: not a supported recording such as WAV, FLAC, OGG, MP3 or M4A");
    check_refused(list, CLF_FORMAT, "list.m3u8: not a supported recording"); /* no list opens other files */
}

static void test_no_memory(void **state)
{
    (void)state;
    struct clf_audio *audio = NULL;
    int failures = 0;
    for (uint64_t n = 1; audio == NULL; n++, failures++) {
        clf__memory_fail_at(n);
        clf_status status = clf_audio_open(&audio, recording("tone.m4a"));
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
    assert_fails(clf_audio_open(&audio, CLF_SOURCE_FOLDER "/tests/fixtures/audio/tone.m4a"), CLF_UNSUPPORTED,
                 "tone.m4a: cannot be read (M4A and MP4): clformer was built without");
    assert_null(audio);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef CLF_HAS_FFMPEG
        cmocka_unit_test_teardown(test_decoded, support_teardown),
        cmocka_unit_test_teardown(test_pipes, support_teardown),
        cmocka_unit_test_teardown(test_damaged, support_teardown),
        cmocka_unit_test_teardown(test_other_rate, support_teardown),
        cmocka_unit_test_teardown(test_noise, support_teardown),
        cmocka_unit_test_teardown(test_refused, support_teardown),
        cmocka_unit_test_teardown(test_no_memory, support_teardown),
#else
        cmocka_unit_test_teardown(test_absent, support_teardown),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
