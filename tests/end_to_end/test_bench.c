/* What `clformer bench` measures and prints; how long anything takes is not asked. */
#include <jansson.h>
#include <string.h>

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

/* The next line of an output as JSON; NULL at its end. */
static json_t *next_row(char **rest)
{
    char *line = strtok_r(*rest, "\n", rest);
    json_t *row = line != NULL ? json_loads(line, 0, NULL) : NULL;
    assert_true(line == NULL || row != NULL);
    return row;
}

/* Fails unless the row is of this case; returns the tokens that one call handles. */
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
                                "--repeats 1 --json");
    assert_int_equal(result.status, 0);
    rest = result.output;
    for (int beam = 1; beam <= 3; beam += 2) {
        row = next_row(&rest);
        double tokens = check_row(row, "translate", 2, beam);
        assert_true(tokens > 13.99 && tokens < 14.01); /* two lines of exactly seven */
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
    result = run_clformer(NULL, "bench --stage step --batch 2 --repeats 1 --json");
    rest = result.output;
    row = next_row(&rest);
    double tokens = check_row(row, "step", 2, 1);
    assert_true(tokens > 1.99 && tokens < 2.01);
    assert_true(number(row, "read_bytes_per_second") > 0);
    double rate =
        number(row, "step_weight_bytes") / number(row, "seconds") / number(row, "read_bytes_per_second");
    assert_true(rate / number(row, "share_of_read") > 0.999 && rate / number(row, "share_of_read") < 1.001);
    json_decref(row);
}

/* Pieces of a file of one's own, and the same as a table. */
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
    assert_true(tokens > 6.99 && tokens < 7.01); /* 2 + 3 and two end tokens: a blank line is none */
    json_decref(row);
    result = run_clformer(NULL, call);
    assert_int_equal(result.status, 0);
    assert_int_equal(process_count(result.output, "\n"), 1);
    assert_int_equal(process_count(result.output, "encode"), 1);
    process_write(folder, "work", "\n\n", 2);
    result = run_clformer(NULL, process_format("bench --stage encode --work %s/work --batch 2", folder));
    assert_refused(result, 1, "blank");
    process_write(folder, "work", "Merci.\n\xff\n", 9);
    for (int i = 0; i < 4; i++) {
        static const char *const stages[] = {"encode", "translate --beam 1", "score", "train"};
        result = run_clformer(NULL,
                              process_format("bench --work %s/work --batch 2 --stage %s", folder, stages[i]));
        assert_refused(result, 1, "line 2 of the work cannot be used");
    }
}

static void test_products(void **state)
{
    (void)state;
    struct process_result result = run_clformer(NULL, "bench --stage products --repeats 1 --precision fp16");
    assert_int_equal(result.status, 0);
    assert_int_equal(strncmp(result.output, "peaks: ", 7), 0);
    assert_int_equal(process_count(result.output, "\n"),
                     1 + process_count(result.output, "matrix product ") +
                         process_count(result.output, "projection, top k "));
    assert_true(process_count(result.output, "matrix product ") > 20);
    assert_int_equal(process_count(result.output, " gradient "), 0); /* nobody trains in fp16 */
}

/* Fails unless the file is one page that needs nothing else, with a report of this many devices. */
static void check_page(const char *folder, const char *name, size_t devices)
{
    size_t size;
    char *page = process_read(folder, name, &size);
    assert_int_equal(strncmp(page, "<!DOCTYPE html>", 15), 0);
    assert_int_equal(process_count(page, "http") + process_count(page, "@DATA@"), 0);
    assert_int_equal(process_count(page, "<script"), process_count(page, "</script>"));
    char *data = strstr(page, "id=\"data\">") + 10;
    json_t *report = json_loadb(data, strcspn(data, "<"), 0, NULL);
    assert_int_equal(json_array_size(json_object_get(report, "devices")), devices);
    json_decref(report);
}

/* How many rows of a report's device are of this work. */
static int count_rows(const json_t *device, const char *work)
{
    int count = 0;
    size_t index;
    json_t *row;
    json_array_foreach(json_object_get(device, "rows"), index, row)
    {
        assert_null(json_object_get(row, "error"));
        if (strcmp(json_string_value(json_object_get(row, "work")), work) == 0) {
            count++;
            assert_true(strcmp(work, "peaks") == 0 || number(row, "seconds") > 0);
        }
    }
    return count;
}

/* Every op has a row with its kernel and its rates. */
static void check_ops(const json_t *device)
{
    static const char *const ops[] = {"input gradient",  "weight gradient",  "matrix product",
                                      "batched product", "attention",        "attention step",
                                      "softmax",         "layer norm",       "embedding",
                                      "top k",           "projection, top k"};
    int counts[sizeof ops / sizeof *ops] = {0};
    size_t index;
    json_t *row;
    json_array_foreach(json_object_get(device, "rows"), index, row)
    {
        if (strcmp(json_string_value(json_object_get(row, "work")), "op") == 0) {
            assert_true(number(row, "seconds") > 0 && number(row, "operations") > 0 &&
                        number(row, "bytes") > 0);
            assert_true(number(row, "share") > 0);
            assert_true(strlen(json_string_value(json_object_get(row, "kernel"))) > 0);
            for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
                counts[i] += strcmp(json_string_value(json_object_get(row, "op")), ops[i]) == 0;
            }
        }
    }
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        assert_true(counts[i] >= 2);
    }
}

/* Everything, then its JSON twice in one page. */
static void test_whole(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* an instrumented PoCL would take longer than a device is given */
#endif
    const char *folder = support_temporary_folder();
    struct process_result result = run_clformer(
        NULL, process_format("bench -d 0 --gemm native --repeats 1 --json --html %s/page.html", folder));
    assert_int_equal(result.status, 0);
    process_write(folder, "one.json", result.output, result.output_size);
    check_page(folder, "page.html", 1);
    json_t *report = json_loads(result.output, 0, NULL);
    const json_t *device = json_array_get(json_object_get(report, "devices"), 0);
    check_ops(device);
    assert_true(count_rows(device, "peaks") >= 2);
    assert_true(count_rows(device, "encode") >= 6 && count_rows(device, "translate") >= 12);
    assert_true(count_rows(device, "start") == 1 && count_rows(device, "first start") == 1);
    assert_true(number(json_object_get(device, "peaks"), "fma_operations_per_second") > 0);
    assert_true(number(json_object_get(device, "machine"), "cores") > 0);
    json_decref(report);
    result = run_clformer(NULL, process_format("bench --merge %s/one.json %s/one.json --html %s/two.html",
                                               folder, folder, folder));
    assert_int_equal(result.status, 0);
    assert_int_equal(process_count(result.output, "   platform "), 2);
    assert_int_equal(process_count(result.output, "matrix product    2048 x 512 x 512 "), 2);
    check_page(folder, "two.html", 2);
}

/* Where nothing works, each stage says why, and the report is made all the same. */
static void test_failures(void **state)
{
    (void)state;
    struct process process = {.environment = "CLFORMER_FORM=nosuch"};
    struct process_result result = process_run(&process, "bench --repeats 1 --gemm native --json");
    assert_int_equal(result.status, 0);
    json_t *report = json_loads(result.output, 0, NULL);
    size_t index;
    json_t *row;
    const json_t *rows = json_object_get(json_array_get(json_object_get(report, "devices"), 0), "rows");
    assert_true(json_array_size(rows) >= 4);
    json_array_foreach(rows, index, row)
    {
        assert_non_null(strstr(json_string_value(json_object_get(row, "error")), "nosuch"));
    }
    json_decref(report);
}

/* A report of one device with one row of each kind, into which an error is put. */
static void test_merge_refuses(void **state)
{
    (void)state;
#define DEVICE(name, rows)                                                                                   \
    "{\"format\": \"clformer bench\", \"format_version\": 1, \"devices\": [{\"name\": " name ", \"kind\": "  \
    "\"cpu\", \"platform\": \"p\", \"driver\": \"d\", \"form\": \"cpu\", \"clformer\": \"0\", \"date\": "    \
    "\"2026\", "                                                                                             \
    "\"model\": \"m\", \"machine\": {\"processor\": \"</script>\", \"system\": \"s\", \"cores\": 2, "        \
    "\"memory_bytes\": 1}, \"rows\": [" rows "]}]}"
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "bad"},
        {"{\"format\": 1", "line 1"},
        {"[]", "\"format\""},
        {"{\"format\": \"clformer bench\", \"format_version\": 2}", "\"format_version\""},
        {"{\"format\": \"clformer bench\", \"format_version\": 1, \"devices\": {}}", "\"devices\""},
        {"{\"format\": \"clformer bench\", \"format_version\": 1, \"devices\": [3]}", "devices[0]"},
        {DEVICE("3", ""), "devices[0].name"},
        {DEVICE("\"n\"", "{\"work\": \"start\"}"), "devices[0].rows[0].precision is missing"},
        {DEVICE("\"n\"", "{\"work\": \"start\", \"precision\": \"fp32\", \"seconds\": -1}"),
         "devices[0].rows[0].seconds"},
        {DEVICE("\"n\"", "{\"work\": \"op\", \"precision\": \"fp32\", \"gemm\": \"native\", \"op\": []}"),
         "devices[0].rows[0].op"},
        {DEVICE("\"n\"", "{\"work\": \"op\", \"precision\": \"fp32\", \"error\": 1}"),
         "devices[0].rows[0].error"},
    };
    const char *folder = support_temporary_folder();
    char *call = process_format("bench --merge %s/bad", folder);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        process_write(folder, "bad", cases[i].text, strlen(cases[i].text));
        struct process_result result = run_clformer(NULL, call);
        assert_refused(result, 1, cases[i].part);
        assert_non_null(strstr(result.errors, "/bad"));
    }
    struct process_result result = run_clformer(NULL, "bench --merge /no/such/file");
    assert_refused(result, 1, "/no/such/file");
    const char *good = DEVICE("\"n\"", "");
    process_write(folder, "bad", good, strlen(good));
    result = run_clformer(NULL, process_format("%s --html %s/page.html", call, folder));
    assert_int_equal(result.status, 0);
    check_page(folder, "page.html", 1);
}

/* The script that compares with other engines lists the rows that it would measure: 17 peers', 14 the
 * machine's. */
static void test_peers_list(void **state)
{
    (void)state;
    FILE *pipe = popen("python3 '" CLF_SOURCE_FOLDER "/bench/peers' --list", "r");
    assert_non_null(pipe);
    int lines = 0;
    for (int byte; (byte = getc(pipe)) != EOF;) {
        lines += byte == '\n';
    }
    assert_int_equal(pclose(pipe), 0);
    assert_int_equal(lines, 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_stages, support_teardown),
        cmocka_unit_test_teardown(test_work_file, support_teardown),
        cmocka_unit_test_teardown(test_products, support_teardown),
        cmocka_unit_test_teardown(test_whole, support_teardown),
        cmocka_unit_test_teardown(test_failures, support_teardown),
        cmocka_unit_test_teardown(test_merge_refuses, support_teardown),
        cmocka_unit_test_teardown(test_peers_list, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
