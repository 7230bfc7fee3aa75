/* Whole and partial reads, and atomic writes. */
#define _GNU_SOURCE /* O_TMPFILE */
#include "support/support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"

static int refuses_nameless;

/* Also intercepts calls in the library. On request, behaves like a file system without O_TMPFILE. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): those of fcntl.h are reserved */
int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): version 14 overlooks va_start() */
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (refuses_nameless && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return openat(AT_FDCWD, path, flags, mode);
}

static int refuse_nameless(void **state)
{
    (void)state;
    refuses_nameless = 1;
    return 0;
}

static int entries(const char *folder)
{
    DIR *stream = opendir(folder);
    assert_non_null(stream);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    closedir(stream);
    return count;
}

/* Contents passed to a read callback, and the expected contents. */
struct tokens {
    const void *bytes;
    size_t taken;
};

static clf_status check_token(void *user, const uint8_t *bytes, size_t size)
{
    struct tokens *tokens = user;
    assert_memory_equal(bytes, (const char *)tokens->bytes + tokens->taken, size);
    tokens->taken += size;
    return CLF_OK;
}

static void check_contents(const char *path, const void *bytes, size_t size)
{
    char *read = NULL;
    size_t read_size = 12345;
    assert_ok(clf__file_read(&read, &read_size, path, size));
    assert_int_equal(read_size, size);
    assert_memory_equal(read, bytes, size);
    assert_int_equal(read[size], '\0');
    clf__free(read);
    struct clf__file file;
    struct tokens tokens = {bytes, 0};
    assert_ok(clf__file_open(&file, path));
    assert_int_equal(file.size, size);
    assert_ok(clf__file_each_block(&file, check_token, &tokens));
    assert_int_equal(tokens.taken, size);
    uint64_t sum;
    assert_ok(clf__file_checksum(&sum, &file));
    assert_true(sum == clf__checksum(bytes, size));
    char end[3];
    if (size > 3) {
        assert_ok(clf__file_read_at(&file, size - 3, end, 3));
        assert_memory_equal(end, (const char *)bytes + size - 3, 3);
    }
    clf__file_close(&file);
    clf__file_close(&file); /* a closed file has no contents */
}

static void test_what_is_written_is_read(void **state)
{
    (void)state;
    char *path = support_temporary_path("file");
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 1000003};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *bytes = support_array(sizes[i] + 1, 1);
        for (size_t k = 0; k < sizes[i]; k++) {
            bytes[k] = (char)(k * 31 + i);
        }
        assert_ok(clf__file_write(path, bytes, sizes[i])); /* over the one before */
        check_contents(path, bytes, sizes[i]);
    }
    assert_true(clf__file_exists(path));
    assert_false(clf__folder_exists(path));
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(about.st_mode & 0777, 0666 & ~mask);
    *strrchr(path, '/') = '\0';
    assert_int_equal(entries(path), 1); /* nothing temporary is left */
}

/* The next names for temporary files exist, left by another process with this pid. */
static void test_taken_names_are_passed_over(void **state)
{
    (void)state;
    char *path = support_temporary_path("file"), *temporary;
    assert_ok(clf__temporary_path(&temporary, path));
    unsigned made;
    long process;
    assert_int_equal(sscanf(temporary + strlen(path), ".%ld-%u.tmp", &process, &made), 2);
    clf__free(temporary);
    for (unsigned i = 1; i <= 3; i++) {
        char *taken = support_temporary_path("");
        snprintf(taken, 256, "%s.%ld-%u.tmp", path, process, made + i);
        FILE *file = fopen(taken, "w");
        assert_non_null(file);
        assert_int_equal(fclose(file), 0);
    }
    assert_ok(clf__file_write(path, "whole", 5));
    check_contents(path, "whole", 5);
}

static void test_a_failed_write_leaves_nothing(void **state)
{
    (void)state;
    char *path = support_temporary_path("no/such/file");
    assert_fails(clf__file_write(path, "x", 1), CLF_FILE, path);
    /* A folder is in the way: the temporary file is written and then removed. */
    char *folder = support_temporary_path("taken");
    assert_ok(clf__folder_create(folder));
    assert_fails(clf__file_write(folder, "x", 1), CLF_FILE, folder);
    *strrchr(folder, '/') = '\0';
    assert_int_equal(entries(folder), 1);
    assert_fails(clf__file_write("/proc/clformer", "x", 1), CLF_FILE, "/proc/clformer");
    char *keep = support_temporary_path("keep");
    assert_ok(clf__file_write(keep, "old", 3));
    clf__memory_fail_at(1);
    assert_fails(clf__file_write(keep, "new", 3), CLF_OUT_OF_MEMORY, "");
    clf__memory_fail_at(0);
    check_contents(keep, "old", 3);
    /* The disk is full: only the old file stays. */
    struct rlimit all, little = {.rlim_cur = 1000};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
    little.rlim_max = all.rlim_max;
    char *bytes = support_array(2000, 1);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    clf_status status = clf__file_write(keep, bytes, 2000);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    assert_fails(status, CLF_FILE, "cannot be written");
    check_contents(keep, "old", 3);
    *strrchr(keep, '/') = '\0';
    assert_int_equal(entries(keep), 1);
}

static void test_reading_fails_with_the_path(void **state)
{
    (void)state;
    char *bytes;
    size_t size;
    struct clf__file file;
    char *missing = support_temporary_path("missing");
    assert_fails(clf__file_read(&bytes, &size, missing, 100), CLF_FILE, missing);
    assert_null(bytes);
    assert_fails(clf__file_open(&file, missing), CLF_FILE, missing);
    assert_null(file.path);
    const char *folder = support_temporary_folder();
    assert_fails(clf__file_read(&bytes, &size, folder, 100), CLF_FILE, "is a folder");
    assert_fails(clf__file_open(&file, folder), CLF_FILE, "is a folder");
    assert_fails(clf__file_read(&bytes, &size, "/dev/zero", 100), CLF_FILE, "/dev/zero");
    char *pipe = support_temporary_path("pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_fails(clf__file_read(&bytes, &size, pipe, 100), CLF_FILE, "a pipe"); /* and does not wait */
    char *large = support_temporary_path("large");
    assert_ok(clf__file_write(large, "123456", 6));
    assert_fails(clf__file_read(&bytes, &size, large, 5), CLF_FORMAT, "more than the limit of 5");
    clf__memory_fail_at(1);
    assert_fails(clf__file_read(&bytes, &size, large, 6), CLF_OUT_OF_MEMORY, "");
    assert_null(bytes);
    clf__memory_fail_at(0);
}

/* The message about a git-LFS pointer says what to do; copying a folder is not stopped by it. */
static void test_git_lfs_pointer(void **state)
{
    (void)state;
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 9\n";
    const char *folder = support_temporary_folder();
    char *path, *copy, *bytes;
    size_t size;
    assert_ok(clf__path_join(&path, folder, "weights"));
    assert_ok(clf__path_join(&copy, folder, "copy"));
    assert_ok(clf__file_write(path, pointer, sizeof pointer - 1));
    struct clf__file file;
    assert_fails(clf__file_open(&file, path), CLF_FORMAT,
                 "weights: is a Git LFS pointer, not the file itself; run `git lfs pull` in its folder");
    assert_null(file.path);
    assert_fails(clf__file_read(&bytes, &size, path, 1000), CLF_FORMAT,
                 "weights: is a Git LFS pointer, not the file itself; run `git lfs pull` in its folder");
    assert_null(bytes);
    assert_ok(clf__file_copy(copy, path));
    assert_ok(clf__file_write(path, pointer, 30)); /* less than one says */
    assert_ok(clf__file_read(&bytes, &size, path, 1000));
    clf__free(bytes);
    clf__free(path);
    clf__free(copy);
}

/* Writing in parts; after an abort nothing is left. */
static void test_writing_in_blocks(void **state)
{
    (void)state;
    char *path = support_temporary_path("file");
    struct clf__file_writer writer;
    assert_ok(clf__file_writer_open(&writer, path));
    assert_ok(clf__file_writer_write(&writer, "abc", 3));
    assert_false(clf__file_exists(path));
    assert_true(!refuses_nameless || writer.temporary != NULL);
    assert_ok(clf__file_writer_write(&writer, "", 0));
    assert_ok(clf__file_writer_write(&writer, "de", 2));
    assert_ok(clf__file_writer_close(&writer, CLF_OK));
    check_contents(path, "abcde", 5);
    assert_ok(clf__file_writer_open(&writer, path));
    assert_ok(clf__file_writer_write(&writer, "other", 5));
    assert_int_equal(clf__file_writer_close(&writer, CLF_INTERRUPTED), CLF_INTERRUPTED);
    check_contents(path, "abcde", 5);
    char *copy = support_array(300, 1);
    snprintf(copy, 300, "%s.copy", path);
    assert_ok(clf__file_copy(copy, path));
    check_contents(copy, "abcde", 5);
    assert_ok(clf__file_link(copy, path)); /* the name exists: a copy replaces it */
    check_contents(copy, "abcde", 5);
    assert_int_equal(unlink(copy), 0);
    assert_ok(clf__file_link(copy, path));
    assert_int_equal(unlink(path), 0);
    check_contents(copy, "abcde", 5);
    assert_int_equal(rename(copy, path), 0);
    assert_ok(clf__file_link(copy, path));
    for (int n = 1; n <= 2; n++) {
        clf__memory_fail_at((uint64_t)n);
        assert_fails(clf__file_writer_open(&writer, path), CLF_OUT_OF_MEMORY, "");
        clf__memory_fail_at(0);
    }
    *strrchr(path, '/') = '\0';
    assert_int_equal(entries(path), 2);
}

/* Writes half of a file and is killed. */
static void write_and_be_killed(const char *path)
{
    struct clf__file_writer writer;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (clf__file_writer_open(&writer, path) == CLF_OK &&
            clf__file_writer_write(&writer, "half", 4) == CLF_OK) {
            raise(SIGKILL);
        }
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* A file system without O_TMPFILE keeps the temporary file. */
static void test_a_killed_writer_leaves_nothing(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    char *path = support_array(256, 1);
    snprintf(path, 256, "%s/file", folder);
    struct clf__file_writer writer;
    assert_ok(clf__file_writer_open(&writer, path));
    int has_name = writer.temporary != NULL;
    assert_int_equal(clf__file_writer_close(&writer, CLF_INTERRUPTED), CLF_INTERRUPTED);
    if (has_name) {
        print_message("skipped: %s has no files without names\n", folder);
        skip();
    }
    write_and_be_killed(path);
    assert_int_equal(entries(folder), 0);
    assert_ok(clf__file_write(path, "old", 3));
    write_and_be_killed(path);
    assert_int_equal(entries(folder), 1);
    check_contents(path, "old", 3);
}

/* A file that shrinks between two reads gives an error with its name; a memory map would give SIGBUS. */
static void test_file_that_shrinks(void **state)
{
    (void)state;
    enum { SIZE = 3 << 20, LEFT = 1 << 20 };
    char *path = support_temporary_path("shrinks"), *same_path = support_temporary_path("same"),
         *copy = support_temporary_path("copy");
    char *bytes = support_array(SIZE, 1);
    struct clf__file file, other;
    struct tokens tokens = {bytes, 0};
    int same;
    uint64_t sum;
    assert_ok(clf__file_write(path, bytes, SIZE));
    assert_ok(clf__file_write(same_path, bytes, SIZE));
    assert_ok(clf__file_open(&file, path));
    assert_ok(clf__file_open(&other, same_path));
    assert_ok(clf__file_same(&same, &file, 0, &other, 0, SIZE));
    assert_true(same);
    assert_ok(clf__file_same(&same, &file, 1, &other, 5, SIZE - 5)); /* all zeros */
    assert_true(same);
    assert_int_equal(truncate(path, LEFT), 0);
    assert_ok(clf__file_read_at(&file, 0, bytes, LEFT));
    assert_fails(clf__file_read_at(&file, 0, bytes, SIZE), CLF_FILE,
                 "was truncated while it was being read; try again");
    assert_fails(clf__file_read_at(&file, LEFT, bytes, 1), CLF_FILE, path);
    assert_fails(clf__file_each_block(&file, check_token, &tokens), CLF_FILE, path);
    assert_int_equal(tokens.taken, LEFT);
    assert_fails(clf__file_checksum(&sum, &file), CLF_FILE, path);
    assert_fails(clf__file_same(&same, &other, 0, &file, 0, SIZE), CLF_FILE, path);
    clf__file_close(&file);
    clf__file_close(&other);
    assert_ok(clf__file_copy(copy, path));
    check_contents(copy, bytes, LEFT);
    bytes[LEFT - 1] = 1;
    assert_ok(clf__file_write(copy, bytes, LEFT));
    assert_ok(clf__file_open(&file, path));
    assert_ok(clf__file_open(&other, copy));
    assert_ok(clf__file_same(&same, &file, 0, &other, 0, LEFT));
    assert_false(same);
    clf__file_close(&file);
    clf__file_close(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_what_is_written_is_read, support_teardown),
        cmocka_unit_test_teardown(test_taken_names_are_passed_over, support_teardown),
        cmocka_unit_test_teardown(test_a_failed_write_leaves_nothing, support_teardown),
        cmocka_unit_test_teardown(test_reading_fails_with_the_path, support_teardown),
        cmocka_unit_test_teardown(test_git_lfs_pointer, support_teardown),
        cmocka_unit_test_teardown(test_writing_in_blocks, support_teardown),
        cmocka_unit_test_teardown(test_a_killed_writer_leaves_nothing, support_teardown),
        cmocka_unit_test_teardown(test_file_that_shrinks, support_teardown),
    };
    const struct CMUnitTest with_names[] = {
        cmocka_unit_test_teardown(test_what_is_written_is_read, support_teardown),
        cmocka_unit_test_teardown(test_taken_names_are_passed_over, support_teardown),
        cmocka_unit_test_teardown(test_a_failed_write_leaves_nothing, support_teardown),
        cmocka_unit_test_teardown(test_writing_in_blocks, support_teardown),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + cmocka_run_group_tests_name("with temporary names", with_names, refuse_nameless, NULL);
}
