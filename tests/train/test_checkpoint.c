/* What a checkpoint says of its files is what was written, whatever became of them since. */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "train/checkpoint.h"
#include "train/files.h"

/* A checkpoint at update 3 with one file; its folder. */
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
        assert_int_equal(state.count, 1); /* the validation was noted */
        clf__train_state_free(&state);
    }
    clf__free(path);
    return found;
}

/* A file that is damaged between the checkpoint and its validation is damaged, not new. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_note_keeps_the_marks, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
