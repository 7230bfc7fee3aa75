/* Several devices translate the lines of one call. PoCL shows its CPU twice; another driver may add devices
 * (leg "drivers"), which give the same lines but not the same last bits of scores. */
#include <stdlib.h>
#include <string.h>

#include <clformer/device.h>

#include "support/process.h"

#define TRANSLATE "translate -m " DEMO_MODEL " "
#define SCORE     "score -m " DEMO_MODEL " "

/* Two devices of one driver, by their indices: "0,1". */
static const char *find_equal(void)
{
    struct clf_device_list *list;
    const char *found = NULL;
    assert_ok(clf_device_list_create(&list));
    for (int i = 0; i + 1 < clf_device_list_count(list) && found == NULL; i++) {
        const struct clf_device_info *one = clf_device_list_at(list, i),
                                     *next = clf_device_list_at(list, i + 1);
        if (strcmp(one->name, next->name) == 0 && one->candidate_order >= 0) {
            found = process_format("%d,%d", i, i + 1);
        }
    }
    clf_device_list_free(list);
    if (found == NULL) {
        skip(); /* the driver has only one device */
    }
    return found;
}

/* The model's lines, some of which are invalid or empty. */
static const char *read_lines(void)
{
    size_t size;
    const char *work = process_read(DEMO_MODEL, "work.txt", &size);
    return process_format("%s\n\xff\n%s", work, work);
}

static void test_translate(void **state)
{
    (void)state;
    const char *both = find_equal(), *lines = read_lines(), *comma = strchr(both, ',');
    const char *one = process_format("%.*s", (int)(comma - both), both);
    static const char *const flags[] = {"--json --beam 4", "--alignments", "--batch-tokens 64 --json",
                                        "--json --beam 1 --alternatives 2"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        struct process_result alone =
            run_clformer(lines, process_format(TRANSLATE "-d %s %s", one, flags[i]));
        struct process_result result =
            run_clformer(lines, process_format(TRANSLATE "-d %s %s", both, flags[i]));
        assert_int_equal(alone.status, 1);
        assert_int_equal(result.status, 1);
        assert_string_equal(result.errors, alone.errors); /* only line 66 */
        assert_string_equal(result.output, alone.output);
    }
}

/* All devices give the same lines. */
static void test_all(void **state)
{
    (void)state;
    find_equal();
    const char *lines = read_lines();
    struct process_result alone = run_clformer(lines, TRANSLATE "-q"), result;
    result = run_clformer(lines, TRANSLATE "-q -d all");
    assert_string_equal(result.output, alone.output);
    assert_int_equal(result.status, 1);
    result = process_run(&(struct process){.input = "Merci.\n", .environment = "CLFORMER_DEVICE=cpu*"},
                         TRANSLATE "-v");
    assert_int_equal(result.status, 0);
    assert_string_equal(result.output, "Thanks.\n");
    assert_true(process_count(result.errors, " batches\nclformer: device ") >= 1);
}

static void test_stream(void **state)
{
    (void)state;
    struct coprocess coprocess = coprocess_start(process_format(TRANSLATE "-q -d %s", find_equal()));
    coprocess_write(&coprocess, "Merci.\n");
    assert_string_equal(coprocess_read_line(&coprocess), "Thanks.\n");
    coprocess_write(&coprocess, "Merci beaucoup.\nOui.\n");
    assert_string_equal(coprocess_read_line(&coprocess), "Thank you very much.\n");
    assert_string_equal(coprocess_read_line(&coprocess), "Yes.\n");
    assert_int_equal(coprocess_end(&coprocess), 0);
    struct process_result result =
        run_clformer("Merci beaucoup.\n\nJe suis étudiant\n",
                     process_format(TRANSLATE "-q --beam 1 --stream -d %s", find_equal()));
    assert_output(result, "Thank you very much.\n\nI'm a student.\n");
}

static void test_score(void **state)
{
    (void)state;
    const char *both = find_equal(), *comma = strchr(both, ','), *folder = support_temporary_folder();
    const char *lines = read_lines(), *one = process_format("%.*s", (int)(comma - both), both);
    process_write(folder, "fr", lines, strlen(lines));
    struct process_result alone =
        run_clformer(NULL, process_format(SCORE "-d %s --json %s/fr %s/fr", one, folder, folder));
    struct process_result result =
        run_clformer(NULL, process_format(SCORE "-d %s --json %s/fr %s/fr", both, folder, folder));
    assert_int_equal(alone.status, 1);
    assert_int_equal(result.status, 1);
    assert_string_equal(result.output, alone.output);
    result = run_clformer(NULL, process_format(SCORE "-d all -q %s/fr %s/fr", folder, folder));
    assert_int_equal(process_count(result.output, "\n"), process_count(alone.output, "\n"));
}

/* Result of a run with a device that is lost at its process's n-th launch (tests/preload/lost.c). */
static struct process_result run_losing(const char *lines, int launch, const char *arguments)
{
#ifdef __SANITIZE_ADDRESS__
    skip(); /* its runtime must be loaded first */
#endif
    struct process process = {.input = lines,
                              .environment = process_format("LD_PRELOAD=%s", process_library("lost.so"))};
    setenv("LOST_AFTER", process_format("%d", launch), 1);
    struct process_result result = process_run(&process, arguments);
    unsetenv("LOST_AFTER");
    return result;
}

/* Lost at its first launch or later: it is named, and the other device translates all lines. */
static void test_lost(void **state)
{
    (void)state;
    size_t size;
    const char *lines = process_read(DEMO_MODEL, "work.txt", &size), *both = find_equal();
    struct process_result alone = run_clformer(lines, TRANSLATE "--json --batch-tokens 128");
    struct process_result first = run_losing(lines, 1 << 30, TRANSLATE "--json");
    assert_string_equal(first.errors, ""); /* which only counts */
    int seen = 0;
    for (int launch = 25; launch <= 1600; launch *= 2) {
        struct process_result result =
            run_losing(lines, launch, process_format(TRANSLATE "--json --batch-tokens 128 -d %s", both));
        assert_int_equal(result.status, 0);
        assert_string_equal(result.output, alone.output);
        int named = process_count(result.errors, ": skipped, and the other devices take over its lines: ");
        assert_int_equal(process_count(result.errors, ": skipped"), process_count(result.errors, "\n"));
        assert_in_range(process_count(result.errors, "\n"), 0, 1);
        seen += named;
    }
    assert_true(seen > 0);
    setenv("LOST_ALL", "1", 1);
    struct process_result none =
        run_losing(lines, 200, process_format(TRANSLATE "--json --batch-tokens 128 -d %s", both));
    unsetenv("LOST_ALL");
    assert_int_equal(none.status, 1);
    /* Lines that were finished before the loss are printed. */
    size_t printed = strlen(none.output);
    assert_true(printed < strlen(alone.output) && (printed == 0 || none.output[printed - 1] == '\n'));
    assert_memory_equal(none.output, alone.output, printed);
    assert_int_equal(process_count(none.errors, ": skipped, and the other devices take over its lines: "), 1);
    assert_int_equal(process_count(none.errors, "\n"), 2);
}

/* The only device is lost during work, so nothing can continue: enqueued work may still run while everything
 * is released. */
static void test_lost_alone(void **state)
{
    (void)state;
    size_t size;
    const char *folder = support_temporary_folder(), *lines = process_read(DEMO_MODEL, "work.txt", &size);
    process_write(folder, "fr", lines, size);
    const char *const calls[] = {
        process_format(SCORE "%s/fr %s/fr", folder, folder),
        process_format(
            "train --from " DEMO_MODEL
            " --train %s/fr %s/fr --batch-tokens 300 --micro-batches 2 --max-updates 3 -o %s/model",
            folder, folder, folder)};
    for (int i = 0; i < 2; i++) {
        for (int launch = 15; launch <= 45; launch += 15) {
            struct process_result result = run_losing(NULL, launch, calls[i]);
            assert_int_equal(result.status, 1);
            assert_int_equal(process_count(result.errors, "clformer: running kernel "), 1);
        }
    }
}

static void test_bench(void **state)
{
    (void)state;
    struct process_result result = run_clformer(
        NULL,
        process_format("bench --stage translate --repeats 1 --batch 8 --beam 1 --json -d %s", find_equal()));
    assert_int_equal(result.status, 0);
    assert_int_equal(process_count(result.output, "\"devices\":2"), 1);
    result =
        run_clformer(NULL, process_format("bench --stage score --repeats 1 --batch 8 -d %s", find_equal()));
    assert_int_equal(process_count(result.output, "  2 devices\n"), 1);
    result = run_clformer(NULL, process_format("bench --stage encode -d %s", find_equal()));
    assert_refused(result, 1, "expected a single OpenCL device instead of the list ");
}

static void test_wrong_lists(void **state)
{
    (void)state;
    struct process_result result = run_clformer("Merci.\n", TRANSLATE "-d 0,77");
    assert_refused(result, 1, "no OpenCL device matches \"77\"");
    result = run_clformer("Merci.\n", TRANSLATE "-d 0,,1");
    assert_refused(result, 1, "an empty item");
    result = run_clformer("Merci.\n", TRANSLATE "-d nosuch*");
    assert_refused(result, 1, "no OpenCL device matches \"nosuch\"");
    result = run_clformer(NULL, "attend -m " DEMO_MODEL " -o - -d 0,1 Merci.");
    assert_refused(result, 1, "expected a single OpenCL device instead of the list \"0,1\"; available: ");
}

int main(void)
{
    setenv("POCL_DEVICES", "pthread pthread", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_translate, support_teardown),
        cmocka_unit_test_teardown(test_all, support_teardown),
        cmocka_unit_test_teardown(test_stream, support_teardown),
        cmocka_unit_test_teardown(test_score, support_teardown),
        cmocka_unit_test_teardown(test_lost, support_teardown),
        cmocka_unit_test_teardown(test_lost_alone, support_teardown),
        cmocka_unit_test_teardown(test_bench, support_teardown),
        cmocka_unit_test_teardown(test_wrong_lists, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
