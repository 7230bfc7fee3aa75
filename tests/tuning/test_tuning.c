/* The file of `clformer tune`: contents, errors, and precedence. */
#include "runtime/tuning/tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <clformer/log.h>

#include "base/file.h"
#include "base/memory.h"
#include "runtime/device/caps.h"
#include "runtime/opencl/testing.h"
#include "support/cache_home.h"
#include "support/support.h"

static char warnings[4096];

static void take_warning(clf_log_level level, const char *message, void *user)
{
    (void)user;
    if (level == CLF_LOG_WARNING) {
        size_t used = strlen(warnings);
        snprintf(warnings + used, sizeof warnings - used, "%s\n", message);
    }
}

/* The default device's file, in a separate cache folder. */
static char *tuning_path(void)
{
    set_cache_home(support_temporary_folder());
    struct clf_device_list *list;
    assert_ok(clf_device_list_create(&list));
    struct clf_device *device;
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.use_program_cache = 0;
    assert_ok(clf_device_open(&device, NULL, &options));
    char *path;
    assert_ok(clf__tuning_path(&path, clf_device_describe(device)));
    clf_device_close(device);
    clf_device_list_free(list);
    return path;
}

static void write_text(const char *path, const char *text)
{
    char *folder = NULL;
    assert_ok(clf__copy_string(&folder, path));
    *strrchr(folder, '/') = '\0';
    assert_ok(clf__folder_create(folder));
    clf__free(folder);
    assert_ok(clf__file_write(path, text, strlen(text)));
}

static char *temporary_path(void)
{
    char *path;
    assert_ok(clf__path_join(&path, support_temporary_folder(), "tuning.txt"));
    return path;
}

static void test_table(void **state)
{
    (void)state;
    struct clf__tuning standard = clf__tuning_standard(), other = standard;
    other.values[CLF__TUNABLE_CPU_GROUPS]++;
    assert_true(clf__tuning_is_standard(&standard) && !clf__tuning_is_standard(&other));
    for (int i = 0; i < CLF__TUNABLE_COUNT; i++) {
        const struct clf__tunable_info *tunable = &clf__tunables[i];
        int has_standard = 0;
        for (int j = 0; j < tunable->candidate_count; j++) {
            int value = tunable->candidates[j];
            assert_true(value >= tunable->least && value <= tunable->most);
            has_standard |= value == tunable->standard;
            for (int k = 0; k < j; k++) {
                assert_int_not_equal(value, tunable->candidates[k]);
            }
        }
        assert_true(has_standard && tunable->candidate_count > 1);
        assert_int_equal(standard.values[i], tunable->standard);
        assert_int_equal(tunable->words != NULL, i < CLF__TUNABLE_CHOICES);
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(clf__tunables[j].name, tunable->name);
        }
    }
}

/* A written file is read back, with notes, and replaces the old one. */
static void test_round_trip(void **state)
{
    (void)state;
    char *path = temporary_path();
    struct clf_device_info info = {.name = "a device", .driver = "1", .platform_name = "a platform"};
    struct clf__tuning_file file, again;
    assert_ok(clf__tuning_read(&file, path)); /* there is none */
    for (int i = 0; i < CLF__TUNABLE_COUNT; i++) {
        assert_false(file.is_set[i]);
        assert_int_equal(file.tuning.values[i], clf__tunables[i].standard);
        assert_ok(clf__tuning_set(&file, (enum clf__tunable)i, clf__tunables[i].most, i % 2 ? "1 ms" : NULL));
        assert_ok(clf__tuning_write(path, &info, &file));
    }
    assert_ok(clf__tuning_read(&again, path));
    for (int i = 0; i < CLF__TUNABLE_COUNT; i++) {
        assert_true(again.is_set[i]);
        assert_int_equal(again.tuning.values[i], clf__tunables[i].most);
        assert_int_equal(again.notes[i] != NULL, i % 2);
        assert_true(again.notes[i] == NULL || strcmp(again.notes[i], "1 ms") == 0);
    }
    clf__tuning_file_free(&file);
    clf__tuning_file_free(&again);
    clf__free(path);
}

/* A failed write leaves the old file complete. */
static void test_failed_write(void **state)
{
    (void)state;
    struct clf_device_info info = {.name = "a device", .driver = "1", .platform_name = "a platform"};
    char *path, *below;
    assert_ok(clf__path_join(&path, support_temporary_folder(), "file"));
    write_text(path, "cpu_groups = 4\n");
    assert_ok(clf__path_join(&below, path, "tuning.txt")); /* its folder is a file */
    struct clf__tuning_file file = {.tuning = clf__tuning_standard()};
    assert_ok(clf__tuning_set(&file, CLF__TUNABLE_CPU_GROUPS, 2, NULL));
    assert_fails(clf__tuning_write(below, &info, &file), CLF_FILE, path);
    clf__tuning_file_free(&file);
    assert_ok(clf__tuning_read(&file, path));
    assert_int_equal(file.tuning.values[CLF__TUNABLE_CPU_GROUPS], 4);
    clf__tuning_file_free(&file);
    clf__free(below);
    clf__free(path);
}

static void test_bad_lines(void **state)
{
    (void)state;
    static const struct {
        const char *text, *warning;
    } cases[] = {
        {"# only\n\n  \n", ""},
        {"cpu_groups = 4", ""},
        {"  cpu_groups=4   # a note\n", ""},
        {"cpu_groups = 4\ncpu_grupps = 3\n", ":2: unknown parameter \"cpu_grupps\"; the line is ignored"},
        {"\ncpu_groups\n", ":2: \"cpu_groups\" is not of the form \"name = value\"; the line is ignored"},
        {"cpu_groups = many\n", ":1: cpu_groups = many: the value is not an integer"},
        {"cpu_groups = 4x\n", ":1: cpu_groups = 4x: the value is not an integer"},
        {"cpu_groups = \n", ":1: cpu_groups = : the value is not an integer"},
        {"cpu_groups = 0\n", ":1: cpu_groups = 0: the value is out of range"},
        {"cpu_groups = 99999999999999999999\n", "the value is out of range"},
        {"variant = cqu\n", ":1: variant = cqu: the value is not one of the allowed values"},
        {"variant = 1\n", ":1: variant = 1: the value is not one of the allowed values"},
        {"= 4\n", ":1: unknown parameter \"\"; the line is ignored"},
    };
    char *path = temporary_path();
    clf_log_set(take_warning, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clf__tuning_file file;
        write_text(path, cases[i].text);
        warnings[0] = '\0';
        assert_ok(clf__tuning_read(&file, path));
        assert_int_equal(*warnings != '\0', *cases[i].warning != '\0');
        assert_non_null(strstr(warnings, cases[i].warning));
        assert_true(*warnings == '\0' || strstr(warnings, path) != NULL);
        int is_four = strstr(cases[i].text, "cpu_groups = 4\n") != NULL || i == 1 || i == 2;
        assert_int_equal(file.tuning.values[CLF__TUNABLE_CPU_GROUPS], is_four ? 4 : 8);
        assert_int_equal(file.tuning.values[CLF__TUNABLE_VARIANT], CLF_VARIANT_AUTO);
        clf__tuning_file_free(&file);
    }
    /* Not a file at all, and one that is too large. */
    struct clf__tuning_file file;
    warnings[0] = '\0';
    assert_ok(clf__tuning_read(&file, support_temporary_folder()));
    assert_non_null(strstr(warnings, "the device is not tuned"));
    char *large = support_array(1 << 17, 1);
    memset(large, '\n', (1 << 17) - 1);
    write_text(path, large);
    warnings[0] = '\0';
    assert_ok(clf__tuning_read(&file, path));
    assert_non_null(strstr(warnings, path));
    clf_log_set(NULL, NULL);
    clf__free(path);
}

/* A file that another user may have written is neither read nor overwritten. */
static void test_whose_file(void **state)
{
    (void)state;
    struct clf_device_info info = {.name = "a device", .driver = "1", .platform_name = "a platform"};
    struct clf__tuning_file file;
    char *path = temporary_path(), folder[300];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    write_text(path, "cpu_groups = 4\n");
    clf_log_set(take_warning, NULL);
    for (int of_folder = 0; of_folder < 2; of_folder++) {
        const char *open = of_folder ? folder : path;
        warnings[0] = '\0';
        assert_int_equal(chmod(open, of_folder ? 0777 : 0666), 0);
        assert_ok(clf__tuning_read(&file, path));
        assert_int_equal(file.tuning.values[CLF__TUNABLE_CPU_GROUPS], 8);
        assert_non_null(strstr(warnings, open));
        assert_non_null(strstr(warnings, "the device is not tuned"));
        if (of_folder) {
            assert_fails(clf__tuning_write(path, &info, &file), CLF_FILE, folder);
        }
        clf__tuning_file_free(&file);
        assert_int_equal(chmod(open, of_folder ? 0700 : 0600), 0);
        assert_ok(clf__tuning_read(&file, path));
        assert_int_equal(file.tuning.values[CLF__TUNABLE_CPU_GROUPS], 4);
        clf__tuning_file_free(&file);
    }
    clf_log_set(NULL, NULL);
    clf__free(path);
}

static void assert_opened(const struct clf_device_options *options, clf_variant variant, int groups)
{
    struct clf_device *device;
    assert_ok(clf_device_open(&device, NULL, options));
    const struct clf__caps *caps = clf__device_caps(device);
    assert_int_equal(caps->variant, variant);
    assert_int_equal(caps->tuning.values[CLF__TUNABLE_CPU_GROUPS], groups);
    clf_device_close(device);
}

/* Options take precedence over the environment, the file and the default, in this order. */
static void test_precedence(void **state)
{
    (void)state;
    char *path = tuning_path();
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.use_program_cache = 0;
    unsetenv("CLFORMER_VARIANT");
    clf_variant own = clf_device_describe(support_device(CLF_VARIANT_CPU))->variant;
    setenv("CLFORMER_TUNING", "on", 1);
    clf_variant other = own == CLF_VARIANT_CPU ? CLF_VARIANT_GPU : CLF_VARIANT_CPU;
    assert_opened(&options, own, 8);
    write_text(path, other == CLF_VARIANT_GPU ? "variant = gpu\ncpu_groups = 5\n"
                                              : "variant = cpu\ncpu_groups = 5\n");
    assert_opened(&options, other, 5);
    setenv("CLFORMER_VARIANT", "auto", 1);
    assert_opened(&options, own, 5);
    setenv("CLFORMER_VARIANT", own == CLF_VARIANT_CPU ? "cpu" : "gpu", 1);
    assert_opened(&options, own, 5);
    options.variant = other;
    assert_opened(&options, other, 5);
    options.variant = CLF_VARIANT_AUTO;
    unsetenv("CLFORMER_VARIANT");
    options.use_tuning = 0;
    assert_opened(&options, own, 8);
    options.use_tuning = 1;
    setenv("CLFORMER_TUNING", "off", 1);
    assert_opened(&options, own, 8);
    clf__free(path);
}

/* A device that fails with tuned values is opened without them. */
static void test_failing_open(void **state)
{
    (void)state;
    char *path = tuning_path();
    write_text(path, "cpu_groups = 5\n");
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.use_program_cache = 0;
    clf_variant own = clf_device_describe(support_device(CLF_VARIANT_CPU))->variant;
    setenv("CLFORMER_TUNING", "on", 1);
    struct clf_device_list *list;
    clf__device_fail_at(0);
    assert_ok(clf_device_list_create(&list));
    uint64_t listing = clf__device_call_count();
    clf_device_list_free(list);
    clf_log_set(take_warning, NULL);
    warnings[0] = '\0';
    clf__device_fail_at(listing + 1);
    assert_opened(&options, own, 8);
    clf__device_fail_at(0);
    clf_log_set(NULL, NULL);
    assert_non_null(strstr(warnings, "fails with its tuned parameters"));
    setenv("CLFORMER_TUNING", "off", 1);
    clf__free(path);
}

/* Another driver or device has another file. */
static void test_key(void **state)
{
    (void)state;
    struct clf_device_info info = {
        .name = "a", .version = "b", .driver = "c", .platform_name = "d", .platform_version = "e"};
    struct clf_device_info others[] = {info, info, info};
    others[0].driver = "c2";
    others[1].name = "a2";
    others[2].platform_version = "e2";
    char *path, *other;
    assert_ok(clf__tuning_path(&path, &info));
    for (int i = 0; i < 3; i++) {
        assert_ok(clf__tuning_path(&other, &others[i]));
        assert_string_not_equal(path, other);
        clf__free(other);
    }
    assert_ok(clf__tuning_path(&other, &info));
    assert_string_equal(path, other);
    clf__free(other);
    clf__free(path);
}

/* Reads the file of a device and writes it again. */
static clf_status load_and_write(const struct clf_device_info *info, struct clf__tuning *tuning)
{
    struct clf_device_options options;
    clf_device_options_init(&options);
    struct clf__tuning_file file = {.notes = {NULL}};
    char *path = NULL;
    int is_tuned = 0;
    clf_status status = clf__tuning_load(tuning, &is_tuned, info, &options);
    if (status == CLF_OK) {
        status = clf__tuning_path(&path, info);
    }
    if (status == CLF_OK) {
        status = clf__tuning_read(&file, path);
    }
    if (status == CLF_OK) {
        status = clf__tuning_set(&file, CLF__TUNABLE_CPU_GROUPS, 5, "a note");
    }
    if (status == CLF_OK) {
        status = clf__tuning_write(path, info, &file);
    }
    clf__tuning_file_free(&file);
    clf__free(path);
    return status;
}

/* Whichever allocation fails, the file stays complete and nothing leaks. */
static void test_no_memory(void **state)
{
    (void)state;
    struct clf_device_info info = {
        .name = "a", .version = "b", .driver = "c", .platform_name = "d", .platform_version = "e"};
    set_cache_home(support_temporary_folder());
    setenv("CLFORMER_TUNING", "on", 1);
    char *path;
    assert_ok(clf__tuning_path(&path, &info));
    write_text(path, "cpu_groups = 5  # a note\ncpu_operand_kib = 64\n");
    struct clf__tuning tuning;
    clf_status status = CLF_OUT_OF_MEMORY;
    for (uint64_t n = 1; status != CLF_OK; n++) {
        assert_true(n < 1000);
        clf__memory_fail_at(n);
        status = load_and_write(&info, &tuning);
        clf__memory_fail_at(0);
        assert_true(status == CLF_OK || status == CLF_OUT_OF_MEMORY);
        struct clf__tuning_file file;
        assert_ok(clf__tuning_read(&file, path));
        assert_int_equal(file.tuning.values[CLF__TUNABLE_CPU_GROUPS], 5);
        assert_int_equal(file.tuning.values[CLF__TUNABLE_CPU_OPERAND], 64);
        clf__tuning_file_free(&file);
    }
    assert_int_equal(tuning.values[CLF__TUNABLE_CPU_OPERAND], 64);
    setenv("CLFORMER_TUNING", "off", 1);
    clf__free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_table, support_teardown),
        cmocka_unit_test_teardown(test_round_trip, support_teardown),
        cmocka_unit_test_teardown(test_failed_write, support_teardown),
        cmocka_unit_test_teardown(test_bad_lines, support_teardown),
        cmocka_unit_test_teardown(test_whose_file, support_teardown),
        cmocka_unit_test_teardown(test_key, support_teardown),
        cmocka_unit_test_teardown(test_no_memory, support_teardown),
        cmocka_unit_test_teardown(test_precedence, support_teardown),
        cmocka_unit_test_teardown(test_failing_open, support_teardown),
    };
    umask(022); /* files of tests belong to the user */
    return cmocka_run_group_tests_name("device/tuning", tests, NULL, NULL);
}
