/* Ids drawn from ranges of rows of logits: the id that belongs to each random number, and correct
 * frequencies. */
#include "math/ops/draw.h"

#include <math.h>
#include <string.h>

#include "reference/draw.h"
#include "support/support.h"
#include "support/views.h"

enum { MOST_DRAWS = 8 };

struct problem {
    int rows, vocabulary, each, draw_count, first_row;
    const float *logits;
    const int32_t *ranges; /* (rows, each, 2) */
    struct clf__draw draws[MOST_DRAWS];
};

/* The id with the largest value, or one equal to it up to rounding. */
static void check_draw(const struct problem *problem, int d, int m, float value, int32_t id, float logit)
{
    const struct clf__draw *draw = &problem->draws[d];
    int row = draw->row - problem->first_row, v = problem->vocabulary;
    const int32_t *range = problem->ranges + 2 * (row * problem->each + m);
    const float *logits = problem->logits + (size_t)row * (size_t)v;
    int32_t first = range[0] < 0 ? 0 : range[0], end = range[1] < v ? range[1] : v;
    double best;
    if (reference_draw(&best, draw, logits, first, end) < 0) {
        assert_true(id == -1 && value == -INFINITY && logit == -INFINITY);
        return;
    }
    assert_true(id >= first && id < end);
    assert_true(logit == logits[id]);
    double tolerance = 2e-6 * (1 + fabs(best)), own = reference_draw_value(draw, logit, id);
    if (fabs(own - best) > tolerance || fabs((double)value - best) > tolerance) {
        fail_msg("draw %d of range %d: %d with %.9g, which should be %.9g, where there is %.9g", d, m,
                 (int)id, (double)value, own, best);
    }
}

static void check_variant(struct clf_device *device, const struct problem *problem)
{
    int each = problem->each, count = problem->draw_count;
    struct support_view logits = support_view(device, problem->rows, problem->vocabulary, problem->logits);
    struct support_view values = support_view(device, count, each, NULL);
    struct support_view ids = support_view(device, count, each, NULL);
    struct support_view found = support_view(device, count, each, NULL);
    struct clf__tensor id_view = ids.tensor;
    id_view.type = CLF__I32;
    assert_ok(clf__draw_forward(values.tensor, id_view, found.tensor, logits.tensor,
                                support_tensor(device, CLF__I32, problem->rows, 2 * each, problem->ranges),
                                support_tensor(device, CLF__I32, count, CLF__DRAW_WORDS, problem->draws),
                                problem->first_row));
    const float *actual_values = support_read(values.tensor), *actual_found = support_read(found.tensor);
    const int32_t *actual_ids = support_read_integers(id_view);
    for (int i = 0; i < count * each; i++) {
        check_draw(problem, i / each, i % each, actual_values[i], actual_ids[i], actual_found[i]);
    }
    support_view_check(&values);
    support_view_check(&ids);
    support_view_check(&found);
    support_view_check(&logits);
}

static const struct clf__draw some[MOST_DRAWS] = {
    {3, 0, 0, 1, 0, 1.0f},   {3, 1, 0, 1, 0, 1.0f},   {3, 2, 0, 1, 0, 0.2f},
    {4, 0, 7, 1, 0, 0.4f},   {4, 0, 7, 1, 5, 1e-30f}, {5, 9, 1, 0xffffffffu, 9, 0.6f},
    {5, 9, 2, 3, 4, 0.001f}, {5, 9, 2, 3, 4, 100.0f},
};

/* Ranges of any start and end, with one id, none, or more than available. */
static void test_widths(void **state)
{
    (void)state;
    static const int widths[] = {1, 3, 4, 16, 31, 64, 65, 333, 2048};
    struct support_random random = {17};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        int v = widths[i], half = v / 2;
        const int32_t ranges[] = {0,    v,    half,  half + 1, v, v, 1, v - 1, -5,
                                  half, half, v + 9, 0,        5, 3, 0, 0,     v + 100};
        struct problem problem = {
            .rows = 3, .vocabulary = v, .each = 3, .draw_count = MOST_DRAWS, .first_row = 3};
        problem.logits = support_uniform_array(&random, 3 * (size_t)v, 12.0f);
        problem.ranges = ranges;
        memcpy(problem.draws, some, sizeof some);
        FOR_EACH_VARIANT(device)
        {
            check_variant(device, &problem);
        }
    }
}

/* Banned ids and NaN are never drawn. */
static void test_no_numbers(void **state)
{
    (void)state;
    enum { V = 100 };
    const int32_t ranges[] = {0, V, 20, 30, 0, V, 0, 10, 0, V, 50, V};
    float *logits = support_array(3 * (size_t)V, sizeof *logits);
    for (int i = 0; i < 3 * V; i++) {
        logits[i] = i % 3 == 0 ? -INFINITY : i % 7 == 0 ? NAN : (float)(i % 11);
        logits[i] = i < V && i >= 20 && i < 30 ? -INFINITY : logits[i];
        logits[i] = i >= V && i < V + 10 ? NAN : logits[i];
    }
    struct problem problem = {
        .rows = 3, .vocabulary = V, .each = 2, .draw_count = MOST_DRAWS, .first_row = 3};
    problem.logits = logits;
    problem.ranges = ranges;
    memcpy(problem.draws, some, sizeof some);
    FOR_EACH_VARIANT(device)
    {
        check_variant(device, &problem);
    }
}

/* Pearson's chi-squared test of the frequencies of eight ids; 7 degrees of freedom exceed 24.3 once in a
 * thousand cases. */
static void check_shares(struct clf_device *device, float temperature)
{
    enum { V = 8 };
    const int count = support_small() ? 2000 : 20000;
    static const float logits[V] = {0.5f, -1.0f, 2.0f, 1.5f, 0.0f, 2.0f, -0.5f, 1.0f};
    static const int32_t ranges[] = {0, V};
    struct clf__draw *draws = support_array((size_t)count, sizeof *draws);
    int counts[V] = {0};
    for (int i = 0; i < count; i++) {
        draws[i] =
            (struct clf__draw){.sample = i % 5, .count = i / 5, .key_low = 12, .temperature = temperature};
    }
    struct clf__tensor values = support_tensor(device, CLF__F32, count, 1, NULL);
    struct clf__tensor ids = support_tensor(device, CLF__I32, count, 1, NULL);
    struct clf__tensor found = support_tensor(device, CLF__F32, count, 1, NULL);
    assert_ok(clf__draw_forward(values, ids, found, support_tensor(device, CLF__F32, 1, V, logits),
                                support_tensor(device, CLF__I32, 1, 2, ranges),
                                support_tensor(device, CLF__I32, count, CLF__DRAW_WORDS, draws), 0));
    const int32_t *drawn = support_read_integers(ids);
    for (int i = 0; i < count; i++) {
        assert_in_range(drawn[i], 0, V - 1);
        counts[drawn[i]]++;
    }
    double sum = 0, statistic = 0;
    for (int v = 0; v < V; v++) {
        sum += exp((double)logits[v] / (double)temperature);
    }
    for (int v = 0; v < V; v++) {
        double expected = count * exp((double)logits[v] / (double)temperature) / sum;
        statistic += (counts[v] - expected) * (counts[v] - expected) / expected;
    }
    assert_true(statistic < 24.3);
}

static void test_shares(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        check_shares(device, 1.0f);
        check_shares(device, 0.6f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_widths, support_teardown),
        cmocka_unit_test_teardown(test_no_numbers, support_teardown),
        cmocka_unit_test_teardown(test_shares, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
