/* Output of the verbs: JSON keys, scores, pages, descriptions. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/process.h"

#define TRANSLATE "translate -m " DEMO_MODEL " "

/* Line `index` of a result as JSON. */
static json_t *object_of(const struct process_result *result, int index)
{
    const char *line = result->output;
    for (int i = 0; i < index; i++) {
        line = strchr(line, '\n') + 1;
    }
    json_t *object = json_loadb(line, strcspn(line, "\n"), 0, NULL);
    assert_non_null(object);
    return object;
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static size_t length(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_array(value));
    return json_array_size(value);
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    assert_non_null(value);
    return value;
}

static void test_translate_json(void **state)
{
    (void)state;
    struct process_result result =
        run_clformer("Je suis étudiant\n\n\xff\n", TRANSLATE "--json --beam 3 --n-best 2");
    assert_int_equal(result.status, 1);
    assert_int_equal(process_count(result.output, "\n"), 3);
    json_t *object = object_of(&result, 0);
    assert_string_equal(text(object, "text"), "I'm a student.");
    assert_int_equal(length(object, "tokens"), length(object, "ids"));
    assert_true(fabs(number(object, "score") * (double)length(object, "ids") -
                     number(object, "log_probability")) < 1e-4);
    assert_int_equal(length(object, "n_best"), 2);
    const json_t *second = json_array_get(json_object_get(object, "n_best"), 1);
    assert_true(number(second, "score") <= number(object, "score"));
    assert_null(json_object_get(object, "error"));
    json_decref(object);
    object = object_of(&result, 1);
    assert_string_equal(text(object, "text"), "");
    assert_int_equal(length(object, "ids"), 0);
    assert_true(json_is_null(json_object_get(object, "score")));
    json_decref(object);
    object = object_of(&result, 2);
    assert_non_null(strstr(text(object, "error"), "UTF-8"));
    json_decref(object);
}

/* Greedy: the score is the log-probability. */
static void test_greedy_score(void **state)
{
    (void)state;
    struct process_result result = run_clformer("Je suis étudiant\n", TRANSLATE "--json --beam 1");
    json_t *object = object_of(&result, 0);
    assert_true(fabs(number(object, "score") - number(object, "log_probability")) < 1e-5);
    json_decref(object);
}

/* Digits are an id, even if the vocabulary contains "0". */
static void test_tokens_in_flags(void **state)
{
    (void)state;
    struct process_result result = run_clformer("Merci.\n", TRANSLATE "--json --forced-first 0");
    json_t *object = object_of(&result, 0);
    assert_int_equal(length(object, "ids"), 1);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(object, "ids"), 0)), 0);
    json_decref(object);
    result = run_clformer("Merci.\n", TRANSLATE "--json --forced-first ▁I");
    object = object_of(&result, 0);
    assert_string_equal(json_string_value(json_array_get(json_object_get(object, "tokens"), 0)), "▁I");
    json_decref(object);
}

static void test_score(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    process_write(folder, "fr", "Je suis étudiant\nMerci.\n", 25);
    process_write(folder, "en", "I'm a student.\nBananas!", 23);
    struct process_result result =
        run_clformer(NULL, process_format("score -m " DEMO_MODEL " --json %s/fr %s/en", folder, folder));
    assert_int_equal(result.status, 0);
    assert_int_equal(process_count(result.output, "\n"), 2);
    json_t *object = object_of(&result, 0);
    assert_string_equal(text(object, "text"), "I'm a student.");
    const json_t *tokens = json_object_get(object, "token_log_probabilities");
    assert_int_equal(json_array_size(tokens), length(object, "ids"));
    assert_int_equal(json_array_size(tokens), length(object, "tokens"));
    double sum = 0, first = number(object, "log_probability");
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        sum += json_number_value(json_array_get(tokens, i));
    }
    assert_true(fabs(sum - first) < 1e-4 && first < 0 && first > -5);
    json_decref(object);
    struct process process = {.input = "I'm a student.\nBananas!\n"};
    result = process_run(&process, process_format("score -m " DEMO_MODEL " %s/fr -", folder));
    assert_int_equal(result.status, 0);
    char *end;
    assert_true(fabs(strtod(result.output, &end) - first) < 1e-6);
    assert_true(strtod(end, NULL) < first);
    process.input = "one\n";
    result = process_run(&process, process_format("score -m " DEMO_MODEL " %s/fr -", folder));
    assert_refused(result, 1, "fr has 2 lines, but standard input has 1");
    result = process_run(&process, process_format("score -m " DEMO_MODEL " - %s/fr", folder));
    assert_refused(result, 1, "standard input has 1 line, but ");
    process_write(folder, "cut", "Je suis étudiant\nMerci.", 24); /* the last line without a newline */
    process.input = "one\ntwo\nthree\n";
    result = process_run(&process, process_format("score -m " DEMO_MODEL " %s/cut -", folder));
    assert_refused(result, 1, "cut has 2 lines, but standard input has 3");
    result = run_clformer(NULL, process_format("score -m " DEMO_MODEL " %s/fr %s/none", folder, folder));
    assert_refused(result, 1, "/none");
}

/* Names the truncated side, its length and the limit. */
static void test_cut_scores(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    char words[1024] = "";
    while (strlen(words) < 800) {
        strcat(words, "a ");
    }
    process_write(folder, "short", "Merci.\n", 7);
    process_write(folder, "long", words, strlen(words));
    struct process_result result =
        run_clformer(NULL, process_format("score -m " DEMO_MODEL " %s/long %s/short", folder, folder));
    assert_int_equal(result.status, 3);
    assert_non_null(strstr(result.errors, "clformer: 1 of 1 lines was truncated to the model's limit\n"));
    assert_non_null(strstr(result.errors,
                           "line 1: the source of 401 tokens was truncated to the model's limit of 256\n"));
    result = run_clformer(NULL, process_format("score -m " DEMO_MODEL " %s/short %s/long", folder, folder));
    assert_int_equal(result.status, 3);
    assert_non_null(strstr(result.errors,
                           "line 1: the target of 401 tokens was truncated to the model's limit of 256\n"));
    /* frames: a header of 128 bytes, then 201 times 80 zeros */
    static char frames[128 + 201 * 80 * sizeof(float)] = "\x93NUMPY\x01";
    int length = snprintf(frames + 10, 118, "{'descr': '<f4', 'fortran_order': False, 'shape': (201, 80), }");
    memset(frames + 10 + length, ' ', (size_t)(118 - length));
    frames[8] = 118;
    process_write(folder, "frames.npy", frames, sizeof frames);
    char *line = process_format("%s/frames.npy\n", folder);
    process_write(folder, "paths", line, strlen(line));
    process_write(folder, "text", "w4\n", 3);
    result = run_clformer(NULL, process_format("score --tokens -m " CLF_SOURCE_FOLDER
                                               "/tests/fixtures/models/speech %s/paths %s/text",
                                               folder, folder));
    assert_int_equal(result.status, 3);
    assert_non_null(
        strstr(result.errors, "the source of 201 frames was truncated to the model's limit of 200\n"));
}

static void test_attend(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    struct process_result result = run_clformer(
        NULL, process_format("attend -m " DEMO_MODEL " -o %s/page.html Je\x1fsuis\x1f</script><b>", folder));
    assert_output(result, "");
    size_t size;
    char *page = process_read(folder, "page.html", &size);
    assert_int_equal(strncmp(page, "<!DOCTYPE html>", 15), 0);
    assert_non_null(strstr(page, "Je suis &lt;/script&gt;&lt;b&gt;"));
    assert_int_equal(process_count(page, "<script"), process_count(page, "</script>"));
    assert_int_equal(process_count(page, "http"), 0); /* the page loads nothing from a network */
    assert_non_null(strstr(page, ">fr-en-small ("));  /* not where it lies */
    assert_null(strstr(page, DEMO_MODEL));
    assert_int_equal(process_count(page, "@TITLE@") + process_count(page, "@SHAPE@"), 0);
    char *shape = strstr(page, "{\"encoder_layers\"");
    assert_non_null(shape);
    json_t *object = json_loadb(shape, strcspn(shape, "<"), 0, NULL);
    assert_non_null(object);
    size_t sources = length(object, "source_tokens"), targets = length(object, "target_tokens");
    size_t weights = 18 * (sources * sources + targets * targets + targets * sources);
    char *data = strstr(page, "id=\"weights\">") + 13;
    assert_int_equal(strcspn(data, "<"), (2 * weights + 2) / 3 * 4);
    json_decref(object);
    result = run_clformer(NULL, process_format("attend -m " DEMO_MODEL " -o - --target I\x1f"
                                               "am. Je"));
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.output, "<span>Target</span><div class=\"clamp\">I am."));
    result = run_clformer(NULL, process_format("attend -m " DEMO_MODEL " -o %s/none.html \x1f", folder));
    assert_refused(result, 1, "the source is empty");
    struct stat status;
    assert_int_not_equal(stat(process_format("%s/none.html", folder), &status), 0);
    char words[1024] = "";
    while (strlen(words) < 800) {
        strcat(words, "a\x1f");
    }
    result = run_clformer(NULL, process_format("attend -m " DEMO_MODEL " -o %s/cut.html %s", folder, words));
    assert_int_equal(result.status, 0);
    assert_non_null(
        strstr(result.errors, "warning: the source of 401 tokens was truncated to the model's limit of 256"));
}

static void test_inspect(void **state)
{
    (void)state;
    struct process_result result = run_clformer(NULL, "inspect " DEMO_MODEL);
    assert_int_equal(result.status, 0);
    assert_string_equal(result.errors, "");
    static const char *const parts[] = {"marian",     "d_model",       "model.encoder.layers.0.fc1.weight",
                                        "(768, 192)", "sentencepiece", "Unusual"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        assert_non_null(strstr(result.output, parts[i]));
    }
    result = run_clformer(NULL, "inspect --json " DEMO_MODEL);
    json_t *object = object_of(&result, 0);
    assert_true(length(object, "tensors") > 100);
    assert_int_equal(length(object, "unusual"), 0);
    json_decref(object);
}

static void test_devices(void **state)
{
    (void)state;
    struct process_result result = run_clformer(NULL, "devices --json");
    assert_int_equal(result.status, 0);
    json_t *object = object_of(&result, 0);
    assert_int_equal((int)number(object, "index"), 0);
    assert_true(strlen(text(object, "name")) > 0);
    static const char *const keys[] = {"default", "clock_mhz", "shares_memory", "pci_address", "uuid"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        assert_non_null(json_object_get(object, keys[i]));
    }
    assert_int_equal(length(object, "matrix_levels"), 0); /* none is tried on a CPU */
    assert_string_equal(text(object, "barriers_without_atomics"), "not tried");
    json_decref(object);
    result = run_clformer("Merci.\n", TRANSLATE "-d 0");
    assert_output(result, "Thanks.\n");
    result = run_clformer(NULL, "--try-level 0 emulated"); /* in lib/runtime/tuning/README.md */
    double rates[4];
    assert_int_equal(
        sscanf(result.output, " measured %lf %lf %lf %lf", rates, rates + 1, rates + 2, rates + 3), 4);
    result = run_clformer(NULL, "--try-barrier 0");
    assert_string_equal(result.output, "\npassed\n");
    /* The default device is the one of other verbs, after its check. */
    result = process_run(&(struct process){.environment = "CLFORMER_DEVICE=0"}, "devices");
    assert_int_equal(strncmp(result.output, "0  ", 3), 0);
    assert_int_equal(process_count(result.output, "  default ($CLFORMER_DEVICE)\n"), 1);
    result = process_run(&(struct process){.environment = "CLFORMER_DEVICE=nosuchdevice"}, "devices");
    assert_int_equal(process_count(result.output, "  default"), 0);
    assert_non_null(strstr(result.errors, "no default device: no OpenCL device matches \"nosuchdevice\""));
}

/* Everything that a developer without the device needs. */
static void test_device_report(void **state)
{
    (void)state;
    struct process_result result = run_clformer(NULL, "devices --report");
    assert_int_equal(result.status, 0);
    json_error_t error;
    json_t *report = json_loads(result.output, 0, &error);
    assert_non_null(report);
    static const char *const keys[] = {"clformer", "machine", "kernel_modules", "without"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        assert_non_null(json_object_get(report, keys[i]));
    }
    json_t *device = json_array_get(json_object_get(report, "devices"), 0);
    static const char *const parts[] = {"limits_listed",  "opened",         "check",
                                        "peaks_measured", "kernels_listed", "launches_measured"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        assert_string_equal(text(device, parts[i]), "passed");
    }
    json_t *limits = json_object_get(device, "limits");
    assert_true(strtoull(text(limits, "max_work_group_size"), NULL, 10) > 0);
    assert_true(strtoull(text(limits, "global_mem_size"), NULL, 10) > 0);
    assert_non_null(strstr(text(limits, "extensions"), "cl_khr_"));
    assert_true(number(json_object_get(device, "peaks"), "fma_operations_per_second") > 1e6);
    json_t *launches = json_object_get(device, "launches");
    assert_true(number(json_object_get(launches, "usual"), "enqueue_seconds") > 0);
    assert_true(number(json_object_get(launches, "clocks"), "host_seconds") > 0);
    json_t *kernels = json_object_get(device, "kernels");
    assert_true(json_array_size(kernels) >= 5);
    for (size_t i = 0; i < json_array_size(kernels); i++) {
        json_t *kernel = json_array_get(kernels, i);
        assert_true(strlen(text(kernel, "kernel")) > 0 && number(kernel, "work_group_size") > 0);
        assert_true(number(kernel, "build_seconds") > 0);
        assert_non_null(json_object_get(kernel, "build_log"));
    }
    json_decref(report);
}

/* Without a driver, every verb prints the same message with installation advice. */
static void test_no_driver(void **state)
{
    (void)state;
    static const char sentence[] =
        "clformer: no OpenCL driver is installed; install the OpenCL driver of your GPU "
        "(tools/devices/README.md lists the packages) or, for the CPU, the Debian package pocl-opencl-icd\n";
    static const char *const calls[] = {"devices", TRANSLATE, "bench", "selftest"};
    const struct process without = {.input = "Merci.\n", .environment = "OCL_ICD_VENDORS=/nonexistent"};
    struct process_result result = process_run(&without, "devices");
    if (result.status == 0) {
        print_message("skipped: drivers are found otherwise than by OCL_ICD_VENDORS\n");
        skip();
    }
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        result = process_run(&without, calls[i]);
        assert_refused(result, 1, "pocl-opencl-icd");
        assert_string_equal(result.errors, sentence);
    }
}

/* One kernel variant, whose kernels take a minute to compile: the legs test the other. */
static void test_selftest(void **state)
{
    (void)state;
    const char *variant = support_first_variant() == CLF_VARIANT_GPU ? "gpu" : "cpu";
    struct process_result result =
        run_clformer(NULL, process_format("selftest --gemm native --variant %s", variant));
    assert_int_equal(result.status, 0);
    /* Each check is counted out of the total, and the last number is the total. */
    const char *last = strstr(result.output, "\nAll ");
    assert_non_null(last);
    int passed = atoi(last + strlen("\nAll "));
    assert_true(passed > 20);
    for (int i = 1; i <= passed; i++) {
        assert_int_equal(process_count(result.output, process_format("\n%3d/%-3d ", i, passed)), 1);
    }
    assert_non_null(strstr(last, " checks passed: "));
    assert_non_null(strstr(result.output, "top-k"));
    assert_non_null(strstr(result.output, "matrix product, int8"));
    assert_non_null(strstr(result.output, "gradients: norms"));
    assert_int_equal(process_count(result.output, "WRONG") + process_count(result.output, "FAILED"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_translate_json, support_teardown),
        cmocka_unit_test_teardown(test_greedy_score, support_teardown),
        cmocka_unit_test_teardown(test_tokens_in_flags, support_teardown),
        cmocka_unit_test_teardown(test_score, support_teardown),
        cmocka_unit_test_teardown(test_cut_scores, support_teardown),
        cmocka_unit_test_teardown(test_attend, support_teardown),
        cmocka_unit_test_teardown(test_inspect, support_teardown),
        cmocka_unit_test_teardown(test_devices, support_teardown),
        cmocka_unit_test_teardown(test_device_report, support_teardown),
        cmocka_unit_test_teardown(test_no_driver, support_teardown),
        cmocka_unit_test_teardown(test_selftest, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
