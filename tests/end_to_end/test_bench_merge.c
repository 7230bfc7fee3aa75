/* Reports of `clformer bench` read back: what `--merge` refuses, and the table and page that it makes. */
#include <jansson.h>
#include <string.h>

#include "support/process.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_merge_refuses, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
