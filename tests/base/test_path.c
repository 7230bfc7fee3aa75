/* Kinds of files at a path, and joining paths. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

static void test_one_and_the_same_folder(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder(), *other = support_temporary_folder();
    char path[256], link[256];
    snprintf(path, sizeof path, "%s/../%s/.", folder, strrchr(folder, '/') + 1);
    snprintf(link, sizeof link, "%s/link", other);
    assert_int_equal(symlink(folder, link), 0);
    assert_true(clf__folder_is(folder, folder));
    assert_true(clf__folder_is(path, folder));
    assert_true(clf__folder_is(folder, link));
    assert_false(clf__folder_is(folder, other));
    assert_false(clf__folder_is(folder, "/no/such/folder"));
    assert_false(clf__folder_is("/no/such/folder", "/no/such/folder"));
}

static void test_what_is_missing(void **state)
{
    (void)state;
    char *path = support_temporary_path("file"), *loop = support_temporary_path("loop");
    char below[300];
    snprintf(below, sizeof below, "%s/below", path);
    assert_true(clf__file_is_missing(path) && clf__file_is_missing(below));
    assert_ok(clf__file_write(path, "", 0));
    assert_false(clf__file_is_missing(path));
    assert_true(clf__file_is_missing(below));
    assert_false(clf__file_is_missing(support_temporary_folder()));
    assert_int_equal(symlink("loop", loop), 0);
    assert_false(clf__file_is_missing(loop)); /* ELOOP: nobody knows */
    char *link = support_temporary_path("link");
    assert_int_equal(symlink("nowhere", link), 0);
    assert_false(clf__file_is_missing(link)); /* from a partially downloaded cache */
}

/* An optional file: something else at its path is an error, not a missing file. */
static void test_finding_a_file(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    char path[300];
    snprintf(path, sizeof path, "%s/file", folder);
    int is_there = -1;
    assert_ok(clf__file_find(&is_there, folder, "file"));
    assert_int_equal(is_there, 0);
    assert_ok(clf__file_find(&is_there, "/nonexistent", "file"));
    assert_int_equal(is_there, 0);
    assert_int_equal(symlink("other", path), 0);
    assert_fails(clf__file_find(&is_there, folder, "file"), CLF_FILE,
                 "/file: is a symbolic link to a missing file; ");
    assert_non_null(strstr(clf_last_error(), "replace or remove it"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("file", path), 0);
    assert_fails(clf__file_find(&is_there, folder, "file"), CLF_FILE,
                 "/file: is a symbolic link to a missing file; ");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_fails(clf__file_find(&is_there, folder, "file"), CLF_FILE, "/file: is a folder, not a file; ");
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkfifo(path, 0666), 0);
    assert_fails(clf__file_find(&is_there, folder, "file"), CLF_FILE, "a pipe, not a file; ");
    assert_int_equal(is_there, 0);
    assert_int_equal(unlink(path), 0);
    char target[300];
    snprintf(target, sizeof target, "%s/other", folder);
    assert_int_equal(symlink("other", path), 0);
    assert_ok(clf__file_write(target, "", 0));
    assert_ok(clf__file_find(&is_there, folder, "file"));
    assert_int_equal(is_there, 1);
}

static void test_joining_paths(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {"a", "b", "a/b"},
        {"a/", "b", "a/b"},
        {"/", "b", "/b"},
        {"", "b", "b"},
        {"a/b", "c.json", "a/b/c.json"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *path = NULL;
        assert_ok(clf__path_join(&path, rows[i][0], rows[i][1]));
        assert_string_equal(path, rows[i][2]);
        clf__free(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_and_the_same_folder),
        cmocka_unit_test_teardown(test_what_is_missing, support_teardown),
        cmocka_unit_test(test_finding_a_file),
        cmocka_unit_test(test_joining_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
