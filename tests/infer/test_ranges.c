/* Steps that separate kinds of tokens by ranges of ids, different for each row, some before the bans: results
 * against the logits. */
#include <math.h>
#include <string.h>

#include "reference/top_k.h"
#include "support/model_fixture.h"
#include "support/support.h"

enum { SOURCES = 3, K = 3, EACH = 3, BEFORE = 1, BANNED = 4, DRAWS = 5 };

static const int32_t tokens[SOURCES] = {3, 3, 7}, positions[SOURCES] = {0, 0, 0}, rows[SOURCES] = {0, 1, 2};
static const int32_t banned[BANNED] = {5, 20, 21, 40}, offsets[SOURCES + 1] = {0, 3, 3, BANNED};
static const int32_t ranges[SOURCES * EACH * 2] = {5, 6,  0,  20, 20, 41, 0, 41, 2,
                                                   3, 30, 41, 40, 41, 7,  7, 39, 99};

static const struct clf__draw draws[DRAWS] = {
    {0, 0, 0, 7, 9, 0.3f}, {0, 1, 0, 7, 9, 0.3f}, {0, 2, 0, 7, 9, 0.3f},
    {2, 4, 1, 7, 9, 1.0f}, {2, 3, 5, 8, 9, 2.0f},
};

/* Of one step. */
struct answers {
    float values[SOURCES * K], statistics[SOURCES * 4], range_values[SOURCES * EACH * K];
    float range_statistics[SOURCES * EACH * 2], *logits;
    float draw_values[DRAWS * EACH], draw_logits[DRAWS * EACH];
    int32_t ids[SOURCES * K], range_ids[SOURCES * EACH * K], draw_ids[DRAWS * EACH];
};

static struct answers step_once(struct clf__session *session, int vocabulary, int each)
{
    struct answers answers;
    memset(&answers, 0xFF, sizeof answers);
    answers.logits = support_array(SOURCES * (size_t)vocabulary, sizeof(float));
    struct clf__step step = {.rows = SOURCES,
                             .tokens = tokens,
                             .positions = positions,
                             .cache_rows = rows,
                             .parents = rows,
                             .slots = rows,
                             .banned = banned,
                             .banned_offsets = offsets,
                             .candidates = K,
                             .both_statistics = 1,
                             .wants_logits = each == 0,
                             .ranges_each = each,
                             .ranges_before = each > 0 ? BEFORE : 0,
                             .ranges = ranges,
                             .draw_count = each > 0 ? DRAWS : 0,
                             .draws = draws,
                             .values = answers.values,
                             .ids = answers.ids,
                             .statistics = answers.statistics,
                             .logits = answers.logits,
                             .range_values = answers.range_values,
                             .range_ids = answers.range_ids,
                             .range_statistics = answers.range_statistics,
                             .draw_values = answers.draw_values,
                             .draw_ids = answers.draw_ids,
                             .draw_logits = answers.draw_logits};
    assert_ok(clf__session_step(session, &step));
    return answers;
}

static void check_range(const struct answers *actual, const float *logits, int row, int m, int vocabulary)
{
    int n = row * EACH + m, first = ranges[2 * n];
    int end = ranges[2 * n + 1] < vocabulary ? ranges[2 * n + 1] : vocabulary;
    int bans = m < BEFORE ? 0 : offsets[row + 1] - offsets[row];
    float *left = support_array((size_t)vocabulary, sizeof *left), values[K];
    int32_t ids[K];
    double statistics[4];
    memcpy(left, logits + (size_t)row * (size_t)vocabulary, (size_t)vocabulary * sizeof *left);
    reference_top_k(values, ids, K, statistics, left, vocabulary, banned + offsets[row], bans, 0);
    reference_top_k(values, ids, K, statistics, left + first, end - first, NULL, 0, 0);
    for (int i = 0; i < K; i++) {
        assert_int_equal(actual->range_ids[n * K + i], ids[i] < 0 ? -1 : ids[i] + first);
        assert_true(actual->range_values[n * K + i] == values[i]);
    }
    for (int i = 0; i < 2; i++) {
        double is = (double)actual->range_statistics[2 * n + i], should = statistics[2 + i];
        assert_true(is == should || fabs(is - should) <= 1e-6 * (1 + fabs(should)));
    }
}

/* A drawn id is in its range, is not banned, and has its logit. */
static void check_draw(const struct answers *actual, const float *logits, int d, int m, int vocabulary)
{
    int row = draws[d].row, n = row * EACH + m;
    int32_t id = actual->draw_ids[d * EACH + m];
    float logit = actual->draw_logits[d * EACH + m];
    int is_empty = 1;
    for (int32_t v = ranges[2 * n]; v < ranges[2 * n + 1] && v < vocabulary; v++) {
        int is_banned = 0;
        for (int32_t b = offsets[row]; b < offsets[row + 1]; b++) {
            is_banned |= banned[b] == v;
        }
        is_empty &= is_banned;
        assert_false(id == v && is_banned);
    }
    assert_int_equal(id < 0, is_empty);
    if (id >= 0) {
        assert_in_range(id, ranges[2 * n], ranges[2 * n + 1] - 1);
        assert_true(logit == logits[row * vocabulary + id]);
        assert_true(fabsf(actual->draw_values[d * EACH + m] - logit / draws[d].temperature) < 23.0f);
    } else {
        assert_true(logit == -INFINITY && actual->draw_values[d * EACH + m] == -INFINITY);
    }
}

static void check(struct clf_device *device, clf_precision precision)
{
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, device, support_fixture("models/whisper"), precision));
    int vocabulary = transformer->config.target_vocabulary;
    struct model_fixture fixture = model_fixture_load("whisper", transformer->config.feature_size);
    struct clf__sequences sources = fixture.cases[0].sources;
    struct clf__session_limits limits = fixture_limits(&fixture.cases[0]);
    assert_true(sources.count >= SOURCES);
    limits.cache_rows = limits.sources;
    limits.positions = 1;
    limits.candidates = K;
    limits.banned = BANNED;
    limits.ranges = EACH;
    limits.draws = DRAWS;
    struct clf__session *session;
    assert_ok(clf__session_create(&session, transformer, &limits));
    assert_ok(clf__session_start(session, &sources));
    struct answers plain = step_once(session, vocabulary, 0), actual = step_once(session, vocabulary, EACH);
    assert_memory_equal(actual.values, plain.values, sizeof plain.values);
    assert_memory_equal(actual.ids, plain.ids, sizeof plain.ids);
    assert_memory_equal(actual.statistics, plain.statistics, sizeof plain.statistics);
    for (int row = 0; row < SOURCES; row++) {
        for (int m = 0; m < EACH; m++) {
            check_range(&actual, plain.logits, row, m, vocabulary);
        }
    }
    for (int i = 0; i < DRAWS * EACH; i++) {
        check_draw(&actual, plain.logits, i / EACH, i % EACH, vocabulary);
    }
    clf__session_free(session);
    clf__transformer_free(transformer);
    support_free_all();
}

static void test_ranges(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        check(device, CLF_PRECISION_FP32);
        check(device, CLF_PRECISION_INT8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_ranges, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
