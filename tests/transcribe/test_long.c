/* Hours of a recording need no more memory than a minute of it. */
#include "transcribe/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/process.h"

enum { HEADER = 44, MINUTE = 60, HOUR = 3600, MOST_GROWTH_KIB = 32 * 1024 }; /* an hour is at least 112 MiB */

/* AddressSanitizer keeps freed memory, which would count. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=1:thread_local_quarantine_size_kb=64";
}

/* Silence: a sparse file. */
static const char *make_silence(const char *folder, int seconds)
{
    const char *path = process_format("%s/%d.wav", folder, seconds);
    uint32_t data = 2 * CLF_AUDIO_RATE * (uint32_t)seconds, whole = data + HEADER - 8;
    char header[HEADER + 1] = "RIFF....WAVEfmt \x10\0\0\0\1\0\1\0\x80\x3e\0\0\0\x7d\0\0\2\0\x10\0data....";
    memcpy(header + 4, &whole, sizeof whole);
    memcpy(header + 40, &data, sizeof data);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(header, 1, HEADER, file), HEADER);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(truncate(path, (off_t)data + HEADER), 0);
    return path;
}

/* A file, or a pipe, which cannot be rewound. */
static struct clf_audio *open_silence(const char *path, int is_pipe)
{
    struct clf_audio *audio;
    if (!is_pipe) {
        assert_ok(clf_audio_open(&audio, path));
        return audio;
    }
    FILE *pipe = popen(process_format("cat '%s'", path), "r");
    assert_non_null(pipe);
    int input = dup(STDIN_FILENO);
    assert_true(dup2(fileno(pipe), STDIN_FILENO) >= 0);
    assert_ok(clf_audio_open_raw(&audio, "-", CLF_AUDIO_RATE));
    assert_true(dup2(input, STDIN_FILENO) >= 0);
    close(input);
    assert_int_equal(pclose(pipe), 0);
    return audio;
}

/* The peak memory of this process, in KiB, after transcribing the last seconds of a recording of
   `seconds`. */
static long peak_after(struct clf_model *model, const char *folder, int seconds, int is_pipe)
{
    struct clf_transcript *transcript;
    struct clf_transcriber *transcriber;
    struct clf_transcribe_options options;
    const double clips[] = {seconds - 40};
    clf_transcribe_options_init(&options);
    options.language = "pt";
    options.beam = 1;
    options.temperature_count = 0;
    options.clips = clips;
    options.clip_count = 1;
    struct clf_audio *audio = open_silence(make_silence(folder, seconds), is_pipe);
    assert_ok(clf_transcriber_create(&transcriber, model, &options));
    assert_ok(clf_transcribe(&transcript, transcriber, audio));
    assert_true(transcript->count == 0 || transcript->segments[0].start >= seconds - 40);
    clf_transcript_free(transcript);
    clf_transcriber_free(transcriber);
    clf_audio_free(audio);
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

static void test_memory(void **state)
{
    (void)state;
    if (!clf_audio_reads_files()) {
        skip();
    }
    const char *folder = support_temporary_folder();
    struct clf_model *model = load_model();
    for (int is_pipe = 0; is_pipe < 2; is_pipe++) {
        long minute = peak_after(model, folder, MINUTE, is_pipe),
             hour = peak_after(model, folder, HOUR, is_pipe);
        assert_true(hour - minute < MOST_GROWTH_KIB);
    }
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_memory, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
