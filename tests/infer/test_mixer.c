/* A decoder with another mixer than self-attention, with one vector per layer and hypothesis: state = state /
 * 2 + x. Its states follow hypotheses that change their parents: steps give the results of whole targets. */
#include <math.h>
#include <string.h>

#include "model/infer/session.h"
#include "support/support.h"

enum { SOURCES = 2, LENGTH = 4, START = 1 };

static int d_model;

static clf_status reserve_state(struct clf__mixer_state *state, struct clf__arena *arena,
                                const struct clf__mixer *mixer, int cache_rows, int positions)
{
    (void)mixer, (void)positions;
    return clf__mixer_reserve_vectors(state, arena, cache_rows, d_model, "the states");
}

static void mix(float *y, float *state, const float *x, int width)
{
    for (int i = 0; i < width; i++) {
        state[i] = 0.5f * state[i] + x[i];
        y[i] += state[i];
    }
}

static clf_status step_forward(struct clf__tensor y, struct clf__tensor x, struct clf__tensor residual,
                               const struct clf__mixer *mixer, const struct clf__workspace *workspace,
                               const struct clf__mixer_step *step, const struct clf__mixer_state *state)
{
    (void)mixer, (void)workspace;
    size_t width = (size_t)x.columns;
    const float *rows = support_read(x), *before = support_read(state->parts[!step->buffer_index]);
    float *sums = support_read(residual), *after = support_read(state->parts[step->buffer_index]);
    const int32_t *cache_rows = support_read_integers(step->cache_rows);
    const int32_t *parents = support_read_integers(step->parents);
    const int32_t *positions = support_read_integers(step->positions);
    for (int r = 0; r < x.rows; r++) {
        float *own = after + (size_t)cache_rows[r] * width;
        memset(own, 0, width * sizeof *own);
        if (positions[r] > 0) {
            memcpy(own, before + (size_t)parents[r] * width, width * sizeof *own);
        }
        mix(sums + (size_t)r * width, own, rows + (size_t)r * width, x.columns);
    }
    CLF__TRY(clf__tensor_write(state->parts[step->buffer_index], after));
    return clf__tensor_write(y, sums);
}

static clf_status forward(struct clf__tensor y, struct clf__tensor x, struct clf__tensor residual,
                          const struct clf__mixer *mixer, const struct clf__workspace *workspace,
                          const struct clf__attention_call *call)
{
    (void)mixer, (void)workspace;
    size_t width = (size_t)x.columns;
    const float *rows = support_read(x);
    float *sums = support_read(residual);
    const int32_t *ranges = support_read_integers(call->ranges.table);
    for (int b = 0; b < call->ranges.sequences; b++) {
        float *state = support_array(width, sizeof *state);
        for (int i = 0; i < ranges[4 * b + 1]; i++) {
            size_t row = (size_t)(ranges[4 * b] + i) * width;
            mix(sums + row, state, rows + row, x.columns);
        }
    }
    return clf__tensor_write(y, sums);
}

static const struct clf__mixer_kind halving = {
    .reserve_state = reserve_state, .step = step_forward, .forward = forward};

/* The largest logit of each row of the last step. */
static void decode(float best[SOURCES], struct clf__session *session)
{
    static const int32_t tokens[LENGTH][SOURCES] = {{START}, {3, 4}, {5, 6}, {7, 8}};
    static const int32_t parents[LENGTH][SOURCES] = {{0}, {0, 0}, {1, 1}, {1, 0}};
    static const int32_t cache_rows[SOURCES] = {0, 1}, offsets[SOURCES + 1] = {0}, slots[SOURCES] = {0};
    for (int t = 0; t < LENGTH; t++) {
        const int32_t positions[SOURCES] = {t, t};
        int32_t ids[SOURCES];
        float statistics[4 * SOURCES];
        struct clf__step step = {.rows = t == 0 ? 1 : SOURCES,
                                 .tokens = tokens[t],
                                 .positions = positions,
                                 .cache_rows = cache_rows,
                                 .parents = parents[t],
                                 .slots = slots,
                                 .banned = offsets,
                                 .banned_offsets = offsets,
                                 .candidates = 1,
                                 .values = best,
                                 .ids = ids,
                                 .statistics = statistics};
        assert_ok(clf__session_step(session, &step));
    }
}

static void check_parents(clf_variant variant)
{
    static const int first[SOURCES + 1] = {0, 3, 6}, target_first[SOURCES + 1] = {0, LENGTH, 2 * LENGTH};
    static const int32_t source[2 * 3] = {4, 9, 2, 4, 9, 2};
    static const int32_t target[2 * LENGTH] = {START, 4, 6, 7, START, 4, 5, 8};
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, support_device(variant), support_fixture("models/marian"),
                                    CLF_PRECISION_FP32));
    int count = transformer->decoder.layer_count;
    struct clf__mixer *mixers = support_array((size_t)count, sizeof *mixers);
    d_model = transformer->config.d_model;
    for (int i = 0; i < count; i++) {
        mixers[i] = transformer->decoder.layers[i].mixer;
        transformer->decoder.layers[i].mixer = (struct clf__mixer){.kind = &halving}; /* has no attention */
    }
    const struct clf__session_limits limits = {.sources = SOURCES,
                                               .source_tokens = 6,
                                               .source_length = 3,
                                               .cache_rows = 2 * SOURCES,
                                               .positions = LENGTH,
                                               .candidates = 1,
                                               .target_tokens = 2 * LENGTH,
                                               .target_length = LENGTH,
                                               .logits = 1};
    struct clf__session *session;
    assert_ok(clf__session_create(&session, transformer, &limits));
    const struct clf__sequences sources = {.count = SOURCES, .first = first, .ids = source};
    const struct clf__sequences targets = {.count = SOURCES, .first = target_first, .ids = target};
    assert_ok(clf__session_start(session, &sources));
    float best[SOURCES];
    decode(best, session);
    int vocabulary = transformer->config.target_vocabulary;
    float *logits = support_array((size_t)vocabulary, sizeof *logits);
    assert_ok(clf__session_teacher_force(session, &targets));
    for (int b = 0; b < SOURCES; b++) {
        assert_ok(clf__session_logits(session, (b + 1) * LENGTH - 1, 1, logits));
        float most = -INFINITY;
        for (int v = 0; v < vocabulary; v++) {
            most = fmaxf(most, logits[v]);
        }
        assert_float_equal(best[b], most, 1e-5f);
    }
    assert_true(fabsf(best[0] - best[1]) > 1e-3f);
    clf__session_free(session);
    for (int i = 0; i < count; i++) {
        transformer->decoder.layers[i].mixer = mixers[i];
    }
    clf__transformer_free(transformer);
}

static void test_parents(void **state)
{
    (void)state;
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        check_parents((clf_variant)variant);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_parents, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
