/* Chains: a step whose rows are consecutive tokens of one hypothesis gives the bits of single steps, also
 * after a chain whose last rows were forgotten. */
#include <stdio.h>
#include <string.h>

#include "support/model_fixture.h"
#include "support/support.h"

enum { POSITIONS = 70, ROWS = 9, K = 2 };

/* The results of each position. */
struct results {
    float values[POSITIONS * K], statistics[POSITIONS * 4];
    int32_t ids[POSITIONS * K];
    float *logits; /* (POSITIONS, V) */
};

static struct results results_new(int vocabulary)
{
    struct results results;
    memset(&results, 0xFF, sizeof results);
    results.logits = support_array(POSITIONS * (size_t)vocabulary, sizeof *results.logits);
    return results;
}

/* The token of a position; other texts differ in every token. */
static int32_t token_of(int position, int text)
{
    return 4 + (position * 7 + text * 11) % 30;
}

/* Runs a step of `rows` tokens of a text from `position` on. */
static void feed(struct results *results, struct clf__session *session, int vocabulary, int position,
                 int rows, int text)
{
    static const int32_t zeros[ROWS + 1] = {0};
    int32_t tokens[ROWS], positions[ROWS], banned[ROWS], offsets[ROWS + 1] = {0};
    for (int r = 0; r < rows; r++) {
        tokens[r] = token_of(position + r, text);
        positions[r] = position + r;
        offsets[r + 1] = offsets[r];
        if (positions[r] % 2 != 0) { /* the ban of a position does not depend on the step */
            banned[offsets[r + 1]++] = 5 + positions[r] % ROWS;
        }
    }
    struct clf__step step = {.rows = rows,
                             .tokens = tokens,
                             .positions = positions,
                             .cache_rows = zeros,
                             .parents = zeros,
                             .slots = zeros,
                             .banned = banned,
                             .banned_offsets = offsets,
                             .candidates = K,
                             .both_statistics = 1,
                             .wants_logits = 1,
                             .is_chain = rows > 1,
                             .values = results->values + (size_t)position * K,
                             .ids = results->ids + (size_t)position * K,
                             .statistics = results->statistics + (size_t)position * 4,
                             .logits = results->logits + (size_t)position * (size_t)vocabulary};
    assert_ok(clf__session_step(session, &step));
}

static void check_same(const struct results *actual, const struct results *expected, int count,
                       int vocabulary)
{
    size_t rows = (size_t)count;
    assert_memory_equal(actual->values, expected->values, rows * K * sizeof *actual->values);
    assert_memory_equal(actual->ids, expected->ids, rows * K * sizeof *actual->ids);
    assert_memory_equal(actual->statistics, expected->statistics, rows * 4 * sizeof *actual->statistics);
    assert_memory_equal(actual->logits, expected->logits, rows * (size_t)vocabulary * sizeof *actual->logits);
}

/* Compares chains of several lengths with single steps. Before each chain, a chain of another text is
 * forgotten from its second row on, or from its first. */
static void check_chains(struct clf__session *session, int vocabulary, int count)
{
    static const int lengths[] = {2, 1, ROWS, 5, 8, 1, 1, 3};
    struct results expected = results_new(vocabulary), actual = results_new(vocabulary);
    for (int t = 0; t < count; t++) {
        feed(&expected, session, vocabulary, t, 1, 0);
    }
    for (int t = 0, i = 0; t < count; i++) {
        int rows = lengths[i % (int)(sizeof lengths / sizeof *lengths)];
        rows = rows < count - t ? rows : count - t;
        feed(&actual, session, vocabulary, t, i % 2 ? rows : 1, 1);
        feed(&actual, session, vocabulary, t, rows, 0);
        t += rows;
    }
    check_same(&actual, &expected, count, vocabulary);
    feed(&actual, session, vocabulary, 0, 2, 1); /* the rows see each other: another first token matters */
    assert_memory_not_equal(actual.statistics + 4, expected.statistics + 4, 4 * sizeof *actual.statistics);
    feed(&actual, session, vocabulary, 1, 1, 0);
    assert_memory_not_equal(actual.statistics + 4, expected.statistics + 4, 4 * sizeof *actual.statistics);
}

static void check(struct clf_device *device, const char *name, clf_precision precision)
{
    enum { WHISPER_COUNT = 4 }; /* size of its position table */
    char folder[64];
    snprintf(folder, sizeof folder, "models/%s", name);
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, device, support_fixture(folder), precision));
    assert_true(clf__session_can_chain(transformer));
    struct model_fixture fixture = model_fixture_load(name, transformer->config.feature_size);
    struct clf__sequences sources = fixture.cases[0].sources;
    struct clf__session_limits limits = fixture_limits(&fixture.cases[0]);
    sources.count = limits.sources = 1;
    limits.cache_rows = limits.chain = ROWS;
    limits.positions = POSITIONS;
    limits.candidates = K;
    limits.banned = ROWS;
    limits.logits = 1;
    limits.target_tokens = 0;
    struct clf__session *session;
    assert_ok(clf__session_create(&session, transformer, &limits));
    assert_ok(clf__session_start(session, &sources));
    int count = strcmp(name, "whisper") == 0 ? WHISPER_COUNT : support_small() ? 20 : POSITIONS;
    check_chains(session, transformer->config.target_vocabulary, count);
    clf__session_free(session);
    clf__transformer_free(transformer);
    support_free_all();
}

static void test_chains(void **state)
{
    (void)state;
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        struct clf_device *device =
            support_device_with((clf_variant)variant, CLF_GEMM_NATIVE, CLF_ATTENTION_FUSED);
        for (int p = CLF_PRECISION_FP32; p <= CLF_PRECISION_INT8; p++) {
            check(device, "marian", (clf_precision)p);
        }
        check(device, "whisper", CLF_PRECISION_FP32);
        check(device, "whisper", CLF_PRECISION_INT8);
        check(device, "t5", CLF_PRECISION_FP32); /* with a relative bias, pre-norm */
    }
}

/* Recurrent decoders process the tokens of a hypothesis one at a time. */
static void test_recurrent(void **state)
{
    (void)state;
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, support_device(CLF_VARIANT_AUTO),
                                    support_fixture("models/marian"), CLF_PRECISION_FP32));
    struct clf__mixer *mixer = &transformer->decoder.layers[0].mixer;
    const struct clf__mixer own = *mixer;
    assert_true(clf__session_can_chain(transformer));
    *mixer = (struct clf__mixer){.kind = &clf__ssru_mixer};
    assert_false(clf__session_can_chain(transformer));
    mixer->kind = &clf__average_mixer;
    assert_false(clf__session_can_chain(transformer));
    *mixer = own;
    clf__transformer_free(transformer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_chains, support_teardown),
        cmocka_unit_test_teardown(test_recurrent, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
