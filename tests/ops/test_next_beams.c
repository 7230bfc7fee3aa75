/* Beams that are chosen from the candidates of the previous step, against the choice of the search tests. */
#include "math/ops/next_beams.h"

#include <math.h>
#include <string.h>

#include "search/toy_choice.h"
#include "support/support.h"

enum { CHOICES = 5, FROM_ROWS = 24, K = 23, ROWS = 30, PAD = 12, PAD_POSITION = 1, OFF = -2, MARGIN = 2 };

/* Beams of 1 to 11 rows; the first choice starts from one row, and the third knows no scores. */
static const struct clf__beam_choice choices[CHOICES] = {
    {.from_row = 0,
     .from_rows = 1,
     .ranks = 8,
     .row = 0,
     .beams = 4,
     .cache_row = 40,
     .statistic = 2,
     .knows_scores = 1,
     .ends = {0, -1, -1, -1}},
    {.from_row = 1,
     .from_rows = 4,
     .ranks = 8,
     .row = 4,
     .beams = 4,
     .cache_row = 0,
     .statistic = 0,
     .knows_scores = 1,
     .ends = {3, 5, 9, 2}},
    {.from_row = 5,
     .from_rows = 11,
     .ranks = 22,
     .row = 8,
     .beams = 11,
     .cache_row = 60,
     .statistic = 0,
     .knows_scores = 0,
     .ends = {0, -1, -1, -1}},
    {.from_row = 16,
     .from_rows = 4,
     .ranks = 8,
     .row = 20,
     .beams = 4,
     .cache_row = 90,
     .statistic = 2,
     .knows_scores = 0,
     .ends = {0, -1, -1, -1}}, /* too few candidates */
    {.from_row = 20,
     .from_rows = 3,
     .ranks = K,
     .row = 24,
     .beams = 3,
     .cache_row = 80,
     .statistic = 0,
     .knows_scores = 1,
     .ends = {1, -1, -1, -1}}, /* equal scores */
};

struct numbers {
    float values[FROM_ROWS * K], statistics[FROM_ROWS * 4], before[FROM_ROWS], known[FROM_ROWS];
    int32_t ids[FROM_ROWS * K];
};

/* Candidates in descending order; rows 17 to 19 have none, and those of row 16 are few. */
static void make_numbers(struct numbers *numbers)
{
    struct support_random random = {5};
    for (int row = 0; row < FROM_ROWS; row++) {
        float value = 3.0f + support_uniform(&random);
        for (int rank = 0; rank < K; rank++) {
            int is_equal = row >= 20;
            value -= is_equal ? 0.0f : 0.25f + 0.25f * support_uniform(&random);
            int is_left = row < 16 || row > 19 || (row == 16 && rank < 3);
            numbers->values[row * K + rank] = is_left ? (is_equal ? 2.0f : value) : -INFINITY;
            numbers->ids[row * K + rank] = is_left ? (is_equal ? rank : (7 * row + 5 * rank) % 50) : -1;
        }
        numbers->statistics[4 * row] = 3.5f;
        numbers->statistics[4 * row + 1] = 0.75f;
        numbers->statistics[4 * row + 2] = 3.25f;
        numbers->statistics[4 * row + 3] = 0.5f + 0.1f * (float)row;
        numbers->before[row] = row == 7 ? -INFINITY : -0.3f * (float)(row % 5);
        numbers->known[row] = row >= 20 ? -1.0f : -0.2f * (float)(row % 7);
    }
    numbers->statistics[4 * 9 + 1] = NAN; /* a row of the third choice */
}

static void check(struct clf_device *device, int pad)
{
    static struct numbers numbers;
    int32_t tokens[ROWS + MARGIN], parents[ROWS + MARGIN], positions[ROWS + MARGIN];
    float scores[ROWS + MARGIN];
    make_numbers(&numbers);
    for (int row = 0; row < ROWS + MARGIN; row++) {
        tokens[row] = 1000 + row;
        parents[row] = 2000 + row;
        positions[row] = 3000 + row;
        scores[row] = 4000.0f;
    }
    struct clf__tensor t = support_tensor(device, CLF__I32, 1, ROWS + MARGIN, tokens);
    struct clf__tensor p = support_tensor(device, CLF__I32, 1, ROWS + MARGIN, parents);
    struct clf__tensor at = support_tensor(device, CLF__I32, 1, ROWS + MARGIN, positions);
    struct clf__tensor s = support_tensor(device, CLF__F32, 1, ROWS + MARGIN, scores);
    const struct clf__next_beams next = {
        .tokens = clf__tensor_columns(t, MARGIN, ROWS),
        .parents = clf__tensor_columns(p, MARGIN, ROWS),
        .positions = clf__tensor_columns(at, MARGIN, ROWS),
        .scores = clf__tensor_columns(s, MARGIN, ROWS),
    };
    const struct clf__previous_beams previous = {
        .values = support_tensor(device, CLF__F32, FROM_ROWS, K, numbers.values),
        .ids = support_tensor(device, CLF__I32, FROM_ROWS, K, numbers.ids),
        .statistics = support_tensor(device, CLF__F32, FROM_ROWS, 4, numbers.statistics),
        .scores = support_tensor(device, CLF__F32, 1, FROM_ROWS, numbers.before),
        .known = support_tensor(device, CLF__F32, 1, FROM_ROWS, numbers.known),
    };
    struct clf__beam_choice all[CHOICES + 2];
    memcpy(all, choices, sizeof choices);
    all[CHOICES] = choices[1]; /* beyond the rows, and too many candidates */
    all[CHOICES].row = ROWS - 2;
    all[CHOICES + 1] = choices[1];
    all[CHOICES + 1].from_rows = 12;
    all[CHOICES + 1].ranks = K;
    assert_ok(clf__next_beams(&next, &previous,
                              support_tensor(device, CLF__I32, CHOICES + 2, CLF__CHOICE_WORDS, all), pad,
                              PAD_POSITION));
    const struct clf__step step = {
        .candidates = K, .values = numbers.values, .ids = numbers.ids, .statistics = numbers.statistics};
    int pads = 0;
    for (int i = 0; i < CHOICES; i++) {
        toy_choose_beams(tokens + MARGIN, parents + MARGIN, scores + MARGIN, &choices[i], &step,
                         choices[i].knows_scores ? numbers.known : numbers.before);
    }
    for (int row = MARGIN; row < ROWS + MARGIN; row++) {
        pads += tokens[row] == PAD;
        positions[row] = tokens[row] == pad ? PAD_POSITION : positions[row];
    }
    assert_true(pads > 0);
    assert_true(tokens[MARGIN + 22] >= 0 && tokens[MARGIN + 23] == -1); /* three candidates for four beams */
    assert_memory_equal(support_read_integers(t), tokens, sizeof tokens);
    assert_memory_equal(support_read_integers(p), parents, sizeof parents);
    assert_memory_equal(support_read_integers(at), positions, sizeof positions);
    assert_memory_equal(support_read(s), scores, sizeof scores);
}

static void test_choices(void **state)
{
    (void)state;
    assert_int_equal(sizeof *choices, CLF__CHOICE_WORDS * sizeof(int32_t));
    FOR_EACH_VARIANT(device)
    {
        check(device, PAD);
        check(device, OFF);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_choices, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
