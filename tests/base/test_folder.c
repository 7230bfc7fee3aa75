/* Folders are created, listed, renamed and removed. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

static void test_folders(void **state)
{
    (void)state;
    char *path = support_temporary_path("a/b//c/");
    assert_ok(clf__folder_create(path));
    assert_true(clf__folder_exists(path));
    assert_false(clf__file_exists(path));
    assert_ok(clf__folder_create(path));
    char *blocked = support_temporary_path("file");
    assert_ok(clf__file_write(blocked, "", 0));
    assert_fails(clf__folder_create(blocked), CLF_FILE, blocked);
    char below[300];
    snprintf(below, sizeof below, "%s/below", blocked);
    assert_fails(clf__folder_create(below), CLF_FILE, blocked);
    assert_fails(clf__folder_create(""), CLF_FILE, "the path of the folder is empty; name a folder");
    assert_false(clf__folder_exists(below));
    assert_false(clf__file_exists(below));
}

/* Created parent folders are removed again unless something was put into them. */
static void test_folders_that_were_missing(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    char path[300], kept[300], above[300];
    snprintf(above, sizeof above, "%s/a", folder);
    snprintf(path, sizeof path, "%s/a/b//c/", folder);
    snprintf(kept, sizeof kept, "%s/a/kept", folder);
    assert_int_equal(clf__folder_missing(folder), 0);
    assert_int_equal(clf__folder_missing(path), strlen(above));
    assert_ok(clf__folder_create(path));
    assert_int_equal(clf__folder_missing(path), 0);
    clf__folder_remove_empty(path, 0); /* nothing was missing */
    assert_true(clf__folder_exists(path));
    assert_ok(clf__file_write(kept, "", 0));
    clf__folder_remove_empty(path, strlen(above));
    assert_false(clf__folder_exists(path));
    assert_true(clf__file_exists(kept));
    assert_int_equal(unlink(kept), 0);
    clf__folder_remove_empty(path, strlen(above));
    assert_false(clf__folder_exists(above));
    assert_true(clf__folder_exists(folder));
}

/* A rename that may not be durable is an error: here no file can be opened, so the folder cannot be
   synced. */
static void test_folder_that_cannot_be_synced(void **state)
{
    (void)state;
    char *folder = support_temporary_path("folder"), *other = support_temporary_path("other");
    assert_ok(clf__folder_create(folder));
    struct rlimit limit, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    clf_status status = clf__folder_rename(folder, other);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_fails(status, CLF_FILE, "cannot be opened, and may lose the last writes");
    assert_true(clf__folder_exists(other));
}

static void test_whole_folders(void **state)
{
    (void)state;
    char *folder = support_temporary_path("folder"), *other = support_temporary_path("other");
    char path[300];
    static const char *const names[] = {"b", "a", "c", "deep"};
    struct clf__names list;
    assert_fails(clf__folder_list(&list, folder), CLF_FILE, folder);
    assert_ok(clf__folder_create(folder));
    assert_ok(clf__folder_list(&list, folder));
    assert_int_equal(list.count, 0);
    clf__names_free(&list);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_ok(clf__file_write(path, "x", 1));
    }
    snprintf(path, sizeof path, "%s/deep/er", folder);
    assert_ok(clf__folder_create(path));
    for (int n = 1; n <= 5; n++) {
        clf__memory_fail_at((uint64_t)n);
        assert_fails(clf__folder_list(&list, folder), CLF_OUT_OF_MEMORY, "");
        clf__memory_fail_at(0);
        assert_int_equal(list.count, 0);
    }
    assert_ok(clf__folder_list(&list, folder));
    assert_int_equal(list.count, 4);
    static const char *const sorted[] = {"a", "b", "c", "deep"};
    for (int i = 0; i < 4; i++) {
        assert_string_equal(list.items[i], sorted[i]);
    }
    clf__names_free(&list);
    assert_ok(clf__folder_create(other));
    assert_fails(clf__folder_rename(folder, other), CLF_FILE, "already exists");
    assert_ok(clf__folder_remove(other));
    assert_false(clf__folder_exists(other));
    assert_ok(clf__folder_rename(folder, other));
    assert_false(clf__folder_exists(folder));
    assert_fails(clf__folder_rename(folder, folder), CLF_FILE, folder);
    /* The target of a link stays. */
    char *kept = support_temporary_path("kept");
    assert_ok(clf__folder_create(kept));
    snprintf(path, sizeof path, "%s/link", other);
    assert_int_equal(symlink(kept, path), 0);
    assert_ok(clf__folder_remove(other));
    assert_false(clf__folder_exists(other));
    assert_true(clf__folder_exists(kept));
    assert_ok(clf__folder_remove(other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_folders, support_teardown),
        cmocka_unit_test(test_folders_that_were_missing),
        cmocka_unit_test_teardown(test_folder_that_cannot_be_synced, support_teardown),
        cmocka_unit_test_teardown(test_whole_folders, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
