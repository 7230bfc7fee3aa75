/* A checkpoint records the files as they were written, even if they change later. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "support/training_fixture.h"
#include "train/checkpoint.h"
#include "train/files.h"

/* Creates a checkpoint at update 3 with one file; returns its folder. */
static char *make(const struct clf__checkpoints *checkpoints, const struct clf__train_state *state)
{
    char *making, *path;
    assert_ok(clf__checkpoints_begin(&making, checkpoints, state->update));
    write_text(making, "model.safetensors", "as it was written");
    assert_ok(clf__checkpoints_end(making, checkpoints, state, CLF_OK));
    assert_ok(clf__checkpoints_path(&path, checkpoints, state->update));
    return path;
}

static int is_whole(const struct clf__checkpoints *checkpoints)
{
    struct clf__train_state state;
    char *path;
    assert_ok(clf__checkpoints_newest(&path, &state, checkpoints));
    int found = path != NULL;
    if (found) {
        assert_int_equal(state.count, 1); /* the validation was recorded */
        clf__train_state_free(&state);
    }
    clf__free(path);
    return found;
}

/* A file damaged between checkpoint and validation is reported as damaged, not accepted as new. */
static void test_note_keeps_the_marks(void **unused)
{
    (void)unused;
    for (int damaged = 0; damaged <= 1; damaged++) {
        struct clf__checkpoints checkpoints;
        struct clf__train_state state = {.update = 3, .epoch = 1, .pairs = 5, .lines = 5};
        assert_ok(clf__checkpoints_open(&checkpoints, support_temporary_folder()));
        char *path = make(&checkpoints, &state);
        if (damaged) {
            write_text(path, "model.safetensors", "as it was writtem");
        }
        assert_ok(clf__train_state_add(&state, &(struct clf__validated){3, 1, 2, 2, -1, 0}));
        assert_ok(clf__checkpoints_note(&checkpoints, &state));
        assert_int_equal(is_whole(&checkpoints), !damaged);
        clf__train_state_free(&state);
        clf__free(path);
        clf__checkpoints_close(&checkpoints);
    }
}

/* Weights with NaN or infinity are not saved, and the previous checkpoint stays. */
static void test_weights_that_are_not_finite(void **unused)
{
    (void)unused;
    static const float odd[] = {NAN, INFINITY, -INFINITY};
    struct training_fixture fixture = training_fixture_load("marian");
    struct clf__training_limits limits = training_fixture_limits(&fixture);
    const struct clf__training_options options = {.smoothing = fixture.smoothing};
    struct clf__transformer *transformer;
    struct clf__training *training;
    struct clf__checkpoints checkpoints;
    struct clf__train_state state = {.update = 3, .epoch = 1, .pairs = 5, .lines = 5};
    assert_ok(clf__transformer_load(&transformer, support_device(CLF_VARIANT_AUTO), fixture.folder,
                                    CLF_PRECISION_FP32));
    assert_ok(clf__training_create(&training, transformer, &limits, &options));
    assert_ok(clf__checkpoints_open(&checkpoints, support_temporary_folder()));
    assert_ok(clf__checkpoints_save(&checkpoints, training, &state, fixture.folder));
    const struct clf__parameter *first = &clf__training_parameters(training)->items[0];
    size_t count = (size_t)first->rows * (size_t)first->columns;
    float *values = support_array(count, sizeof *values);
    for (int i = 0; i < 3; i++) {
        assert_ok(clf__training_read(training, CLF__VALUES, 0, values));
        values[count - 1] = odd[i];
        assert_ok(clf__training_write(training, CLF__VALUES, 0, values));
        state.update = 4;
        assert_fails(clf__checkpoints_save(&checkpoints, training, &state, fixture.folder), CLF_UNSUPPORTED,
                     first->name);
    }
    struct clf__names names;
    assert_ok(clf__folder_list(&names, checkpoints.folder));
    for (int i = 0; i < names.count; i++) {
        assert_null(strstr(names.items[i], "update-00000004"));
    }
    clf__names_free(&names);
    char *path;
    struct clf__train_state read;
    assert_ok(clf__checkpoints_newest(&path, &read, &checkpoints));
    assert_non_null(strstr(path, "update-00000003"));
    clf__free(path);
    clf__train_state_free(&read);
    clf__checkpoints_close(&checkpoints);
    clf__training_free(training);
    clf__transformer_free(transformer);
}

/* Foreign folders whose names resemble checkpoints. */
static void test_names_that_begin_alike(void **unused)
{
    (void)unused;
    static const char *const own[] = {"update-notes.tmp", "update-3.tmp", "update-00000003-mine.tmp",
                                      "update-of-my-paper.damaged", "update-.tmp"};
    enum { COUNT = sizeof own / sizeof *own };
    const char *output = support_temporary_folder();
    struct clf__checkpoints checkpoints;
    char *path;
    assert_ok(clf__checkpoints_open(&checkpoints, output));
    for (int i = 0; i < COUNT; i++) {
        assert_ok(clf__path_join(&path, checkpoints.folder, own[i]));
        assert_ok(clf__folder_create(path));
        clf__free(path);
    }
    assert_ok(clf__path_join(&path, checkpoints.folder, "update-00000003.tmp"));
    assert_ok(clf__folder_create(path));
    clf__checkpoints_close(&checkpoints);
    assert_ok(clf__checkpoints_open(&checkpoints, output));
    assert_false(clf__folder_exists(path)); /* a killed run's */
    clf__free(path);
    for (int i = 0; i < COUNT; i++) {
        assert_ok(clf__path_join(&path, checkpoints.folder, own[i]));
        assert_true(clf__folder_exists(path));
        clf__free(path);
    }
    clf__checkpoints_close(&checkpoints);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_note_keeps_the_marks, support_teardown),
        cmocka_unit_test_teardown(test_weights_that_are_not_finite, support_teardown),
        cmocka_unit_test_teardown(test_names_that_begin_alike, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
