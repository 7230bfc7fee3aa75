/* Reports of `clformer bench` read back: errors, table and page of `--merge`. */
#include <jansson.h>
#include <string.h>

#include "support/process.h"

/* Fails unless the file is a self-contained page with a report of this many devices. */
static void check_page(const char *folder, const char *name, size_t devices)
{
    size_t size;
    char *page = process_read(folder, name, &size);
    assert_int_equal(strncmp(page, "<!DOCTYPE html>", 15), 0);
    assert_int_equal(process_count(page, "http") + process_count(page, "@DATA@"), 0);
    assert_int_equal(process_count(page, "<script"), process_count(page, "</script>"));
    assert_int_equal(process_count(page, "<noscript>"), 1);
    char *data = strstr(page, "id=\"data\">") + 10;
    json_t *report = json_loadb(data, strcspn(data, "<"), 0, NULL);
    assert_int_equal(json_array_size(json_object_get(report, "devices")), devices);
    json_decref(report);
}

/* A device and its report as text. */
#define DEVICE(name, rows)                                                                                   \
    "{\"name\": " name ", \"kind\": \"cpu\", \"platform\": \"p\", \"driver\": \"d\", \"variant\": \"cpu\", " \
    "\"clformer\": \"0\", \"date\": \"2026\", \"model\": \"m\", \"machine\": {\"processor\": "               \
    "\"</script>\", "                                                                                        \
    "\"system\": \"s\", \"cores\": 2, \"memory_bytes\": 1}, \"rows\": [" rows "]}"
#define REPORT(devices) "{\"format\": \"clformer bench\", \"format_version\": 1, \"devices\": [" devices "]}"
#define ONE(name, rows) REPORT(DEVICE(name, rows))

/* Rows. */
#define WAY(precision) "\"precision\": \"" precision "\", \"gemm\": \"native\""
#define PEAKS                                                                                                \
    "{\"work\": \"peaks\", " WAY("fp32") ", \"fma_operations_per_second\": 1e12, "                           \
                                         "\"int8_operations_per_second\": 0, "                               \
                                         "\"bf16_operations_per_second\": 0, "                               \
                                         "\"read_bytes_per_second\": 1e11}"
#define OP(precision, op, seconds, bytes)                                                                    \
    "{\"work\": \"op\", " WAY(                                                                               \
        precision) ", \"op\": \"" op "\", \"shape\": \"2 x 3\", \"kernel\": \"k\", "                         \
                   "\"seconds\": 1, \"spread\": 0, \"operations\": 1e9, \"tuned\": true, "                   \
                   "\"best_seconds\": " seconds ", \"bytes\": " bytes "}"
#define CASE(work, batch, beam, rate)                                                                        \
    "{\"work\": \"" work "\", " WAY("fp32") ", \"batch\": " batch ", \"beam\": " beam ", \"seconds\": 1, "   \
                                            "\"spread\": 0, \"repeats\": 1, \"peak_bytes\": 1, "             \
                                            "\"tokens_per_second\": " rate "}"

/* Merges one report; returns the process result. */
static struct process_result merge(const char *folder, const char *report, const char *flags)
{
    process_write(folder, "report", report, strlen(report));
    return run_clformer(NULL,
                        process_format("bench --merge %s/report%s%s", folder, *flags ? " " : "", flags));
}

/* Every op has a line, whichever method measured it, and every stage its rates. */
static void test_table(void **state)
{
    (void)state;
    const char *failed = "{\"work\": \"ops\", " WAY("fp32") ", \"error\": \"no reason\"}, ";
    char *rows =
        process_format("%s%s", failed,
                       PEAKS ", " OP("int8", "softmax", "0.01", "8") ", " OP("bf16", "softmax", "0.02", "8"));
    char *report = process_format(
        REPORT("%s"), process_format(DEVICE("\"n\"", "%s, %s"), rows, CASE("train", "8", "1", "1234.4")));
    struct process_result result = merge(support_temporary_folder(), report, "");
    assert_int_equal(result.status, 0);
    assert_int_equal(process_count(result.output, "softmax           2 x 3"), 1);
    assert_int_equal(process_count(result.output, "failed: ops, fp32, native: no reason"), 1);
    assert_non_null(strstr(result.output, " 10 % "));
    assert_non_null(strstr(result.output, " 5 % "));
    assert_int_equal(process_count(result.output, "CPU kernels, tuned"), 1);
    assert_int_equal(process_count(result.output, "training step"), 1);
    assert_int_equal(process_count(result.output, " 1234 "), 1);
}

/* The device's bound in a report is ignored: it is recomputed, or omitted. */
static void test_stale_share(void **state)
{
    (void)state;
    static const char row[] = "{\"work\": \"op\", " WAY(
        "fp32") ", \"op\": \"softmax\", \"shape\": \"2\", "
                "\"kernel\": \"k\", \"seconds\": 1, \"best_seconds\": 1, \"spread\": 0, "
                "\"operations\": 1, \"bytes\": 1, \"share\": 7, \"bound\": \"x\"}";
    char *report = process_format(REPORT("%s"), process_format(DEVICE("\"n\"", "%s"), row));
    struct process_result result = merge(support_temporary_folder(), report, "--json");
    assert_int_equal(result.status, 0);
    json_t *merged = json_loads(result.output, 0, NULL);
    json_t *device = json_array_get(json_object_get(merged, "devices"), 0);
    json_t *first = json_array_get(json_object_get(device, "rows"), 0);
    assert_non_null(json_object_get(first, "bytes"));
    assert_null(json_object_get(first, "share"));
    assert_null(json_object_get(first, "bound"));
    json_decref(merged);
}

/* Standard input is a report too; a duplicate is reported; and a foreign report cannot move the cursor. */
static void test_foreign_reports(void **state)
{
    (void)state;
    static const char one[] = ONE("\"a\\u001b[2J\\n\\u009bz\"", "");
    const char *folder = support_temporary_folder();
    process_write(folder, "report", one, strlen(one));
    struct process_result result = run_clformer(one, process_format("bench --merge %s/report -", folder));
    assert_int_equal(result.status, 0);
    assert_int_equal(process_count(result.output, "  a\033[2J\n\302\233z  [cpu]"), 2); /* no terminal */
    assert_non_null(strstr(result.errors, "warning: standard input: a\\x1b[2J\n\\u009bz, measured 2026, is "
                                          "also in an earlier report"));
    result = run_clformer("\"\x1b", "bench --merge -");
    assert_refused(result, 1, "standard input: line 1");
    assert_null(strchr(result.errors, '\x1b'));
    result = run_clformer(one, "bench --merge - --quiet");
    assert_int_equal(result.status, 0);
    assert_string_equal(result.errors, "");
}

/* A page on standard output is the only output. */
static void test_page_as_output(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    struct process_result result = merge(folder, ONE("\"n\"", ""), "--html -");
    assert_int_equal(result.status, 0);
    assert_int_equal(strncmp(result.output, "<!DOCTYPE html>", 15), 0);
    assert_string_equal(strstr(result.output, "</html>"), "</html>\n");
    result = merge(folder, ONE("\"n\"", ""), "--html - --json");
    assert_refused(result, 2, "--json and --html -");
}

/* A report of one device with one row of each kind, into which errors are inserted. */
static void test_merge_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "bad"},
        {"{\"format\": 1", "line 1"},
        {"[]", "\"format\""},
        {"{\"format\": \"clformer bench\", \"format_version\": 2}", "\"format_version\""},
        {"{\"format\": \"clformer bench\", \"format_version\": 1, \"devices\": {}}", "\"devices\""},
        {"{\"format\": \"clformer bench\", \"format_version\": 1, \"devices\": [3]}", "devices[0]"},
        {ONE("3", ""), "devices[0].name is 3, not text"},
        {REPORT(""), "nothing was measured"},
        {ONE("\"n\"", "{\"work\": \"start\"}"), "devices[0].rows[0].precision is missing"},
        {ONE("\"n\"", "{\"work\": \"start\", \"precision\": \"fp32\", \"seconds\": -1}"),
         "devices[0].rows[0].seconds"},
        {ONE("\"n\"", "{\"work\": \"op\", \"precision\": \"fp32\", \"gemm\": \"native\", \"op\": []}"),
         "devices[0].rows[0].op"},
        {ONE("\"n\"", OP("fp32", "softmax", "0", "8")),
         "best_seconds is 0, not a number from 1e-30 to 1e+30"},
        {ONE("\"n\"", OP("fp32", "softmax", "1e-200", "8")), "best_seconds is 1e-200"},
        {ONE("\"n\"", OP("fp32", "softmax", "1", "0")), "devices[0].rows[0].bytes is 0"},
        {ONE("\"n\"", OP("fp32", "softmax", "[]", "1")), "best_seconds is a list, not a number"},
        {ONE("\"n\"", CASE("encode", "1", "1", "1e300")), "tokens_per_second is 1e+300"},
        {ONE("\"n\"", "{\"work\": \"op\", \"precision\": \"fp32\", \"error\": 1}"),
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
    assert_refused(result, 1, "/no/such/file: cannot be read: No such file");
    static const char *const flags[] = {"-d 7", "--repeats 3", "--gemm native", "-m m", "--stage encode"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        result = run_clformer(NULL, process_format("%s %s", call, flags[i]));
        assert_refused(result, 2, "--merge: measures nothing");
    }
    const char *good = ONE("\"n\"", "");
    process_write(folder, "bad", good, strlen(good));
    result = run_clformer(NULL, process_format("%s --html %s/page.html", call, folder));
    assert_int_equal(result.status, 0);
    check_page(folder, "page.html", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_table, support_teardown),
        cmocka_unit_test_teardown(test_stale_share, support_teardown),
        cmocka_unit_test_teardown(test_foreign_reports, support_teardown),
        cmocka_unit_test_teardown(test_page_as_output, support_teardown),
        cmocka_unit_test_teardown(test_merge_refuses, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
