/* Which files a new folder takes from a model's, and that writing stops when the program asks to. */
#define _DEFAULT_SOURCE /* mkfifo() and symlink() */

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <clformer/clformer.h>

#include "base/file.h"
#include "base/memory.h"
#include "support/process.h"

static const char *copy_model(const char *folder)
{
    const char *model = support_fixture("models/bart-text");
    char *from = process_format("%s", model);
    struct clf__names all;
    assert_ok(clf__folder_list(&all, from));
    for (int i = 0; i < all.count; i++) {
        assert_ok(clf__file_copy(process_format("%s/%s", folder, all.items[i]),
                                 process_format("%s/%s", from, all.items[i])));
    }
    clf__names_free(&all);
    return folder;
}

static int has(const char *folder, const char *name)
{
    struct stat about;
    return lstat(process_format("%s/%s", folder, name), &about) == 0;
}

static void test_kinds(void **state)
{
    (void)state;
    static const char *const copied[] = {"notes.txt", "LICENSE", "README.md", "chat_template.jinja",
                                         "inside.txt"};
    static const char *const left[] = {"id_rsa",  ".env", "secret.txt",  "secret.json", "pipe.json",
                                       "old.bin", "x.py", "folder.json", "null.txt"};
    const char *root = support_temporary_folder(), *folder = process_format("%s/model", root);
    assert_ok(clf__folder_create(folder));
    copy_model(folder);
    process_write(root, "outside", "precious", 8);
    for (size_t i = 0; i < 4; i++) {
        process_write(folder, copied[i], "text", 4);
    }
    for (size_t i = 0; i < 2; i++) {
        process_write(folder, left[i], "precious", 8);
    }
    process_write(folder, "old.bin", "precious", 8);
    process_write(folder, "x.py", "precious", 8);
    assert_int_equal(symlink("notes.txt", process_format("%s/inside.txt", folder)), 0);
    assert_int_equal(symlink("../outside", process_format("%s/secret.txt", folder)), 0);
    assert_int_equal(symlink(process_format("%s/outside", root), process_format("%s/secret.json", folder)),
                     0);
    assert_int_equal(symlink("/dev/null", process_format("%s/null.txt", folder)), 0);
    assert_int_equal(mkfifo(process_format("%s/pipe.json", folder), 0600), 0);
    assert_ok(clf__folder_create(process_format("%s/folder.json", folder)));
    const char *output = process_format("%s/new", root);
    struct process_result result = run_clformer(NULL, process_format("convert %s -o %s", folder, output));
    assert_int_equal(result.status, 0);
    assert_int_equal(
        process_count(result.errors, "not copied, because the link leads outside the model folder"), 2);
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        assert_true(has(output, copied[i]));
    }
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        assert_false(has(output, left[i]));
    }
}

/* In the huggingface_hub cache every file is a link; elsewhere, files needed for loading may be links. */
static void test_links(void **state)
{
    (void)state;
    const char *root = support_temporary_folder(), *cache = process_format("%s/models--x", root);
    const char *blobs = process_format("%s/blobs", cache),
               *folder = process_format("%s/snapshots/0123", cache);
    assert_ok(clf__folder_create(blobs));
    assert_ok(clf__folder_create(folder));
    copy_model(blobs);
    process_write(blobs, "README.md", "text", 4);
    struct clf__names all;
    assert_ok(clf__folder_list(&all, blobs));
    for (int i = 0; i < all.count; i++) {
        assert_int_equal(symlink(process_format("../../blobs/%s", all.items[i]),
                                 process_format("%s/%s", folder, all.items[i])),
                         0);
    }
    clf__names_free(&all);
    const char *output = process_format("%s/new", root);
    assert_ok(clf_convert(output, folder, CLF_PRECISION_FP32));
    assert_true(has(output, "README.md") && has(output, "vocab.json") && has(output, "config.json"));
    const char *links = process_model_copy(support_fixture("models/bart-text"));
    output = process_format("%s/other", root);
    assert_ok(clf_convert(output, links, CLF_PRECISION_FP32));
    assert_true(has(output, "vocab.json") && has(output, "config.json"));
}

/* Asks to stop at the last check. */
struct counter {
    int asked, last;
};

static int stop(void *user)
{
    struct counter *counter = user;
    return ++counter->asked >= counter->last;
}

static int count_entries(const char *folder)
{
    struct clf__names names;
    assert_ok(clf__folder_list(&names, folder));
    int count = names.count;
    clf__names_free(&names);
    return count;
}

static clf_status write_model(int way, const char *output, const char *folder)
{
    const char *const folders[] = {folder, folder};
    return way == 0   ? clf_convert(output, folder, CLF_PRECISION_FP32)
           : way == 1 ? clf_convert(output, folder, CLF_PRECISION_INT8)
                      : clf_average(output, folders, 2, CLF_PRECISION_FP32);
}

/* Wherever it stops, nothing is left, and the message says that it was interrupted. */
static void test_interrupted(void **state)
{
    (void)state;
    const char *folder = support_fixture("models/bart-text"), *root = support_temporary_folder();
    folder = process_format("%s", folder);
    for (int way = 0; way < 3; way++) {
        const char *output = process_format("%s/above/%d", root, way);
        clf_status status = CLF_INTERRUPTED;
        for (int last = 1; status != CLF_OK; last += last < 20 ? 1 : 9) {
            struct counter counter = {.last = last};
            clf_interrupt_set(stop, &counter);
            status = write_model(way, output, folder);
            clf_interrupt_set(NULL, NULL);
            if (status != CLF_OK) {
                assert_int_equal(status, CLF_INTERRUPTED);
                assert_int_equal(strncmp(clf_last_error(), "interrupted", 11), 0);
                assert_int_equal(count_entries(root), way > 0);
            } else {
                assert_true(counter.asked > 20);
            }
        }
        assert_true(has(output, "config.json"));
    }
}

/* Loading a model stops when the hook asks to. */
static void test_loading(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    struct counter counter = {.last = 10};
    struct clf_model *model;
    clf_interrupt_set(stop, &counter);
    assert_fails(clf_model_load(&model, device, support_fixture("models/bart-text"), NULL), CLF_INTERRUPTED,
                 "interrupted");
    clf_interrupt_set(NULL, NULL);
    assert_ok(clf_model_load(&model, device, support_fixture("models/bart-text"), NULL));
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_kinds, support_teardown),
        cmocka_unit_test_teardown(test_links, support_teardown),
        cmocka_unit_test_teardown(test_interrupted, support_teardown),
        cmocka_unit_test_teardown(test_loading, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
