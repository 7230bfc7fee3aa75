#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/file.h"
#include "base/memory.h"
#include "train/state.h"

static char path[256];

static int make_path(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "%s/state.json", support_temporary_folder());
    return 0;
}

static struct clf__train_state example(void)
{
    struct clf__train_state state = {.update = 1234567890123,
                                     .epoch = 7,
                                     .batch = 5,
                                     .pass = 99999999999,
                                     .skipped = 3,
                                     .skipped_in_a_row = 1,
                                     .pairs = 10,
                                     .lines = 12,
                                     .train_checksum = "0123456789abcdef"};
    assert_ok(
        clf__train_state_add(&state, &(struct clf__validated){100, 1, 1.0 / 3, 0.1, 20.000000000000004, 1}));
    assert_ok(clf__train_state_add(&state, &(struct clf__validated){200, 2, INFINITY, NAN, -1, 0}));
    return state;
}

static clf_status write(const struct clf__train_state *state)
{
    json_t *files = json_pack("{s{sI}}", "model.safetensors", "bytes", (json_int_t)7);
    clf_status status = clf__train_state_write(state, files, path);
    json_decref(files);
    return status;
}

static void test_what_is_written_is_read(void **unused)
{
    (void)unused;
    struct clf__train_state state = example(), read;
    json_t *files;
    assert_ok(write(&state));
    assert_ok(clf__train_state_read(&read, &files, path));
    assert_true(json_integer_value(json_object_get(json_object_get(files, "model.safetensors"), "bytes")) ==
                7);
    assert_true(read.update == state.update && read.epoch == state.epoch && read.batch == state.batch);
    assert_true(read.pass == state.pass && read.skipped == 3 && read.skipped_in_a_row == 1);
    assert_true(read.pairs == 10 && read.lines == 12 && read.count == 2);
    assert_string_equal(read.train_checksum, "0123456789abcdef");
    assert_string_equal(read.valid_checksum, "");
    assert_true(read.history[0].loss == 1.0 / 3 && read.history[0].bleu == 20.000000000000004);
    /* JSON has no infinity: an infinite loss is stored as the largest number. */
    assert_true(read.history[0].is_cut == 1 && read.history[1].is_cut == 0);
    assert_true(read.history[1].loss > 1e300 && read.history[1].nll > 1e300 && read.history[1].bleu == -1);
    json_decref(files);
    clf__train_state_free(&read);
    clf__train_state_free(&state);
}

static void test_damage_is_an_error(void **unused)
{
    (void)unused;
    struct clf__train_state state = example(), read;
    json_t *files;
    assert_ok(write(&state));
    clf__train_state_free(&state);
    static const char *const keys[] = {"update",        "epoch",   "batch", "pass",
                                       "pairs",         "history", "files", "skipped_in_a_row",
                                       "train_checksum"};
    char *text;
    size_t size;
    assert_ok(clf__file_read(&text, &size, path, 1 << 20));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *root = json_loadb(text, size, 0, NULL);
        json_object_set_new(root, keys[i], i % 2 == 0 ? json_integer(-1) : json_string("x"));
        json_dump_file(root, path, 0);
        json_decref(root);
        assert_fails(clf__train_state_read(&read, &files, path), CLF_FORMAT, keys[i]);
    }
    for (size_t cut = 0; cut < size - 1; cut += 7) {
        assert_ok(clf__file_write(path, text, cut));
        assert_fails(clf__train_state_read(&read, &files, path), CLF_FORMAT, "state.json");
    }
    clf__free(text);
}

static void test_the_best_is_the_first_of_equals(void **unused)
{
    (void)unused;
    struct clf__train_state state = {0};
    assert_null(clf__train_state_best(&state, CLF__BEST_LOSS));
    const double losses[] = {3, 2, 2, 2.5};
    for (int i = 0; i < 4; i++) {
        assert_ok(clf__train_state_add(&state, &(struct clf__validated){i + 1, 1, losses[i], 0, -1, 0}));
    }
    assert_true(clf__train_state_best(&state, CLF__BEST_BLEU)->update == 2); /* none has it */
    state.history[3].bleu = 10; /* BLEU, not loss, if both have it */
    state.history[2].bleu = 11;
    state.history[2].loss = 9;
    assert_true(clf__validated_is_better(&state.history[2], &state.history[3], CLF__BEST_BLEU));
    assert_false(clf__validated_is_better(&state.history[2], &state.history[3], CLF__BEST_LOSS));
    assert_true(clf__train_state_best(&state, CLF__BEST_LOSS)->update == 2);
    assert_null(clf__train_state_find(&state, 5));
    assert_true(clf__train_state_find(&state, 3) == &state.history[2]);
    clf__train_state_free(&state);
}

/* Equal BLEU, usually 0 in a small model's early training, is not a reason to stop. */
static void test_equal_bleu_is_decided_by_loss(void **unused)
{
    (void)unused;
    struct clf__train_state state = {0};
    const double losses[] = {4, 3, 2, 2.5};
    for (int i = 0; i < 4; i++) {
        assert_ok(clf__train_state_add(&state, &(struct clf__validated){i + 1, 1, losses[i], 0, 0, 0}));
        assert_true(clf__train_state_best(&state, CLF__BEST_BLEU)->update == (i < 3 ? i + 1 : 3));
    }
    state.history[0].bleu = 1;
    assert_true(clf__train_state_best(&state, CLF__BEST_BLEU)->update == 1);
    clf__train_state_free(&state);
}

static void test_every_allocation_may_fail(void **unused)
{
    (void)unused;
    struct clf__train_state state = example(), read;
    json_t *files;
    clf__memory_fail_at(0);
    assert_ok(write(&state));
    assert_ok(clf__train_state_read(&read, &files, path));
    uint64_t count = clf__memory_count();
    json_decref(files);
    clf__train_state_free(&read);
    for (uint64_t n = 1; n <= count; n++) {
        clf__memory_fail_at(n);
        clf_status status = write(&state);
        if (status == CLF_OK) {
            status = clf__train_state_read(&read, &files, path);
        }
        clf__memory_fail_at(0);
        assert_fails(status, CLF_OUT_OF_MEMORY, "memory");
    }
    clf__train_state_free(&state);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_path, support_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_written_is_read),         TEST(test_damage_is_an_error),
        TEST(test_the_best_is_the_first_of_equals), TEST(test_equal_bleu_is_decided_by_loss),
        TEST(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
