/* Compiled programs on disk: used if complete and trusted, otherwise ignored with one warning. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "program/cache_use.h"
#include "runtime/program/cache.h"

static void test_second_start(void **state)
{
    (void)state;
    assert_use(use_device("one", 5), 2, 0, 0); /* the probe and ours */
    assert_use(use_device("one", 5), 0, 2, 0);
    assert_use(use_device("one", 6), 1, 1, 0);         /* other defines are another program */
    assert_int_equal(use_device("two", 7).notices, 2); /* that it compiles, and that it writes */
    assert_int_equal(use_device("two", 7).notices, 0);
    assert_use(use_device("one", 6), 0, 2, 0);
}

/* A kernel first used in a later start is added to the file. */
static void test_grows(void **state)
{
    (void)state;
    size_t size;
    use_device("one", 0);
    assert_use(use_device("two", 0), 0, 2, 0);
    char *bytes = read_file(find_file("cached-"), &size);
    assert_use(use_device("two", 0), 0, 2, 0);
    assert_use(use_device("one", 0), 0, 2, 0);
    size_t same_size;
    char *same = read_file(find_file("cached-"), &same_size);
    assert_int_equal(same_size, size); /* only known kernels ran: the file was left unchanged */
    assert_memory_equal(same, bytes, size);
}

static void test_not_asked_for(void **state)
{
    (void)state;
    struct clf_device *device;
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.use_program_cache = 0;
    assert_ok(clf_device_open(&device, NULL, &options));
    clf_device_close(device);
    assert_false(clf__folder_exists(folder));
}

/* Replaces the file's contents; the next start warns once, compiles, and repairs the file. */
static void assert_repairs(const char *path, const void *bytes, size_t size)
{
    write_file(path, bytes, size);
    assert_use(use_device("one", 0), 1, 1, 1);
    assert_non_null(strstr(last_warning, path));
    assert_use(use_device("one", 0), 0, 2, 0);
}

static void test_damage(void **state)
{
    (void)state;
    size_t size;
    use_device("one", 0);
    const char *path = find_file("cached-");
    char *bytes = read_file(path, &size);
    static const double cuts[] = {0, 0.001, 0.5, 0.999};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        assert_repairs(path, bytes, (size_t)((double)size * cuts[i]));
    }
    bytes = read_file(path, &size);
    size_t places[] = {16, 24, 33, 47, 60, size / 2, size - 1};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        bytes[places[i]] ^= 0x10;
        assert_repairs(path, bytes, size);
        bytes = read_file(path, &size); /* drivers need not give the same bytes twice */
    }
    char *longer = support_array(size + 1, 1);
    memcpy(longer, bytes, size);
    assert_repairs(path, longer, size + 1);
}

/* A valid file that belongs to another program. */
static void test_wrong_key(void **state)
{
    (void)state;
    size_t size;
    use_device("one", 0);
    char *bytes = read_file(find_file("probe-"), &size);
    assert_repairs(find_file("cached-"), bytes, size);
}

static void test_foreign_files(void **state)
{
    (void)state;
    use_device("one", 0);
    char path[600], other[600];
    snprintf(path, sizeof path, "%s", find_file("cached-"));
    snprintf(other, sizeof other, "%s/somebody's letter.txt", folder);
    static const char letter[] = "this was not written by clformer, and must stay as it is";
    write_file(other, letter, sizeof letter);
    write_file(path, letter, sizeof letter);
    assert_use(use_device("one", 0), 1, 1, 1);
    assert_non_null(strstr(last_warning, path));
    assert_use(use_device("one", 0), 0, 2, 0); /* in a trusted folder: rewritten */
    size_t size;
    assert_memory_equal(read_file(other, &size), letter, sizeof letter);
    assert_int_equal(size, sizeof letter);
    /* A folder at the file's path. */
    assert_int_equal(remove(path), 0);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_use(use_device("one", 0), 1, 1, 1);
    assert_non_null(strstr(last_warning, path));
    assert_true(clf__folder_exists(path));
}

static void test_no_folder(void **state)
{
    (void)state;
    char file[300];
    snprintf(file, sizeof file, "%s-file", folder);
    write_file(file, "", 0);
    set_cache_home(file); /* a folder below a file: not even root can create it */
    struct use use = use_device("one", 0);
    assert_use(use, 2, 0, 1);
    assert_int_equal(use.notices, 0); /* no message that kernels will be or are kept */
    assert_non_null(strstr(last_warning, file));
    char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_use(use_device("one", 0), 2, 0, 1);
    assert_non_null(strstr(last_warning, "HOME"));
    if (home) {
        setenv("HOME", home, 1);
        free(home);
    }
}

static mode_t mode_of(const char *path)
{
    struct stat about;
    assert_int_equal(lstat(path, &about), 0);
    return about.st_mode & 07777;
}

/* Binaries are code: files that another user may have written are recompiled. */
static void test_whose_file(void **state)
{
    (void)state;
    umask(0);
    use_device("one", 0);
    umask(022);
    assert_int_equal(mode_of(folder), 0700);
    const char *path = find_file("cached-");
    assert_int_equal(mode_of(path), 0600);
    assert_int_equal(chmod(path, 0666), 0);
    assert_use(use_device("one", 0), 1, 1, 1);
    assert_non_null(strstr(last_warning, path));
    assert_use(use_device("one", 0), 0, 2, 0); /* rewritten with permissions for this user only */
    assert_int_equal(mode_of(path), 0600);
    char other[700];
    snprintf(other, sizeof other, "%s.kept", path);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    assert_use(use_device("one", 0), 1, 1, 1);
    assert_non_null(strstr(last_warning, "is a symbolic link"));
    assert_use(use_device("one", 0), 0, 2, 0);
    if (geteuid() == 0) { /* only root can give files away */
        assert_int_equal(chown(path, 65534, (gid_t)-1), 0);
        assert_use(use_device("one", 0), 1, 1, 1);
        assert_non_null(strstr(last_warning, "belongs to user 65534"));
        assert_use(use_device("one", 0), 0, 2, 0);
    }
}

/* A folder that others may write to is neither read nor written, with one warning. */
static void assert_goes_without(const char *named)
{
    struct stat before, after;
    const char *path = find_file("cached-");
    assert_int_equal(stat(path, &before), 0);
    struct use use = use_device("one", 0);
    assert_use(use, 2, 0, 1);
    assert_int_equal(use.notices, 0);
    assert_non_null(strstr(last_warning, named));
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_ino, before.st_ino);
}

static void test_whose_folder(void **state)
{
    (void)state;
    use_device("one", 0);
    assert_int_equal(chmod(folder, 0755), 0); /* as earlier versions created it: others can only read */
    assert_use(use_device("one", 0), 0, 2, 0);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_goes_without(folder);
    assert_use(use_device("one", 0), 2, 0, 0); /* it is not said twice */
    assert_int_equal(chmod(folder, 0700), 0);
    char home[256];
    snprintf(home, sizeof home, "%s", folder);
    *strrchr(home, '/') = '\0';
    assert_int_equal(chmod(home, 0777), 0); /* another user may replace the folder */
    assert_goes_without(home);
    assert_int_equal(chmod(home, 01777), 0); /* no other user can, as in /tmp */
    assert_use(use_device("one", 0), 0, 2, 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(folder, 65534, (gid_t)-1), 0);
        assert_goes_without("belongs to user 65534");
    }
}

static void assert_ahead(const char *of, const char *kernel, int added, int ahead, int built)
{
    work = of;
    struct use use = use_device(kernel, added);
    work = NULL;
    assert_int_equal(use.ahead, ahead);
    assert_int_equal(use.built, built);
}

static void test_ahead(void **state)
{
    (void)state;
    assert_ahead("this", "one", 0, 0, 2);
    assert_ahead("this", "one", 0, 1, 0);
    assert_ahead("that", "one", 0, 0, 0); /* other work has its own list */
    assert_ahead("this", "one", 1, 1, 1); /* loaded but not used: it is removed from the list */
    assert_ahead("this", "one", 1, 1, 0);
}

static void test_wrong_list(void **state)
{
    (void)state;
    assert_ahead("this", "one", 1, 0, 2);
    const char *path = find_file("ahead-");
    static const char wrong[] = "no tab\ncached\t-DADDED=%s\nnobody\t\n\n\t\ncached\t-DADDED=1";
    write_file(path, wrong, sizeof wrong - 1); /* useless entries are ignored */
    assert_ahead("this", "one", 1, 1, 0);
    assert_int_equal(unlink(path), 0);
    assert_ahead("this", "one", 1, 0, 0);
    assert_ahead("this", "one", 1, 1, 0);
}

/* A program that cannot be loaded ahead is reported once, when it is requested. */
static void test_ahead_of_damage(void **state)
{
    (void)state;
    assert_ahead("this", "one", 0, 0, 2);
    write_file(find_file("cached-"), "damaged", 7);
    work = "this";
    struct use use = use_device("one", 0);
    work = NULL;
    assert_int_equal(use.ahead, 0);
    assert_use(use, 1, 1, 1);
    assert_ahead("this", "one", 0, 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_second_start, start, finish),
        cmocka_unit_test_setup_teardown(test_grows, start, finish),
        cmocka_unit_test_setup_teardown(test_not_asked_for, start, finish),
        cmocka_unit_test_setup_teardown(test_damage, start, finish),
        cmocka_unit_test_setup_teardown(test_wrong_key, start, finish),
        cmocka_unit_test_setup_teardown(test_foreign_files, start, finish),
        cmocka_unit_test_setup_teardown(test_no_folder, start, finish),
        cmocka_unit_test_setup_teardown(test_whose_file, start, finish),
        cmocka_unit_test_setup_teardown(test_whose_folder, start, finish),
        cmocka_unit_test_setup_teardown(test_ahead, start, finish),
        cmocka_unit_test_setup_teardown(test_wrong_list, start, finish),
        cmocka_unit_test_setup_teardown(test_ahead_of_damage, start, finish),
    };
    umask(022); /* files of tests belong to the user */
    return cmocka_run_group_tests_name("program/cache", tests, NULL, NULL);
}
