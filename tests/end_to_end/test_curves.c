/* `clformer curves`: from training logs to a page. */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/process.h"

/* One line without its newline: the loss is 10 / update; `more` follows the other keys. */
static size_t put_line(char *log, size_t capacity, int update, const char *more)
{
    return (size_t)snprintf(log, capacity,
                            "{\"update\":%d,\"epoch\":%d,\"loss\":%.17g,\"nll\":1,\"learning_rate\":0.1,"
                            "\"gradient_norm\":2,\"source_tokens\":10,\"target_tokens\":30,\"seconds\":0.5,"
                            "\"skipped\":0%s}\n",
                            update, 1 + update / 100, 10.0 / update, more);
}

/* Writes the log of a run with a validation every ten updates. */
static void write_log(const char *folder, const char *name, int updates)
{
    size_t capacity = (size_t)updates * 512 + 512, size = 0;
    char *log = support_array(capacity, 1);
    for (int i = 1; i <= updates; i++) {
        size += put_line(log + size, capacity - size, i,
                         i == 1 ? ",\"start\":{\"device\":\"</script>\",\"recipe\":{\"seed\":7}}" : "");
        if (i % 10 == 0) {
            size += put_line(
                log + size, capacity - size, i,
                process_format(",\"validation\":{\"loss\":3,\"perplexity\":20,\"bleu\":%d,\"best\":true,"
                               "\"samples\":[{\"source\":\"s\",\"reference\":\"<b>\","
                               "\"translation\":\"t\"}]}",
                               i));
        }
    }
    process_write(folder, name, log, size);
}

/* Returns the data of a page; the caller releases it. */
static json_t *page_data(const char *page)
{
    const char *data = strstr(page, "<script type=\"application/json\" id=\"data\">");
    assert_non_null(data);
    data = strchr(data, '>') + 1;
    json_t *object = json_loadb(data, strcspn(data, "<"), 0, NULL);
    assert_non_null(object);
    return object;
}

static const json_t *curve(const json_t *data, int run, const char *name)
{
    const json_t *curves =
        json_object_get(json_array_get(json_object_get(data, "runs"), (size_t)run), "curves");
    const json_t *values = json_object_get(curves, name);
    assert_true(json_is_array(values));
    return values;
}

static double value(const json_t *curve, size_t index)
{
    return json_number_value(json_array_get(curve, index));
}

static json_t *page_of(const char *arguments)
{
    struct process_result result = run_clformer(NULL, process_format("curves -o - %s", arguments));
    assert_int_equal(result.status, 0);
    assert_string_equal(result.errors, "");
    return page_data(result.output);
}

static void test_page(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    write_log(folder, "one.log", 40);
    struct process_result result =
        run_clformer(NULL, process_format("curves %s/one.log -o %s/page.html", folder, folder));
    assert_output(result, "");
    size_t size;
    char *page = process_read(folder, "page.html", &size);
    assert_int_equal(strncmp(page, "<!DOCTYPE html>", 15), 0);
    assert_int_equal(process_count(page, "<script"), process_count(page, "</script>"));
    assert_int_equal(process_count(page, "http"), 0); /* the page loads nothing from a network */
    assert_int_equal(process_count(page, "@TITLE@") + process_count(page, "@DATA@"), 0);
    json_t *data = page_data(page);
    assert_int_equal(json_array_size(curve(data, 0, "loss")), 40);
    assert_true(value(curve(data, 0, "loss"), 3) == 2.5);
    const json_t *run = json_array_get(json_object_get(data, "runs"), 0);
    const json_t *validations = json_object_get(run, "validations");
    assert_int_equal(json_array_size(validations), 4);
    const json_t *last = json_array_get(validations, 3);
    assert_int_equal(json_integer_value(json_object_get(last, "update")), 40);
    assert_int_equal(json_integer_value(json_object_get(last, "bleu")), 40);
    json_decref(data);
}

static int64_t best_update(const json_t *run, const char *name)
{
    const json_t *index = json_object_get(json_object_get(run, "best"), name);
    assert_true(json_is_integer(index));
    const json_t *found =
        json_array_get(json_object_get(run, "validations"), (size_t)json_integer_value(index));
    return json_integer_value(json_object_get(found, "update"));
}

/* Each metric has a separate best, whatever the recipe kept, and the first on ties; a metric that was never
 * measured has none. */
static void test_best(void **state)
{
    (void)state;
    static const char *const validations[] = {
        ",\"validation\":{\"loss\":4,\"perplexity\":40,\"bleu\":10,\"best\":true}",
        ",\"validation\":{\"loss\":3,\"perplexity\":30,\"bleu\":12,\"best\":true}",
        ",\"validation\":{\"loss\":3.5,\"perplexity\":20,\"bleu\":15,\"best\":false}",
        ",\"validation\":{\"loss\":3.1,\"perplexity\":null,\"bleu\":15,\"best\":false}",
    };
    const char *folder = support_temporary_folder();
    char log[8192], unmeasured[1024];
    size_t size = 0;
    for (int i = 0; i < 4; i++) {
        size += put_line(log + size, sizeof log - size, i + 1, "");
        size += put_line(log + size, sizeof log - size, i + 1, validations[i]);
    }
    process_write(folder, "log", log, size);
    size = put_line(unmeasured, sizeof unmeasured, 1, ",\"validation\":{\"loss\":4,\"bleu\":null}");
    process_write(folder, "unmeasured", unmeasured, size);
    json_t *data = page_of(process_format("%s/log %s/unmeasured", folder, folder));
    const json_t *runs = json_object_get(data, "runs"), *run = json_array_get(runs, 0);
    assert_int_equal(best_update(run, "loss"), 2);
    assert_int_equal(best_update(run, "perplexity"), 3);
    assert_int_equal(best_update(run, "bleu"), 3);
    const json_t *none = json_object_get(json_array_get(runs, 1), "best");
    assert_int_equal(json_object_size(none), 1); /* the loss */
    json_decref(data);
}

/* Runs are named by the differing parts of their paths; parent folders are not disclosed. */
static void test_names(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    assert_int_equal(mkdir(process_format("%s/a", folder), 0700), 0);
    write_log(folder, "a/log", 3);
    write_log(folder, "log", 3);
    json_t *data = page_of(process_format("%s/a/log %s/log", folder, folder));
    const json_t *runs = json_object_get(data, "runs");
    assert_string_equal(json_string_value(json_object_get(json_array_get(runs, 0), "name")), "a/log");
    assert_string_equal(json_string_value(json_object_get(json_array_get(runs, 1), "name")), "log");
    json_decref(data);
    struct process_result result = run_clformer(NULL, process_format("curves %s/a/log -o -", folder));
    assert_int_equal(process_count(result.output, "Training: log<"), 2);
    assert_int_equal(process_count(result.output, folder), 0);
}

/* Writes a log in which every line has a start with a list of empty lists. */
static const char *write_lists(const char *folder, int lines, int lists)
{
    size_t each = 3 * (size_t)lists + 100, size = 0;
    char *log = support_array((size_t)lines * each, 1);
    for (int i = 1; i <= lines; i++) {
        size += (size_t)snprintf(log + size, each, "{\"update\":%d,\"loss\":1,\"start\":{\"a\":[[]", i);
        for (int k = 1; k < lists; k++) {
            memcpy(log + size, ",[]", 3);
            size += 3;
        }
        size += (size_t)snprintf(log + size, 8, "]}}\n");
    }
    process_write(folder, "log", log, size);
    return process_format("%s/log", folder);
}

/* An empty list of two bytes takes some hundred in memory: values are limited, per line and in total. */
static void test_memory(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    struct process_result result =
        run_clformer(NULL, process_format("curves %s -o -", write_lists(folder, 1, 1 << 16)));
    assert_refused(result, 1, "has more JSON values than the limit of 65536 for such files");
    result = run_clformer(NULL, process_format("curves %s -o -", write_lists(folder, 20, 60000)));
    assert_refused(result, 1, "line 18: starts and validations exceed 1048576 values at this line");
    result = run_clformer(NULL, process_format("curves %s -o -", write_lists(folder, 3, 60000)));
    assert_int_equal(result.status, 0);
    char deep[1024] = "{\"update\":1,\"loss\":1,\"start\":";
    memset(deep + strlen(deep), '[', 200);
    strcat(deep, "\n");
    process_write(folder, "log", deep, strlen(deep));
    result = run_clformer(NULL, process_format("curves %s/log -o -", folder));
    assert_refused(result, 1, "nesting deeper than 100");
}

/* A page replaces a page or an empty file; a log is kept. */
static void test_what_is_written_over(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    write_log(folder, "log", 3);
    size_t size;
    const char *log = process_read(folder, "log", &size);
    struct process_result result =
        run_clformer(NULL, process_format("curves %s/log -o %s/log", folder, folder));
    assert_refused(result, 1, "log: exists and is not an HTML page");
    assert_string_equal(process_read(folder, "log", &size), log);
    static const char *const others[] = {"", "<!DOCTYPE html>\nan earlier one", "<!DOCTYPE"};
    for (int i = 0; i < 3; i++) {
        process_write(folder, "page", others[i], strlen(others[i]));
        result = run_clformer(NULL, process_format("curves %s/log -o %s/page", folder, folder));
        assert_int_equal(result.status, i < 2 ? 0 : 1);
    }
}

/* A long run is thinned: each point covers equally many updates, and none is lost. */
static void test_long(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    write_log(folder, "one.log", 3001);
    write_log(folder, "two.log", 30);
    json_t *data = page_of(process_format("%s/one.log %s/two.log", folder, folder));
    const json_t *updates = curve(data, 0, "update"), *tokens = curve(data, 0, "tokens");
    size_t count = json_array_size(updates);
    assert_true(count > 600 && count <= 1200);
    assert_true(value(updates, count - 1) == 3001);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += value(tokens, i);
    }
    assert_true(sum == 3001 * 40);
    assert_true(value(curve(data, 0, "lowest"), 0) < value(curve(data, 0, "loss"), 0));
    assert_true(value(curve(data, 0, "highest"), 0) == 10);
    assert_int_equal(json_array_size(curve(data, 1, "loss")), 30);
    json_decref(data);
}

/* A run resumed from a checkpoint repeats some updates; a killed one leaves half a line. */
static void test_told_again(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    static const char log[] =
        "{\"update\":1,\"loss\":5}\n{\"update\":2,\"loss\":4}\n"
        "{\"update\":2,\"loss\":4,\"validation\":{\"loss\":9}}\n{\"update\":3,\"loss\":null}\n"
        "{\"update\":2,\"loss\":7}\n{\"update\":3,\"loss\":6}\n"
        "{\"update\":3,\"loss\":6,\"validation\":{\"loss\":8}}\n"
        "{\"update\":3,\"loss\":6,\"validation\":{\"loss\":8}}\n{\"update\":4,\"lo";
    process_write(folder, "log", log, sizeof log - 1);
    json_t *data = page_of(process_format("%s/log", folder));
    const json_t *loss = curve(data, 0, "loss");
    assert_int_equal(json_array_size(loss), 3);
    assert_true(value(loss, 0) == 5 && value(loss, 1) == 7 && value(loss, 2) == 6);
    const json_t *run = json_array_get(json_object_get(data, "runs"), 0);
    assert_int_equal(json_array_size(json_object_get(run, "validations")), 1);
    json_decref(data);
}

/* Another folder, or the first update again: another run. The same folder at a later update: the resumed
 * run. */
static void test_several_runs_in_one_log(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    static const struct {
        const char *output;
        int first, last;
    } parts[] = {{"a", 1, 3}, {"a", 3, 5}, {"b", 1, 2}, {"a", 6, 7}, {"a", 1, 1}};
    char log[8192];
    size_t size = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        for (int update = parts[i].first; update <= parts[i].last; update++) {
            const char *start = process_format(",\"start\":{\"output\":\"%s\",\"first_update\":%d}",
                                               parts[i].output, parts[i].first);
            size += put_line(log + size, sizeof log - size, update, update == parts[i].first ? start : "");
        }
    }
    process_write(folder, "log", log, size);
    json_t *data = page_of(process_format("%s/log", folder));
    static const size_t counts[] = {5, 2, 2, 1};
    const json_t *runs = json_object_get(data, "runs");
    assert_int_equal(json_array_size(runs), 4);
    for (size_t i = 0; i < 4; i++) {
        const char *name = json_string_value(json_object_get(json_array_get(runs, i), "name"));
        assert_string_equal(name, i == 1 ? "b" : "a");
        assert_int_equal(json_array_size(curve(data, (int)i, "loss")), counts[i]);
    }
    json_decref(data);
}

static void refuse_log(const char *text, const char *part)
{
    const char *folder = support_temporary_folder();
    process_write(folder, "log", text, strlen(text));
    struct process_result result =
        run_clformer(NULL, process_format("curves %s/log -o %s/page", folder, folder));
    assert_refused(result, 1, part);
    struct stat status;
    assert_int_not_equal(stat(process_format("%s/page", folder), &status), 0);
}

static void test_bad_logs(void **state)
{
    (void)state;
    refuse_log("", "has no updates yet");
    refuse_log("{\"update\":1,\"loss\":2}\nnonsense\n", "log, line 2: ");
    refuse_log("{\"update\":1}\n", "line 1: has no \"update\" or no \"loss\"");
    refuse_log("{\"update\":0,\"loss\":1}\n", "line 1");
    refuse_log("[1]\n", "line 1");
    refuse_log("{\"update\":1,\"loss\":[2],\"validation\":3,\"start\":\"x\"}\n{}\n", "line 2");
}

/* A signal while a log is read: no page is written. */
static void test_interrupt(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    struct coprocess curves = coprocess_start(process_format("curves /dev/stdin -o %s/page.html", folder));
    coprocess_write(&curves, "{\"update\":1,\"loss\":2}\n");
    kill(curves.child, SIGTERM);
    assert_int_equal(coprocess_end(&curves), 128 + SIGTERM);
    assert_int_not_equal(access(process_format("%s/page.html", folder), F_OK), 0);
}

static void test_bad_calls(void **state)
{
    (void)state;
    struct process_result result = run_clformer(NULL, "curves -o page.html");
    assert_refused(result, 2, "one or more logs");
    result = run_clformer(NULL, "curves log");
    assert_refused(result, 2, "-o FILE.html");
    result = run_clformer(NULL, "curves /no/such/log -o -");
    assert_refused(result, 1, "/no/such/log");
    result = run_clformer(NULL, "curves / -o -");
    assert_refused(result, 1, "/: cannot be read");
    result = run_clformer(NULL, "curves --help");
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.output, "$ clformer curves"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_page, support_teardown),
        cmocka_unit_test_teardown(test_best, support_teardown),
        cmocka_unit_test_teardown(test_memory, support_teardown),
        cmocka_unit_test_teardown(test_names, support_teardown),
        cmocka_unit_test_teardown(test_what_is_written_over, support_teardown),
        cmocka_unit_test_teardown(test_long, support_teardown),
        cmocka_unit_test_teardown(test_told_again, support_teardown),
        cmocka_unit_test_teardown(test_several_runs_in_one_log, support_teardown),
        cmocka_unit_test_teardown(test_bad_logs, support_teardown),
        cmocka_unit_test_teardown(test_interrupt, support_teardown),
        cmocka_unit_test_teardown(test_bad_calls, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
