/* Ownership checks of files before they are read: folders, their parents, links, and files. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/ownership.h"
#include "support/support.h"

enum { NOBODY = 65534 };

static char home[256], folder[300], file[330];

static int start(void **state)
{
    (void)state;
    snprintf(home, sizeof home, "%s/home", support_temporary_folder());
    snprintf(folder, sizeof folder, "%s/cache", home);
    snprintf(file, sizeof file, "%s/file", folder);
    umask(022);
    assert_int_equal(mkdir(home, 0755), 0);
    assert_int_equal(mkdir(folder, 0755), 0);
    assert_ok(clf__file_write(file, "text", 4));
    return 0;
}

static clf_status read_it(void)
{
    char *bytes = NULL;
    size_t size = 0;
    clf_status status = clf__owned_file_read(&bytes, &size, file, 100);
    if (status == CLF_OK) {
        assert_int_equal(size, 4);
        assert_string_equal(bytes, "text");
    } else {
        assert_null(bytes);
        assert_int_equal(size, 0);
    }
    clf__free(bytes);
    return status;
}

static mode_t mode_of(const char *path)
{
    struct stat about;
    assert_int_equal(lstat(path, &about), 0);
    return about.st_mode & 07777;
}

static void test_modes(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        mode_t mode;
        int is_fine;
    } cases[] = {
        {folder, 0700, 1}, {folder, 0755, 1}, {folder, 0757, 0}, {folder, 0777, 0}, {folder, 01777, 0},
        {home, 0711, 1},   {home, 0757, 0},   {home, 0777, 0},   {home, 01777, 1},  {file, 0600, 1},
        {file, 0444, 1},   {file, 0666, 0},   {file, 0602, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mode_t before = mode_of(cases[i].path);
        assert_int_equal(chmod(cases[i].path, cases[i].mode), 0);
        if (cases[i].is_fine) {
            assert_ok(read_it());
            assert_ok(clf__owned_file_write(file, "text", 4));
        } else {
            assert_fails(read_it(), CLF_FILE, cases[i].path);
            assert_non_null(strstr(clf_last_error(), "chmod go-w"));
            assert_int_equal(cases[i].path == file ? CLF_OK : CLF_FILE,
                             clf__owned_file_write(file, "text", 4));
        }
        assert_int_equal(chmod(cases[i].path, before), 0);
    }
}

/* Only root can give files away. */
static void test_owners(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    static const char *const paths[] = {home, folder, file};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(chown(paths[i], NOBODY, (gid_t)-1), 0);
        assert_fails(read_it(), CLF_FILE, paths[i]);
        assert_non_null(strstr(clf_last_error(), "belongs to user 65534"));
        if (i < 2) {
            assert_fails(clf__owned_file_write(file, "text", 4), CLF_FILE, paths[i]);
        }
        assert_int_equal(chown(paths[i], 0, (gid_t)-1), 0);
        assert_ok(read_it());
    }
    /* Below a world-writable sticky folder, a folder belongs to its owner. */
    assert_int_equal(chmod(home, 01777), 0);
    assert_int_equal(chown(folder, NOBODY, (gid_t)-1), 0);
    assert_fails(read_it(), CLF_FILE, "belongs to user 65534");
    assert_int_equal(chown(folder, 0, (gid_t)-1), 0);
    /* Write permission for a group counts as for others, unless only the owner is in the group; here it is
       root's. */
    assert_int_equal(chmod(home, 0775), 0);
    assert_int_equal(chown(home, 0, 0), 0);
    assert_ok(read_it());
    assert_int_equal(chown(home, 0, NOBODY), 0);
    assert_fails(read_it(), CLF_FILE, home);
}

static void test_links(void **state)
{
    (void)state;
    char other[330], moved[330];
    snprintf(other, sizeof other, "%s/other", home);
    snprintf(moved, sizeof moved, "%s/moved", home);
    /* A folder may be moved: its location counts. */
    assert_int_equal(rename(folder, moved), 0);
    assert_int_equal(symlink("moved", folder), 0);
    assert_ok(read_it());
    assert_int_equal(chmod(moved, 0777), 0);
    assert_fails(read_it(), CLF_FILE, moved);
    assert_int_equal(chmod(moved, 0755), 0);
    /* A file may not. */
    assert_int_equal(rename(file, other), 0);
    assert_int_equal(symlink(other, file), 0);
    assert_fails(read_it(), CLF_FILE, "is a symbolic link");
    assert_int_equal(unlink(file), 0);
    assert_int_equal(mkfifo(file, 0600), 0);
    assert_fails(read_it(), CLF_FILE, "a pipe");
    assert_int_equal(unlink(file), 0);
    assert_fails(read_it(), CLF_FILE, "file");
}

static void test_what_is_made(void **state)
{
    (void)state;
    char deep[400], inside[430], *real = NULL;
    snprintf(deep, sizeof deep, "%s/a/b", folder);
    snprintf(inside, sizeof inside, "%s/file", deep);
    umask(0);
    assert_ok(clf__owned_folder_find(&real, deep)); /* a missing path is valid */
    assert_non_null(strstr(real, "/home/cache/a/b"));
    clf__free(real);
    assert_false(clf__folder_exists(deep));
    assert_ok(clf__owned_file_write(inside, "text", 4));
    umask(022);
    assert_int_equal(mode_of(inside), 0600);
    assert_int_equal(mode_of(deep), 0700);
    snprintf(deep, sizeof deep, "%s/a", folder);
    assert_int_equal(mode_of(deep), 0700);
    assert_int_equal(mode_of(folder), 0755); /* as it was */
    assert_int_equal(chdir(folder), 0);
    assert_ok(clf__owned_file_write("here", "text", 4)); /* no folder is named */
    assert_ok(clf__owned_folder_create(&real, "c/d"));
    assert_int_equal(mode_of("c/d"), 0700);
    clf__free(real);
    assert_int_equal(chdir("/"), 0);
    assert_fails(clf__owned_folder_create(&real, file), CLF_FILE, file);
    assert_null(real);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_modes, start, support_teardown),
        cmocka_unit_test_setup_teardown(test_owners, start, support_teardown),
        cmocka_unit_test_setup_teardown(test_links, start, support_teardown),
        cmocka_unit_test_setup_teardown(test_what_is_made, start, support_teardown),
    };
    return cmocka_run_group_tests_name("base/ownership", tests, NULL, NULL);
}
