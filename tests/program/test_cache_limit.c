/* The limit on the size of the folder of compiled programs, and files that other processes left there. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "program/cache_use.h"
#include "runtime/program/cache.h"

static const char *make_file(const char *name, size_t size, time_t used)
{
    static char path[600];
    char *bytes = support_array(size, 1);
    struct timespec times[2] = {{.tv_sec = used}, {.tv_sec = used}};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    write_file(path, bytes, size);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    return path;
}

static int has_file(const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return clf__file_exists(path);
}

static void test_limit(void **state)
{
    (void)state;
    assert_ok(clf__folder_create(folder));
    make_file("a-0123456789abcdef.bin", 300, 2000);
    make_file("b-0123456789abcdef.bin", 400, 1000);
    make_file("c-0123456789abcdef.bin", 500, 3000);
    make_file("letter.bin", 5000, 1);
    make_file("d-0123456789abcdef.list", 100, 500);
    make_file("a-letter-of-17-pages.bin", 5000, 1);
    assert_ok(clf__program_cache_limit(folder, 1200));
    assert_false(has_file("d-0123456789abcdef.list"));
    assert_true(has_file("b-0123456789abcdef.bin"));
    assert_ok(clf__program_cache_limit(folder, 1199));
    assert_false(has_file("b-0123456789abcdef.bin"));
    assert_true(has_file("a-0123456789abcdef.bin"));
    assert_ok(clf__program_cache_limit(folder, 500));
    assert_false(has_file("a-0123456789abcdef.bin"));
    assert_true(has_file("c-0123456789abcdef.bin"));
    assert_true(has_file("letter.bin"));
    assert_true(has_file("a-letter-of-17-pages.bin"));
    for (uint64_t n = 1; n < 20; n++) { /* every lack of memory is reported */
        clf__memory_fail_at(n);
        clf_status status = clf__program_cache_limit(folder, 500);
        clf__memory_fail_at(0);
        assert_true(status == CLF_OK || status == CLF_OUT_OF_MEMORY);
    }
    assert_true(has_file("c-0123456789abcdef.bin"));
}

/* Programs in use are kept before unused ones. */
static void test_limit_in_use(void **state)
{
    (void)state;
    use_device("one", 0);
    size_t probe_size, size;
    read_file(find_file("probe-"), &probe_size);
    read_file(find_file("cached-"), &size);
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, find_file("probe-"), times, 0), 0); /* the oldest, but in use */
    make_file("old-0123456789abcdef.bin", size, 2000);
    char limit[32];
    snprintf(limit, sizeof limit, "%zu",
             probe_size + 2 * size + size / 2); /* for one less than there will be */
    setenv("CLFORMER_CACHE_BYTES", limit, 1);
    assert_use(use_device("one", 1), 1, 1, 0);
    assert_false(has_file("old-0123456789abcdef.bin"));
    assert_use(use_device("one", 0), 0, 2, 0); /* both exist, and the first is used last */
    assert_use(use_device("one", 2), 1, 1, 0);
    assert_use(use_device("one", 0), 0, 2, 0);
    assert_use(use_device("one", 1), 1, 1, 0);
    setenv("CLFORMER_CACHE_BYTES", "1", 1);
    assert_use(use_device("one", 3), 1, 1, 0);
    assert_use(use_device("one", 3), 2, 0, 0); /* nothing fits, not even the probe */
    setenv("CLFORMER_CACHE_BYTES", "0", 1);
    assert_int_equal(use_device("one", 3).notices, 0); /* nothing is to be kept */
    struct clf_device *device;
    setenv("CLFORMER_CACHE_BYTES", "much", 1);
    assert_fails(clf_device_open(&device, NULL, NULL), CLF_BAD_ARGUMENT, "CLFORMER_CACHE_BYTES");
    unsetenv("CLFORMER_CACHE_BYTES");
}

static void test_stray_files(void **state)
{
    (void)state;
    static const char *const kept[] = {"letter.tmp", "x-0123456789abcdef.bin.tmp",
                                       "x-0123456789abcdef.bin.1-2.tmp.old", "notes.bin.999999999-2.tmp",
                                       "x-0123456789abcdef.bin.999999999-old.tmp"};
    char gone[64], list[64], own[64], old[64];
    pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_ok(clf__folder_create(folder));
    snprintf(gone, sizeof gone, "x-0123456789abcdef.bin.%ld-0.tmp", (long)child);
    snprintf(list, sizeof list, "x-0123456789abcdef.list.%ld-0.tmp", (long)child);
    snprintf(own, sizeof own, "x-0123456789abcdef.bin.%ld-1000000.tmp", (long)getpid());
    snprintf(old, sizeof old, "x-0123456789abcdef.bin.%ld-1000001.tmp", (long)getpid());
    make_file(gone, 10, time(NULL));
    make_file(list, 10, time(NULL));
    make_file(own, 10, time(NULL));
    make_file(old, 10, 1000);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        make_file(kept[i], 10, 1000);
    }
    use_device("one", 0);
    assert_false(has_file(gone));
    assert_false(has_file(list));
    assert_false(has_file(old)); /* unmodified for a day */
    assert_true(has_file(own));
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        assert_true(has_file(kept[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_limit, start, finish),
        cmocka_unit_test_setup_teardown(test_limit_in_use, start, finish),
        cmocka_unit_test_setup_teardown(test_stray_files, start, finish),
    };
    umask(022); /* files of tests belong to the user */
    return cmocka_run_group_tests_name("program/cache_limit", tests, NULL, NULL);
}
