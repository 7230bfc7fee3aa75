/* `clformer transcribe --follow`: streams from files and pipes, all formats, and the end by a signal. */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "support/process.h"
#include "text/tokenizers/speech.h"
#include "transcribe/cues.h"

enum { RATE = 16000, SECONDS = 5, SECOND_BYTES = 2 * RATE, MOST_TEXT = 1 << 14 };

#define FLAGS "--beam 1 --temperature 0 --temperature-increment-on-fallback 0 --no-speech-threshold none"

static const char *call(const char *flags, const char *path)
{
    return process_format("transcribe -q -m %s " FLAGS " --follow --raw 16000 %s %s",
                          support_fixture("speech/tiny"), flags, path);
}

/* Writes five seconds of changing tones to a file; returns its samples. */
static const int16_t *write_sound(const char *folder)
{
    int16_t *samples = support_array(SECONDS * RATE, sizeof *samples);
    for (int i = 0; i < SECONDS * RATE; i++) {
        double t = (double)i / RATE;
        samples[i] = (int16_t)lrint(9000 * sin(6.2832 * (200 + 70 * floor(2 * t)) * t));
    }
    process_write(folder, "sound", samples, SECONDS * SECOND_BYTES);
    return samples;
}

/* Returns the concatenated texts of the events of a type. */
static const char *join(const char *lines, const char *type)
{
    char *text = support_array(MOST_TEXT, 1);
    for (const char *line = lines; *line != '\0'; line = strchr(line, '\n') + 1) {
        json_t *event = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
        assert_non_null(event);
        if (strcmp(json_string_value(json_object_get(event, "type")), type) == 0) {
            strcat(text, json_string_value(json_object_get(event, "text")));
        }
        json_decref(event);
    }
    return text;
}

/* Returns the text of the first segment as a line, without white space at its start. */
static const char *first_segment(const char *lines)
{
    size_t size;
    for (const char *line = lines;; line = strchr(line, '\n') + 1) {
        json_t *event = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
        char *text = process_format("%s", json_string_value(json_object_get(event, "text")));
        int is_segment = strcmp(json_string_value(json_object_get(event, "type")), "segment") == 0;
        json_decref(event);
        if (is_segment) {
            clf__line_breaks_remove(text);
            return process_format("%s\n", clf__speech_strip(&size, text));
        }
    }
}

/* Every format has the same segments; words are part of one. */
static void test_formats(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder(), *path = process_format("%s/sound", folder);
    write_sound(folder);
    struct process_result json = run_clformer(NULL, call("--format json", path)),
                          text = run_clformer(NULL, call("", path)),
                          srt = run_clformer(NULL, call("--format srt", path)),
                          vtt = run_clformer(NULL, call("--format vtt", path)),
                          tsv = run_clformer(NULL, call("--format tsv", path));
    int count = process_count(json.output, "\"segment\"");
    assert_int_equal(json.status | text.status | srt.status | vtt.status | tsv.status, 0);
    assert_true(count > 0);
    const char *joined = join(json.output, "segment");
    assert_string_equal(joined, join(json.output, "words"));
    assert_int_equal(process_count(text.output, "\n"), count);
    const char *line = first_segment(json.output);
    assert_memory_equal(text.output, line, strlen(line));
    assert_int_equal(process_count(srt.output, " --> "), count);
    assert_memory_equal(srt.output, "1\n00:00:", 8);
    assert_true(count < 2 || strstr(srt.output, "\n\n2\n00:00:") != NULL);
    assert_memory_equal(vtt.output, "WEBVTT\n\n00:", 11);
    assert_int_equal(process_count(vtt.output, " --> "), count);
    assert_int_equal(process_count(vtt.output, "WEBVTT"), 1);
    assert_memory_equal(tsv.output, "start\tend\ttext\n", 15);
    assert_int_equal(process_count(tsv.output, "\n"), count + 1);
}

/* Reads lines up to the unstable words of a second. */
static void read_second(struct coprocess *command, char *lines, int second)
{
    for (int is_last = 0; !is_last;) {
        const char *line = coprocess_read_line(command);
        json_t *event = json_loads(line, 0, NULL);
        assert_non_null(event);
        is_last = strcmp(json_string_value(json_object_get(event, "type")), "unstable") == 0 &&
                  json_number_value(json_object_get(event, "received")) >= second;
        json_decref(event);
        strcat(lines, line);
    }
}

/* A named pipe that is written second by second gives, while it is written, the events of a file. */
static void test_slow_pipe(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder(), *pipe = process_format("%s/pipe", folder);
    const int16_t *samples = write_sound(folder);
    char *lines = support_array(MOST_TEXT, 1);
    struct process_result file =
        run_clformer(NULL, call("--format json --unstable", process_format("%s/sound", folder)));
    assert_int_equal(file.status, 0);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    struct coprocess command = coprocess_start(call("--format json --unstable", pipe));
    int writer = open(pipe, O_WRONLY);
    assert_true(writer >= 0);
    for (int i = 0; i < SECONDS; i++) {
        assert_int_equal(write(writer, samples + (size_t)i * RATE, SECOND_BYTES), SECOND_BYTES);
        read_second(&command, lines, i + 1);
    }
    close(writer);
    while (strlen(lines) < file.output_size) {
        strcat(lines, coprocess_read_line(&command));
    }
    assert_string_equal(lines, file.output);
    assert_int_equal(coprocess_end(&command), 0);
    assert_string_equal(command.errors, "");
}

/* A signal ends the command while it waits for audio; what was final is printed, and nothing else. */
static void test_signal(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder(), *pipe = process_format("%s/pipe", folder);
    const int16_t *samples = write_sound(folder);
    char *lines = support_array(MOST_TEXT, 1);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    struct coprocess command = coprocess_start(call("--format json --unstable", pipe));
    int writer = open(pipe, O_WRONLY);
    assert_true(writer >= 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(write(writer, samples + (size_t)i * RATE, SECOND_BYTES), SECOND_BYTES);
        read_second(&command, lines, i + 1);
    }
    assert_int_equal(kill(command.child, SIGINT), 0);
    assert_int_equal(coprocess_end(&command), 128 + SIGINT);
    assert_string_equal(command.errors, "");
    close(writer);
}

/* Standard input is the default; noise is not speech. */
static void test_standard_input(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    const int16_t *samples = write_sound(folder);
    struct process input = {.input = (const char *)samples, .input_size = SECONDS * SECOND_BYTES};
    struct process_result result = process_run(&input, call("--format json", "--vad"));
    assert_output(result, "");
    const char *path = process_format("%s/sound", folder);
    struct process_result file = run_clformer(NULL, call("", path));
    struct process redirected = {.input_descriptor = open(path, O_RDONLY)};
    result = process_run(&redirected, call("", "--quiet"));
    assert_output(result, file.output);
    assert_true(file.output_size > 0);
}

static void test_bad_stream(void **state)
{
    (void)state;
    struct process_result result = run_clformer(
        "no header", process_format("transcribe -q -m %s --follow", support_fixture("speech/tiny")));
    assert_refused(result, 1, "clformer: standard input: not a WAV stream");
    result = run_clformer(NULL, call("", "/nowhere/stream"));
    assert_refused(result, 1, "clformer: /nowhere/stream: cannot be opened");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_formats, support_teardown),
        cmocka_unit_test_teardown(test_slow_pipe, support_teardown),
        cmocka_unit_test_teardown(test_signal, support_teardown),
        cmocka_unit_test_teardown(test_standard_input, support_teardown),
        cmocka_unit_test_teardown(test_bad_stream, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
