/* `clformer transcribe`: errors are reported once. */
#include <signal.h>
#include <string.h>

#include "base/file.h"
#include "support/process.h"

/* A call for two seconds of headerless audio, which every build reads. */
static const char *call(const char *folder, const char *flags)
{
    char sound[2 * 2 * 16000];
    for (size_t i = 0; i < sizeof sound; i++) {
        sound[i] = (char)(i * i % 251);
    }
    process_write(folder, "sound", sound, sizeof sound);
    return process_format("transcribe -m %s --beam 1 --temperature 0 --raw 16000 %s %s/sound",
                          support_fixture("speech/tiny"), flags, folder);
}

static void test_full_disk(void **state)
{
    (void)state;
    struct process full = {.output_path = "/dev/full"};
    const char *folder = support_temporary_folder();
    struct process_result result = process_run(&full, call(folder, "--format json"));
    assert_refused(result, 1, "clformer: standard output: cannot be written: No space left on device");
}

/* At any moment, as in other verbs. */
static void test_interrupt(void **state)
{
    (void)state;
    struct process stopped = {.signal_when_started = SIGINT};
    struct process_result result = process_run(&stopped, call(support_temporary_folder(), "--verbose"));
    assert_int_equal(result.status, 128 + SIGINT);
    assert_null(strstr(result.errors, "interrupted by the caller"));
}

static void test_output_is_a_file(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    const char *flags = process_format("-o %s/sound", folder);
    struct process_result result = run_clformer(NULL, call(folder, flags));
    assert_refused(result, 1, "/sound: is not a folder");
}

/* -o creates the folders that it names, and leaves no empty one. */
static void test_folders(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    const char *flags = process_format("--clip 0,1 -o %s/made/deep", folder);
    struct process stopped = {.signal_when_started = SIGINT};
    struct process_result result = process_run(&stopped, call(folder, process_format("--verbose %s", flags)));
    assert_int_equal(result.status, 128 + SIGINT);
    assert_false(clf__folder_exists(process_format("%s/made", folder)));
    result = run_clformer(NULL, process_format("transcribe -m %s --beam 1 -o %s/made/deep %s/none.wav",
                                               support_fixture("speech/tiny"), folder, folder));
    assert_int_equal(result.status, 1);
    assert_false(clf__folder_exists(process_format("%s/made", folder)));
    result = run_clformer(NULL, call(folder, flags));
    assert_output(result, "");
    assert_true(clf__file_exists(process_format("%s/made/deep/sound.txt", folder)));
}

/* Noise is not speech, by the built-in detector; a network of random weights may be of another opinion. The
 * number of windows side by side does not change the transcript. */
static void test_windows(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder(), *texts[2];
    struct process_result result = run_clformer(NULL, call(folder, "--format json --language pt --vad"));
    assert_output(result, "{\"text\": \"\", \"segments\": [], \"language\": \"pt\"}\n");
    for (int i = 0; i < 2; i++) {
        const char *flags =
            process_format("--format json --no-speech-threshold none --batch-windows %d", 1 + 2 * i);
        result = run_clformer(NULL, call(folder, flags));
        assert_int_equal(result.status, 0);
        texts[i] = result.output;
    }
    assert_string_equal(texts[0], texts[1]);
    assert_non_null(strstr(texts[0], "\"seek\": 0"));
    const char *flags =
        process_format("--vad --vad-threshold 0 --vad-model %s", support_fixture("audio/vad/sequence.onnx"));
    result = run_clformer(NULL, call(folder, flags));
    assert_int_equal(result.status, 0);
    result = run_clformer(NULL, call(folder, "--vad --vad-model none.onnx"));
    assert_refused(result, 1, "clformer: none.onnx: cannot be opened");
}

/* Text for a speech model, and vice versa: the message names the right verb. */
static void test_the_other_verb(void **state)
{
    (void)state;
    struct process_result result =
        run_clformer("hello\n", process_format("translate -m %s", support_fixture("speech/tiny")));
    assert_int_equal(result.status, 1);
    assert_string_equal(result.output, "\n");
    assert_string_equal(result.errors,
                        "clformer: line 1: hello: cannot be opened: No such file or directory; this model "
                        "reads recordings: each line must be the path of a recording or of frames in an .npy "
                        "file; use `clformer transcribe` for recordings of any length\n");
    result = run_clformer("hello\n", process_format("translate -m %s", support_fixture("models/speech")));
    assert_non_null(strstr(result.errors, "this model reads recordings"));
    assert_null(strstr(result.errors, "transcribe"));
    result = run_clformer(NULL, "transcribe -m " DEMO_MODEL " nothing.wav");
    assert_refused(result, 1, "is a text model; use `clformer translate`");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_full_disk, support_teardown),
        cmocka_unit_test_teardown(test_interrupt, support_teardown),
        cmocka_unit_test_teardown(test_folders, support_teardown),
        cmocka_unit_test_teardown(test_windows, support_teardown),
        cmocka_unit_test_teardown(test_the_other_verb, support_teardown),
        cmocka_unit_test_teardown(test_output_is_a_file, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
