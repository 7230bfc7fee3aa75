/* A build without FFmpeg's libraries says how the ffmpeg command converts a recording. This program holds
 * lib/audio/ffmpeg.c as it is compiled without FFmpeg. */
#include <clformer/audio.h>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "support/support.h"

#ifdef CLF_HAS_AUDIO

static void check(const char *path, clf_status status, const char *part)
{
    struct clf_audio *audio;
    assert_fails(clf_audio_open(&audio, path), status, part);
    assert_null(audio);
}

static void test_containers(void **state)
{
    (void)state;
    static const struct {
        const char *file, *kind;
    } kinds[] = {
        {"tone.m4a", "M4A and MP4"}, {"film.mp4", "M4A and MP4"}, {"tone.webm", "WebM and Matroska"},
        {"tone.wma", "WMA"},         {"tone.aac", "AAC"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char path[4096], part[9000];
        snprintf(path, sizeof path, "%s/tests/fixtures/audio/%s", CLF_SOURCE_FOLDER, kinds[i].file);
        snprintf(part, sizeof part,
                 "%s: cannot be read (%s): clformer was built without FFmpeg's libraries; run: "
                 "ffmpeg -i '%s' -f wav - | clformer transcribe -m MODEL -",
                 path, kinds[i].kind, path);
        check(path, CLF_UNSUPPORTED, part);
    }
}

static void test_standard_input(void **state)
{
    (void)state;
    int saved = dup(STDIN_FILENO), file = open(CLF_SOURCE_FOLDER "/tests/fixtures/audio/tone.m4a", O_RDONLY);
    dup2(file, STDIN_FILENO);
    close(file);
    check("-", CLF_UNSUPPORTED, "run: ffmpeg -i '-' -f wav - | clformer transcribe -m MODEL -");
    dup2(saved, STDIN_FILENO);
    close(saved);
}

static void test_others(void **state)
{
    (void)state;
    char *text = support_temporary_path("Anne's notes.wav");
    assert_ok(clf__file_write(text, "Just some words.\n", 17));
    check(text, CLF_FORMAT, "Anne's notes.wav: not a supported recording such as WAV, FLAC, OGG or MP3 (");
    check(text, CLF_FORMAT,
          "); clformer was built without FFmpeg's libraries; if ffmpeg can decode the file, run: ffmpeg -i "
          "'FILE' -f "
          "wav - | clformer transcribe -m MODEL -");
}

#else

/* Without libsndfile nothing is read at all: tests/audio/test_audio.c. */
static void test_no_audio(void **state)
{
    (void)state;
    assert_false(clf_audio_reads_files());
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef CLF_HAS_AUDIO
        cmocka_unit_test_teardown(test_containers, support_teardown),
        cmocka_unit_test_teardown(test_standard_input, support_teardown),
        cmocka_unit_test_teardown(test_others, support_teardown),
#else
        cmocka_unit_test_teardown(test_no_audio, support_teardown),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
