/* `clformer bench` without a stage: everything for a device. It takes minutes. */
#include <jansson.h>
#include <string.h>
#include <time.h>

#include "support/process.h"

static double number(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

/* Counts the rows of this work in a report's device. Only batches that the work is too short for may fail. */
static int count_rows(const json_t *device, const char *work)
{
    int count = 0;
    size_t index;
    json_t *row;
    json_array_foreach(json_object_get(device, "rows"), index, row)
    {
        const char *error = json_string_value(json_object_get(row, "error"));
        assert_true(error == NULL || strstr(error, "has 12 lines, fewer than the batch size 64") != NULL);
        if (error == NULL && strcmp(json_string_value(json_object_get(row, "work")), work) == 0) {
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
            assert_true(json_is_integer(json_object_get(row, "operations")));
            assert_true(json_is_integer(json_object_get(row, "bytes")));
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

/* A start is the translation of a line, with the keys of other rows. */
static void check_starts(const json_t *device)
{
    size_t index;
    json_t *row;
    json_array_foreach(json_object_get(device, "rows"), index, row)
    {
        if (strstr(json_string_value(json_object_get(row, "work")), "start") != NULL) {
            double tokens = number(row, "tokens_per_second") * number(row, "seconds");
            assert_true(tokens > 1.99 && tokens < 100);
            assert_true(number(row, "batch") == 1 &&
                        number(row, "beam") == 4); /* the default of the model's folder */
            assert_string_equal(json_string_value(json_object_get(row, "gemm")), "native");
            assert_true(json_is_string(json_object_get(row, "variant")));
        }
    }
}

/* Everything. */
static void test_whole(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* an instrumented PoCL would exceed the time limit per device */
#endif
    const char *folder = support_temporary_folder();
    const char *lines = "Je suis étudiant.\nMerci.\nBonjour.\n";
    char *twelve = process_format("%s%s%s%s", lines, lines, lines, lines);
    process_write(folder, "work", twelve, strlen(twelve));
    struct process_result result =
        run_clformer(NULL, process_format("bench -d 0 --gemm native --repeats 1 --work %s/work --json --html "
                                          "%s/page.html",
                                          folder, folder));
    assert_int_equal(result.status, 0);
    size_t size;
    assert_int_equal(strncmp(process_read(folder, "page.html", &size), "<!DOCTYPE html>", 15), 0);
    json_t *report = json_loads(result.output, 0, NULL);
    const json_t *device = json_array_get(json_object_get(report, "devices"), 0);
    check_ops(device);
    assert_true(count_rows(device, "peaks") >= 2);
    assert_true(count_rows(device, "encode") >= 6 && count_rows(device, "translate") >= 12);
    int ways = number(json_object_get(device, "peaks"), "bf16_operations_per_second") > 0 ? 2 : 1;
    assert_int_equal(count_rows(device, "train"),
                     2 * ways); /* in fp32, and in bf16 if the device supports it */
    assert_true(count_rows(device, "start") == 1 && count_rows(device, "first start") == 1);
    check_starts(device);
    assert_true(number(json_object_get(device, "peaks"), "fma_operations_per_second") > 0);
    assert_true(number(json_object_get(device, "machine"), "cores") > 0);
    json_decref(report);
}

/* In less than a minute, even with other load: whatever does not fit is left out by name. */
static void test_quick(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* as above */
#endif
    const char *folder = support_temporary_folder();
    time_t begin = time(NULL);
    struct process_result result =
        run_clformer(NULL, process_format("bench --quick -d 0 --json --html %s/page.html", folder));
    assert_true(time(NULL) - begin < 60);
    assert_int_equal(result.status, 0);
    json_t *report = json_loads(result.output, 0, NULL);
    const json_t *rows = json_object_get(json_array_get(json_object_get(report, "devices"), 0), "rows");
    size_t size, index;
    json_t *row;
    int translated = 0, others = 0;
    json_array_foreach(rows, index, row)
    {
        const char *work = json_string_value(json_object_get(row, "work"));
        translated += json_object_get(row, "error") == NULL && strcmp(work, "translate") == 0;
        others += strcmp(work, "train") == 0 || strcmp(work, "start") == 0;
    }
    assert_true(translated >= 3);
    assert_int_equal(others, 0);
    assert_non_null(strstr(process_read(folder, "page.html", &size), "\"work\":\"translate\""));
    json_decref(report);
    result = run_clformer(NULL, "bench --quick --stage encode");
    assert_refused(result, 2, "--quick: applies only without --stage");
}

/* If nothing works, each stage gives a reason, and the report is still written. */
static void test_failures(void **state)
{
    (void)state;
    struct process process = {.environment = "CLFORMER_VARIANT=nosuch"};
    struct process_result result = process_run(&process, "bench --repeats 1 --gemm native --json");
    assert_int_equal(result.status, 0);
    json_t *report = json_loads(result.output, 0, NULL);
    size_t index;
    json_t *row;
    const json_t *rows = json_object_get(json_array_get(json_object_get(report, "devices"), 0), "rows");
    int counts[3] = {0, 0, 0};
    json_array_foreach(rows, index, row)
    {
        const char *work = json_string_value(json_object_get(row, "work"));
        assert_non_null(strstr(json_string_value(json_object_get(row, "error")), "nosuch"));
        counts[0] += strcmp(work, "encode") == 0;
        counts[1] += strcmp(work, "translate") == 0;
        counts[2] += strcmp(work, "train") == 0;
    }
    assert_true(counts[0] == 4 && counts[1] == 4); /* in each precision */
    assert_int_equal(counts[2], 1);
    json_decref(report);
}

/* A single device is selected as in other verbs. */
static void test_named_device(void **state)
{
    (void)state;
    struct process process = {.environment = "CLFORMER_DEVICE=nosuch"};
    struct process_result result = process_run(&process, "bench --json");
    assert_refused(result, 1, "nosuch");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_whole, support_teardown),
        cmocka_unit_test_teardown(test_named_device, support_teardown),
        cmocka_unit_test_teardown(test_failures, support_teardown),
        cmocka_unit_test_teardown(test_quick, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
