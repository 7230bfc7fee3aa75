/* Compiled programs on disk: used if complete and trusted, otherwise ignored with one warning. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <clformer/log.h>

#include "base/file.h"
#include "base/memory.h"
#include "runtime/device/buffer.h"
#include "runtime/program/ahead.h"
#include "runtime/program/cache.h"
#include "runtime/program/launch.h"
#include "runtime/program/testing.h"
#include "support/cache_home.h"
#include "support/support.h"

static const char source[] = "__kernel void one(__global float *y) { y[0] = 1.0f + ADDED; }\n"
                             "__kernel void two(__global float *y) { y[0] = 2.0f + ADDED; }\n";

static int warnings, notices;
static char last_warning[1024];
static char folder[256]; /* $XDG_CACHE_HOME/clformer */

static void count_warnings(clf_log_level level, const char *message, void *user)
{
    (void)user;
    if (level == CLF_LOG_WARNING) {
        warnings++;
        snprintf(last_warning, sizeof last_warning, "%s", message);
    }
    notices += level == CLF_LOG_NOTICE;
}

static int start(void **state)
{
    (void)state;
    const char *home = support_temporary_folder();
    set_cache_home(home);
    snprintf(folder, sizeof folder, "%s/clformer", home);
    warnings = 0;
    clf_log_set(count_warnings, NULL);
    return 0;
}

static int finish(void **state)
{
    clf_log_set(NULL, NULL);
    return support_teardown(state);
}

struct use {
    int ahead; /* programs loaded before a kernel was requested, besides the probe */
    int built, loaded, warnings, notices;
};
static const char *work; /* loaded ahead for this work, unless it is NULL */

/* Opens the device, runs a kernel of the test's program, closes the device; the answer must be right whatever
 * the cache contains. */
static struct use use_device(const char *kernel, int added)
{
    struct clf_device *device;
    struct clf__buffer *y;
    struct use use;
    char defines[32];
    float value = 0;
    warnings = notices = 0;
    assert_ok(clf_device_open(&device, NULL, NULL));
    assert_ok(clf__program_add_source(device, "cached", source));
    assert_ok(clf__buffer_create(&y, device, sizeof value, "the output"));
    clf__program_counts(device, &use.built, &use.loaded);
    use.ahead = -(use.built + use.loaded);
    if (work) {
        clf__programs_ahead_begin(device, work);
    }
    clf__program_counts(device, &use.built, &use.loaded);
    use.ahead += use.built + use.loaded;
    snprintf(defines, sizeof defines, "-DADDED=%d", added);
    struct clf__argument arguments[] = {CLF__BUFFER(y)};
    struct clf__launch launch = {.program = "cached",
                                 CLF__ON_BOTH(kernel, {1}, {1}),
                                 .defines = defines,
                                 .arguments = arguments,
                                 .argument_count = 1};
    assert_ok(clf__launch(device, &launch));
    assert_ok(clf__buffer_read(y, 0, sizeof value, &value));
    assert_true(value == (strcmp(kernel, "one") == 0 ? 1.0f : 2.0f) + (float)added);
    clf__program_counts(device, &use.built, &use.loaded);
    clf__buffer_free(y);
    clf_device_close(device);
    use.warnings = warnings;
    use.notices = notices;
    return use;
}

static void assert_use(struct use use, int built, int loaded, int warned)
{
    if (use.built != built || use.loaded != loaded || use.warnings != warned) {
        fail_msg("%d built, %d loaded, %d warnings (%s); wanted %d, %d, %d", use.built, use.loaded,
                 use.warnings, last_warning, built, loaded, warned);
    }
}

/* The path of the only file of the folder with this prefix. */
static const char *find_file(const char *prefix)
{
    static char path[600];
    int found = 0;
    DIR *stream = opendir(folder);
    assert_non_null(stream);
    for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream)) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            found++;
        }
    }
    closedir(stream);
    assert_int_equal(found, 1);
    return path;
}

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = support_array(*size, 1);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

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
        cmocka_unit_test_setup_teardown(test_limit, start, finish),
        cmocka_unit_test_setup_teardown(test_limit_in_use, start, finish),
        cmocka_unit_test_setup_teardown(test_stray_files, start, finish),
    };
    umask(022); /* files of tests belong to the user */
    return cmocka_run_group_tests_name("program/cache", tests, NULL, NULL);
}
