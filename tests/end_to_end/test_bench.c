/* Measurements and output of `clformer bench`; timings are not checked. */
#include <clformer/audio.h>

#include <jansson.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>

#include "support/process.h"

static double number(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void assert_text(const json_t *row, const char *key, const char *expected)
{
    const char *value = json_string_value(json_object_get(row, key));
    assert_non_null(value);
    assert_string_equal(value, expected);
}

/* Returns the next line of an output as JSON; NULL at the end. */
static json_t *next_row(char **rest)
{
    char *line = strtok_r(*rest, "\n", rest);
    json_t *row = line != NULL ? json_loads(line, 0, NULL) : NULL;
    assert_true(line == NULL || row != NULL);
    return row;
}

/* Fails unless the row is of this case; returns the tokens per call. */
static double check_row(const json_t *row, const char *work, int batch, int beam)
{
    assert_text(row, "engine", "clformer");
    assert_text(row, "work", work);
    assert_true(strlen(json_string_value(json_object_get(row, "precision"))) > 0);
    assert_int_equal((int)number(row, "batch"), batch);
    assert_int_equal((int)number(row, "beam"), beam);
    assert_true(number(row, "seconds") > 0 && number(row, "spread") >= 0 && number(row, "peak_bytes") > 1e6);
    return number(row, "tokens_per_second") * number(row, "seconds");
}

/* Fails unless the row is of this case and explains why there is no time. Takes ownership of the row. */
static void check_failed_row(json_t *row, int batch, int beam, const char *reason)
{
    const char *error = json_string_value(json_object_get(row, "error"));
    assert_int_equal((int)number(row, "batch"), batch);
    assert_int_equal((int)number(row, "beam"), beam);
    assert_true(error != NULL && strstr(error, reason) != NULL);
    assert_null(json_object_get(row, "seconds"));
    json_decref(row);
}

/* Fails unless a single row was printed, with this reason. */
static void assert_failed_row(const struct process_result *result, const char *reason)
{
    assert_int_equal(result->status, 1);
    assert_int_equal(process_count(result->output, "\n"), 1);
    assert_int_equal(process_count(result->output, reason), 1);
    assert_string_equal(result->errors, "");
}

static void test_stages(void **state)
{
    (void)state;
    struct process_result result = run_clformer(NULL, "bench --stage encode --batch 1,3 --repeats 2 --json");
    assert_int_equal(result.status, 0);
    char *rest = result.output;
    json_t *row = next_row(&rest);
    double one = check_row(row, "encode", 1, 1);
    assert_int_equal((int)number(row, "repeats"), 2);
    json_decref(row);
    row = next_row(&rest);
    assert_true(check_row(row, "encode", 3, 1) > 2 * one);
    json_decref(row);
    assert_null(next_row(&rest));
    result = run_clformer(NULL, "bench --stage translate --batch 2 --beam 1,3 --min-length 7 --max-length 7 "
                                "--repeats 1 --batch-tokens 64 --json");
    assert_int_equal(result.status, 0);
    rest = result.output;
    for (int beam = 1; beam <= 3; beam += 2) {
        row = next_row(&rest);
        double tokens = check_row(row, "translate", 2, beam);
        assert_true(tokens > 13.99 && tokens < 14.01); /* two lines of exactly seven */
        assert_int_equal((int)number(row, "batch_tokens"), 64);
        assert_int_equal((int)number(row, "batch_lines"), 8);
        json_decref(row);
    }
    result = run_clformer(NULL, "bench --stage score --batch 2 --repeats 1 --json");
    rest = result.output;
    row = next_row(&rest);
    assert_true(check_row(row, "score", 2, 1) > 4);
    json_decref(row);
    result = run_clformer(NULL, "bench --stage train --batch 2 --repeats 1 --json");
    rest = result.output;
    row = next_row(&rest);
    assert_true(check_row(row, "train", 2, 1) > 4);
    json_decref(row);
    result = run_clformer(NULL, "bench --stage translate --batch 3 --repeats 1 --beam 2 --json");
    rest = result.output;
    row = next_row(&rest);
    double tokens = check_row(row, "translate", 3, 2);
    json_decref(row);
    result = run_clformer(NULL, "bench --stage serve --batch 3 --repeats 1 --beam 2 --json");
    assert_int_equal(result.status, 0);
    rest = result.output;
    row = next_row(&rest);
    assert_true(fabs(check_row(row, "serve", 3, 2) - tokens) < 0.5); /* the same lines */
    json_decref(row);
}

/* Each window of each recording has the requested number of tokens. */
static void check_forced(const char *call)
{
    struct process_result result = run_clformer(
        NULL, process_format("%s --beam 1,2 --batch 1,3 --min-length 7 --max-length 7 --json", call));
    assert_int_equal(result.status, 0);
    char *rest = result.output;
    for (int i = 0; i < 4; i++) {
        json_t *row = next_row(&rest);
        int batch = i < 2 ? 1 : 3;
        assert_int_equal(lround(check_row(row, "transcribe", batch, 1 + i % 2)), 7 * batch);
        json_decref(row);
    }
    assert_null(next_row(&rest));
    result = run_clformer(NULL, process_format("%s --beam 1 --max-length 10000", call));
    assert_failed_row(&result, "--max-length 10000: must be 1 to ");
    result = run_clformer(NULL, process_format("%s --beam 1 --batch 65", call));
    assert_int_equal(result.status, 1);
    result = run_clformer(NULL, process_format("%s --min-length 7", call));
    assert_refused(result, 2, "--min-length must be equal to --max-length");
}

/* Writes talk.wav, two seconds, to a new folder. */
static const char *write_recording(void)
{
    enum { COUNT = 2 * CLF_AUDIO_RATE };
    const uint32_t head[] = {0x46464952,     2 * COUNT + 36,     0x45564157, 0x20746d66, 16,       0x00010001,
                             CLF_AUDIO_RATE, 2 * CLF_AUDIO_RATE, 0x00100002, 0x61746164, 2 * COUNT};
    const char *folder = support_temporary_folder();
    char *wav = support_array(sizeof head + 2 * COUNT, 1);
    memcpy(wav, head, sizeof head);
    for (size_t i = sizeof head; i < sizeof head + 2 * COUNT; i++) {
        wav[i] = (char)(i * i % 251);
    }
    process_write(folder, "talk.wav", wav, sizeof head + 2 * COUNT);
    return folder;
}

/* A recording is transcribed with every number of beams, by itself and in parallel. */
static void test_transcribe(void **state)
{
    (void)state;
    const char *folder = write_recording();
    char *call = process_format("bench --stage transcribe -m %s --work %s/talk.wav --repeats 1",
                                support_fixture("speech/tiny"), folder);
    struct process_result result = run_clformer(NULL, process_format("%s --beam 1,3 --json", call));
    if (!clf_audio_reads_files()) {
        assert_int_equal(result.status, 1);
        return;
    }
    assert_int_equal(result.status, 0);
    char *rest = result.output;
    for (int beam = 1; beam <= 3; beam += 2) {
        json_t *row = next_row(&rest);
        check_row(row, "transcribe", 1, beam);
        json_decref(row);
    }
    assert_null(next_row(&rest));
    check_forced(call);
    result = run_clformer(NULL, "bench --stage transcribe");
    assert_refused(
        result, 2,
        "--stage transcribe: requires a Whisper model and a recording; add -m MODEL and --work FILE");
    result = run_clformer(NULL, process_format("bench --stage transcribe -m %s --work /no/such.wav --beam 1",
                                               support_fixture("speech/tiny")));
    assert_failed_row(&result, "/no/such.wav");
}

/* The difference of two translations; if other load makes the longer one faster, a message says so. */
static void test_step(void **state)
{
    (void)state;
    struct process_result result = run_clformer(NULL, "bench --stage step --batch 2 --repeats 1 --json");
    if (process_count(result.output, "the time of a step cannot be measured") > 0) {
        skip();
    }
    char *rest = result.output;
    json_t *row = next_row(&rest);
    double tokens = check_row(row, "step", 2, 1);
    assert_true(tokens > 1.99 && tokens < 2.01);
    assert_true(number(row, "read_bytes_per_second") > 0);
    assert_true(json_is_integer(json_object_get(row, "step_weight_bytes")));
    double rate =
        number(row, "step_weight_bytes") / number(row, "seconds") / number(row, "read_bytes_per_second");
    assert_true(rate / number(row, "share_of_read") > 0.999 && rate / number(row, "share_of_read") < 1.001);
    json_decref(row);
}

/* The step of a Whisper model decodes copies of a recording. */
static void test_step_of_speech(void **state)
{
    (void)state;
    const char *model = support_fixture("speech/tiny");
    struct process_result result = run_clformer(NULL, process_format("bench --stage step -m %s", model));
    assert_refused(result, 2, "--stage step: a Whisper model requires a recording; add --work FILE");
    if (!clf_audio_reads_files()) {
        return;
    }
    result = run_clformer(
        NULL, process_format("bench --stage step -m %s --work %s/talk.wav --batch 2 --repeats 1 --json",
                             model, write_recording()));
    if (process_count(result.output, "the time of a step cannot be measured") > 0) {
        skip();
    }
    char *rest = result.output;
    json_t *row = next_row(&rest);
    double tokens = check_row(row, "step", 2, 1);
    assert_true(tokens > 1.99 && tokens < 2.01);
    json_decref(row);
}

/* Tokens of the user's file, and the same as a table. */
static void test_work_file(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    const char *lines = "▁Je ▁suis\n\n▁Je ▁suis ▁un\n";
    process_write(folder, "work", lines, strlen(lines));
    char *call = process_format(
        "bench --stage encode -m " DEMO_MODEL " --work %s/work --tokens --batch 3 --repeats 1", folder);
    struct process_result result = run_clformer(NULL, process_format("%s --json", call));
    char *rest = result.output;
    json_t *row = next_row(&rest);
    double tokens = check_row(row, "encode", 3, 1);
    assert_true(tokens > 6.99 && tokens < 7.01); /* 2 + 3 and two end tokens: a blank line counts as none */
    json_decref(row);
    result = run_clformer(NULL, call);
    assert_int_equal(result.status, 0);
    assert_int_equal(process_count(result.output, "\n"), 1);
    assert_int_equal(process_count(result.output, "encode"), 1);
    process_write(folder, "work", "\n\n", 2);
    for (int i = 0; i < 2; i++) {
        static const char *const stages[] = {"encode", "translate --beam 1"};
        result = run_clformer(NULL,
                              process_format("bench --work %s/work --batch 2 --stage %s", folder, stages[i]));
        assert_failed_row(&result, "FAILED: the first 2 lines of the work file are blank");
    }
    result = run_clformer(NULL, "bench --stage encode --work /no/such/file");
    assert_refused(result, 1, "/no/such/file: cannot be read");
    result = run_clformer(NULL, "bench --html /no/such/folder/page.html"); /* before minutes of measuring */
    assert_refused(result, 1, "/no/such/folder/page.html");
}

/* The page of one stage contains its rows; standard output is the same as without it. */
static void test_page_of_a_stage(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    static const char *const stages[] = {"encode --batch 1,2", "gemm --shape 64x64x64"};
    for (size_t i = 0; i < 2; i++) {
        char *call =
            process_format("bench --repeats 1 --html %s/page.html --json --stage %s", folder, stages[i]);
        struct process_result result = run_clformer(NULL, call);
        assert_int_equal(result.status, 0);
        assert_int_equal(process_count(result.output, "\n"), 2);
        size_t size;
        const char *page = process_read(folder, "page.html", &size);
        assert_int_equal(strncmp(page, "<!DOCTYPE html>", 15), 0);
        char *data = strstr(page, "id=\"data\">") + strlen("id=\"data\">");
        json_t *report = json_loadb(data, strcspn(data, "<"), 0, NULL);
        json_t *device = json_array_get(json_object_get(report, "devices"), 0);
        assert_int_equal(json_array_size(json_object_get(device, "rows")), 2);
        assert_non_null(json_object_get(device, "peaks"));
        assert_true(json_is_string(json_object_get(device, "model")));
        json_decref(report);
    }
    struct process_result refused = run_clformer(NULL, "bench --stage encode --html -");
    assert_refused(refused, 2, "name a file");
}

/* A failing case has a row with the reason, and the next one runs. */
static void test_failing_cases(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    process_write(folder, "work", "Merci.\n\xff\n", 9);
    static const char *const stages[] = {"encode", "translate --beam 1", "score", "serve --beam 1", "train"};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        char *call = process_format("bench --work %s/work --repeats 1 --batch 2,65,1 --json --stage %s",
                                    folder, stages[i]);
        struct process_result result = run_clformer(NULL, call);
        assert_int_equal(result.status, 1);
        assert_string_equal(result.errors, "");
        char *rest = result.output;
        check_failed_row(next_row(&rest), 2, 1, "line 2 of the work file cannot be used");
        check_failed_row(next_row(&rest), 65, 1, "has 2 lines, fewer than the batch size 65");
        json_t *row = next_row(&rest);
        assert_int_equal((int)number(row, "batch"), 1);
        assert_true(number(row, "seconds") > 0);
        json_decref(row);
        assert_null(next_row(&rest));
    }
}

/* A row names the GEMM backend that ran, not the requested one. */
static void test_provider(void **state)
{
    (void)state;
    struct process_result result = run_clformer(
        NULL, "bench --stage encode --precision int8 --gemm clblast --batch 1 --repeats 1 --json");
    assert_int_equal(result.status, 0);
    char *rest = result.output;
    json_t *row = next_row(&rest);
    assert_text(row, "precision", "int8");
    assert_text(row, "gemm", "native");
    json_decref(row);
}

static void test_products(void **state)
{
    (void)state;
    struct process_result result = run_clformer(NULL, "bench --stage gemm --repeats 1 --precision fp16");
    assert_int_equal(result.status, 0);
    assert_int_equal(strncmp(result.output, "peak rates: ", 12), 0);
    assert_int_equal(process_count(result.output, "\n"),
                     1 + process_count(result.output, "matrix product ") +
                         process_count(result.output, "projection, top k "));
    assert_true(process_count(result.output, "matrix product ") > 20);
    assert_int_equal(process_count(result.output, " gradient "), 0); /* training never uses fp16 */
}

/* Only the given shapes are measured, in their order. */
static void test_shapes(void **state)
{
    (void)state;
    static const struct {
        const char *call, *op, *shapes[2];
    } cases[] = {
        {"gemm --precision fp16 --shape 33x64x96,1x32x16", "matrix product", {"33 x 64 x 96", "1 x 32 x 16"}},
        {"attention --shape 2x20x3x48,1x9x2x64",
         "attention",
         {"2 of 20 tokens, 3 heads of 48", "1 of 9 tokens, 2 heads"}}};
    for (int i = 0; i < 2; i++) {
        struct process_result result =
            run_clformer(NULL, process_format("bench --repeats 2 --json --stage %s", cases[i].call));
        assert_int_equal(result.status, 0);
        char *rest = result.output;
        json_t *row = next_row(&rest);
        assert_text(row, "work", "peaks");
        json_decref(row);
        for (int j = 0; j < 2; j++) {
            row = next_row(&rest);
            assert_text(row, "op", cases[i].op);
            assert_text(row, "shape", cases[i].shapes[j]);
            assert_true(number(row, "seconds") > 0 && number(row, "operations_per_second") > 0);
            json_decref(row);
        }
        assert_null(next_row(&rest));
    }
    struct process_result usual = run_clformer(NULL, "bench --stage attention --repeats 1");
    assert_int_equal(usual.status, 0);
    assert_int_equal(process_count(usual.output, "\n"), 1 + process_count(usual.output, "attention "));
    assert_true(process_count(usual.output, "attention ") > 6);
}

/* bench/peers --list prints the names of all rows: 30 compare clformer with a peer, 21 with the machine. */
static void test_peers_list(void **state)
{
    (void)state;
    static const struct {
        const char *flags;
        int rows;
    } lists[] = {{"--list", 51}, {"--gpu --list", 48}, {"--gpu --list --rows 'bart fp16' nllb", 9}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char *call = process_format("python3 '" CLF_SOURCE_FOLDER "/bench/peers' %s", lists[i].flags);
        FILE *pipe = popen(call, "r");
        assert_non_null(pipe);
        int lines = 0;
        for (int byte; (byte = getc(pipe)) != EOF;) {
            lines += byte == '\n';
        }
        assert_int_equal(pclose(pipe), 0);
        assert_int_equal(lines, lists[i].rows);
    }
}

/* Unknown rows are an error that names the available ones, not an empty table. */
static void test_peers_unknown_row(void **state)
{
    (void)state;
    FILE *pipe = popen("python3 '" CLF_SOURCE_FOLDER "/bench/peers' --rows encode nosuch 2>&1", "r");
    assert_non_null(pipe);
    char said[8192];
    said[fread(said, 1, sizeof said - 1, pipe)] = '\0';
    int status = pclose(pipe);
    assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 2);
    assert_non_null(
        strstr(said, "bench/peers: --rows: no row name contains \"nosuch\"; the rows are:\n  encode 64"));
    assert_int_equal(process_count(said, "\n"), 1 + 51);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_stages, support_teardown),
        cmocka_unit_test_teardown(test_transcribe, support_teardown),
        cmocka_unit_test_teardown(test_step, support_teardown),
        cmocka_unit_test_teardown(test_step_of_speech, support_teardown),
        cmocka_unit_test_teardown(test_work_file, support_teardown),
        cmocka_unit_test_teardown(test_failing_cases, support_teardown),
        cmocka_unit_test_teardown(test_page_of_a_stage, support_teardown),
        cmocka_unit_test_teardown(test_provider, support_teardown),
        cmocka_unit_test_teardown(test_products, support_teardown),
        cmocka_unit_test_teardown(test_shapes, support_teardown),
        cmocka_unit_test_teardown(test_peers_unknown_row, support_teardown),
        cmocka_unit_test_teardown(test_peers_list, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
