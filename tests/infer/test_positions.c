/* Sinusoid tables grow with the sequences in use, not with the positions that a folder declares, and a grown
 * table gives the results of a full-size one. */
#include "model/folder.h"

#include "model/infer/session.h"

enum { DECLARED = 9999, SOURCE = 4500, TARGET = 4200, FIRST = 4096, VOCABULARY = 29 };

static const char *folder;

static int declare(void **state)
{
    (void)state;
    folder = folder_copy("marian");
    folder_patch(folder, "config.json", NULL, "\"max_position_embeddings\": 256",
                 "\"max_position_embeddings\":9999");
    return 0;
}

static int32_t *make_ids(int count, int vocabulary)
{
    struct support_random random = {3};
    int32_t *ids = support_array((size_t)count, sizeof *ids);
    for (int i = 0; i < count; i++) {
        ids[i] = support_integer(&random, vocabulary - 1);
    }
    return ids;
}

/* The logits of a target's last two rows. With is_complete the tables have their full size from the start. */
static float *run(struct clf_device *device, int source_length, int target_length, int is_complete)
{
    struct clf__transformer *transformer;
    struct clf__session *session;
    assert_ok(clf__transformer_load(&transformer, device, folder, CLF_PRECISION_FP32));
    int vocabulary = VOCABULARY;
    const struct clf__tensor *tables[] = {&transformer->encoder.embedder.positions,
                                          &transformer->decoder.embedder.positions};
    const struct clf__session_limits limits = {.sources = 1,
                                               .source_tokens = DECLARED,
                                               .source_length = DECLARED,
                                               .target_tokens = DECLARED,
                                               .target_length = DECLARED,
                                               .logits = 1};
    if (is_complete) {
        assert_ok(clf__transformer_ensure_positions(transformer, DECLARED, DECLARED));
    }
    assert_ok(clf__session_create(&session, transformer, &limits));
    for (int i = 0; i < 2 && !is_complete; i++) {
        assert_int_equal(tables[i]->rows, FIRST);
    }
    const struct clf__sequences source = {
        .count = 1, .first = (const int[]){0, source_length}, .ids = make_ids(source_length, vocabulary)};
    const struct clf__sequences target = {
        .count = 1, .first = (const int[]){0, target_length}, .ids = make_ids(target_length, vocabulary)};
    float *logits = support_array((size_t)vocabulary * 2, sizeof *logits);
    assert_ok(clf__session_start(session, &source));
    assert_ok(clf__session_teacher_force(session, &target));
    assert_ok(clf__session_logits(session, target_length - 2, 2, logits));
    assert_true(tables[0]->rows >= source_length && tables[1]->rows >= target_length);
    clf__session_free(session);
    clf__transformer_free(transformer);
    return logits;
}

static void test_tables_grow(void **state)
{
    (void)state;
    static const int lengths[][2] = {{3, 4}, {SOURCE, 4}, {3, TARGET}};
    FOR_EACH_VARIANT(device)
    {
        size_t count = support_small() ? 1 : sizeof lengths / sizeof *lengths;
        for (size_t i = 0; i < count; i++) {
            const float *grown = run(device, lengths[i][0], lengths[i][1], 0);
            const float *complete = run(device, lengths[i][0], lengths[i][1], 1);
            assert_memory_equal(grown, complete, 2 * VOCABULARY * sizeof *grown);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tables_grow, declare, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
