/* FFmpeg's libraries are loaded at the first recording that needs them. If that fails, the error names the
 * library, the package and the command that converts the recording. */
#include <clformer/audio.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "support/process.h"

#ifdef CLF_HAS_FFMPEG

#include <libavformat/version_major.h>

#define RECORDING CLF_SOURCE_FOLDER "/tests/fixtures/audio/tone.m4a"

static const char *soname(void)
{
    return process_format("libavformat.so.%d", LIBAVFORMAT_VERSION_MAJOR);
}

static int is_loaded(void)
{
    void *library = dlopen(soname(), RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) {
        dlclose(library);
    }
    return library != NULL;
}

static void *open_recording(void *failed)
{
    struct clf_audio *audio;
    *(int *)failed = clf_audio_open(&audio, RECORDING) != CLF_OK;
    clf_audio_free(audio);
    return NULL;
}

static void test_first_use(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    int failed[THREADS];
    assert_false(is_loaded());
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, open_recording, &failed[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(failed[i], 0);
    }
    assert_true(is_loaded());
}

/* Opens the file and prints the error; test_failures() runs this program with the path. */
static int say_opened(const char *path)
{
    struct clf_audio *audio;
    clf_status status = clf_audio_open(&audio, path);
    clf_audio_free(audio);
    printf("%s\n", status != CLF_OK ? clf_last_error() : "opened");
    return (int)status;
}

/* Opens a file where `library` is the first libavformat that the dynamic linker finds. */
static void check_failure(const char *library, const char *path, clf_status status, const char *part)
{
    const char *folder = support_temporary_path("libraries"), *others = getenv("LD_LIBRARY_PATH");
    const char *link = process_format("%s/%s", folder, soname());
    assert_ok(clf__folder_create(folder));
    unlink(link);
    assert_int_equal(symlink(library, link), 0);
    struct process process = {.program = "/proc/self/exe",
                              .environment =
                                  process_format("LD_LIBRARY_PATH=%s%s%s", folder, others != NULL ? ":" : "",
                                                 others != NULL ? others : "")};
    struct process_result result = process_run(&process, path);
    assert_int_equal(result.status, status);
    if (strstr(result.output, part) == NULL) {
        fail_msg("\"%s\" instead of \"%s\"", result.output, part);
    }
}

static void test_failures(void **state)
{
    (void)state;
    char *text = support_temporary_path("notes.txt");
    const char *package = process_format("; Debian package libavformat%d)", LIBAVFORMAT_VERSION_MAJOR);
    const char *command =
        process_format("ffmpeg -i '%s' -f wav - | clformer transcribe -m MODEL -", RECORDING);
    assert_ok(clf__file_write(text, "no library", 10));
    check_failure(text, RECORDING, CLF_UNSUPPORTED,
                  "tone.m4a: cannot be read (M4A and MP4): FFmpeg's libraries cannot be loaded (");
    check_failure(text, RECORDING, CLF_UNSUPPORTED,
                  process_format("/%s: file too short%s; run: %s", soname(), package, command));
    check_failure(
        process_format("%s/tests/haswell.so", CLF_BUILD_FOLDER), RECORDING, CLF_UNSUPPORTED,
        process_format("/%s: undefined symbol: av_find_best_stream%s; run: %s", soname(), package, command));
    check_failure(
        text, text, CLF_FORMAT,
        process_format("%s; if ffmpeg can decode the file, run: ffmpeg -i '%s' -f wav -", package, text));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_first_use, support_teardown),
        cmocka_unit_test_teardown(test_failures, support_teardown),
    };
    return argc > 1 ? say_opened(argv[1]) : cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0; /* tests/audio/test_no_ffmpeg.c tests a build without FFmpeg */
}

#endif
