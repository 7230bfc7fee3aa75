/* The search of jadore1801120/attention-is-all-you-need-pytorch, against a simple implementation on the toy
 * model: a table of beams and columns, with every beam's state recomputed at each step. */
#include <math.h>
#include <stdio.h>

#include "search/toy.h"

enum { MOST_BEAMS = 6, MOST_COLUMNS = 24, SEEDS = 60 };

/* Column 0 is the start token. */
struct table {
    int ids[MOST_BEAMS][MOST_COLUMNS];
    double sums[MOST_BEAMS];
};

struct way {
    int row, id;
    double sum;
};

static int by_sum(const void *a, const void *b)
{
    const struct way *left = a, *right = b;
    return (left->sum < right->sum) - (left->sum > right->sum);
}

/* Lists all continuations of the first `rows` rows, which have `columns` columns, best first; returns their
   number. */
static int list_ways(struct way *ways, const struct table *table, const struct toy *toy, int rows,
                     int columns)
{
    int count = 0;
    for (int row = 0; row < rows; row++) {
        float logits[TOY_VOCABULARY];
        uint32_t state = toy_follow(0, toy->seeds[0]);
        for (int i = 0; i < columns; i++) {
            state = toy_follow(state, table->ids[row][i]);
        }
        toy_logits(logits, toy, state);
        double total = 0;
        for (int id = 0; id < toy->vocabulary; id++) {
            total += exp((double)logits[id]);
        }
        for (int id = 0; id < toy->vocabulary; id++) {
            ways[count++] = (struct way){row, id, table->sums[row] + (double)logits[id] - log(total)};
        }
    }
    qsort(ways, (size_t)count, sizeof *ways, by_sum);
    return count;
}

/* Returns the column of the first end token, or -1. */
static int end_of(const int *ids, int columns)
{
    for (int i = 1; i < columns; i++) {
        if (ids[i] == TOY_END) {
            return i;
        }
    }
    return -1;
}

struct answer {
    int ids[MOST_COLUMNS], length; /* without the start token */
    double score;
    int columns, all_ended; /* size of the table when it was found */
};

static struct answer choose(const struct table *table, int beams, int columns, double alpha, int all_ended)
{
    struct answer answer = {.columns = columns, .all_ended = all_ended};
    int best = 0;
    double best_score = -INFINITY;
    for (int row = 0; row < beams && all_ended; row++) {
        double score = table->sums[row] / pow(end_of(table->ids[row], columns) + 1, alpha);
        best = score > best_score ? row : best;
        best_score = score > best_score ? score : best_score;
    }
    int end = end_of(table->ids[best], columns);
    answer.length = end > 0 ? end : columns - 1;
    answer.score = all_ended ? best_score : table->sums[best];
    memcpy(answer.ids, table->ids[best] + 1, (size_t)answer.length * sizeof *answer.ids);
    return answer;
}

/* The best first tokens become the beams; then each beam continues whether it has ended or not. */
static struct answer translate(const struct toy *toy, int beams, int max_columns, double alpha)
{
    static struct way ways[MOST_BEAMS * TOY_VOCABULARY];
    struct table table = {.sums = {0}};
    int columns = 1, rows = 1, all_ended = 0;
    table.ids[0][0] = TOY_START;
    while (columns < max_columns && !all_ended) {
        struct table before = table;
        assert_true(list_ways(ways, &table, toy, rows, columns) >= beams);
        rows = beams;
        columns++;
        all_ended = 1;
        for (int row = 0; row < rows; row++) {
            memcpy(table.ids[row], before.ids[ways[row].row], sizeof table.ids[row]);
            table.ids[row][columns - 1] = ways[row].id;
            table.sums[row] = ways[row].sum;
            all_ended &= end_of(table.ids[row], columns) > 0;
        }
    }
    return choose(&table, beams, columns, alpha, all_ended);
}

static struct clf__search_options jadores(int beams, int n_best, int max_length)
{
    struct clf__search_options options = toy_options(12, beams, n_best, max_length);
    options.length_rule = CLF__LENGTH_INCLUDING_START;
    options.length_penalty = 0.7;
    options.early_stopping = CLF__STOP_ALL;
    return options;
}

static int is_found(const struct clf__hypothesis *found, const struct answer *answer)
{
    int same = found->length == answer->length;
    for (int i = 0; same && i < answer->length; i++) {
        same = found->ids[i] == answer->ids[i];
    }
    return same;
}

/* Log-probability of an answer's tokens, whatever its beam appended after the end. */
static double log_probability_of(const struct toy *toy, const struct answer *answer)
{
    uint32_t state = toy_follow(toy_follow(0, toy->seeds[0]), TOY_START);
    double sum = 0;
    for (int i = 0; i < answer->length; i++) {
        float logits[TOY_VOCABULARY], statistics[2];
        toy_logits(logits, toy, state);
        toy_statistics(statistics, logits, toy->vocabulary);
        sum += (double)logits[answer->ids[i]] - statistics[0] - statistics[1];
        state = toy_follow(state, answer->ids[i]);
    }
    return sum;
}

static int finds(const struct clf__search_options *options, const struct toy *toy,
                 const struct answer *answer)
{
    struct toy_result result;
    struct toy searched = *toy;
    searched.options = options;
    assert_ok(toy_search(&result, &searched, 1));
    int found = is_found(&result.hypotheses[0], answer);
    if (found && options->early_stopping == CLF__STOP_ALL) {
        assert_true(fabs(result.hypotheses[0].score - answer->score) <= 1e-5 * fabs(answer->score));
        assert_true(fabs(result.hypotheses[0].log_probability - log_probability_of(toy, answer)) <= 1e-5);
    }
    toy_result_free(&result);
    return found;
}

static void test_it_is_jadores(void **state)
{
    (void)state;
    int ran_on = 0, cut = 0, other_than_before = 0;
    for (int seed = 0; seed < SEEDS; seed++) {
        for (int beams = 2; beams <= MOST_BEAMS; beams++) {
            int length = seed % 3 == 0 ? 2 + seed % 4 : MOST_COLUMNS - 1;
            struct clf__search_options options = jadores(beams, 1, length), nearest = options;
            struct toy toy = toy_for(&options, 1, &seed);
            toy.end_bonus = seed % 6;
            struct answer answer = translate(&toy, beams, length + 1, 0.7);
            assert_true(finds(&options, &toy, &answer));
            nearest.length_rule = CLF__LENGTH_HUGGINGFACE;
            nearest.early_stopping = CLF__STOP_NEVER;
            other_than_before += !finds(&nearest, &toy, &answer);
            ran_on += answer.all_ended && answer.length < answer.columns - 1;
            cut += !answer.all_ended;
        }
    }
    print_message("%d answers ran on past their end, %d were cut at the limit; the nearest rule of "
                  "transformers misses %d\n",
                  ran_on, cut, other_than_before);
    assert_true(ran_on > 0 && cut > 0 && other_than_before > 0);
}

/* Each ended hypothesis is reported once, however its beams continued; the first equals the result with
   n-best 1. */
static void test_n_best_are_different(void **state)
{
    (void)state;
    int fewer = 0;
    for (int seed = 0; seed < SEEDS; seed++) {
        struct clf__search_options options = jadores(5, 5, 20);
        struct toy toy = toy_for(&options, 1, &seed);
        toy.end_bonus = 5;
        struct answer answer = translate(&toy, 5, 21, 0.7);
        struct toy_result result;
        assert_ok(toy_search(&result, &toy, 1));
        assert_true(is_found(&result.hypotheses[0], &answer));
        for (int i = 1; i < 5; i++) {
            const struct clf__hypothesis *one = &result.hypotheses[i];
            fewer += one->length == 0;
            assert_true(one->length == 0 || one->score <= result.hypotheses[i - 1].score);
            for (int k = 0; k < i && one->length > 0; k++) {
                const struct clf__hypothesis *other = &result.hypotheses[k];
                assert_true(one->length != other->length ||
                            memcmp(one->ids, other->ids, (size_t)one->length * sizeof *one->ids) != 0);
            }
        }
        toy_result_free(&result);
    }
    assert_true(fewer > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_jadores),
        cmocka_unit_test(test_n_best_are_different),
    };
    return cmocka_run_group_tests_name("search/jadore", tests, NULL, NULL);
}
