/* Attention of a decoding step: one query per row over its cached history. */
#include <math.h>
#include <string.h>

#include "cases/attention.h"
#include "math/ops/cache.h"
#include "runtime/device/device.h"
#include "support/attention_problem.h"

enum { CACHE_ROWS = 5 }; /* hypotheses; cache row 1 stays unused */

/* A simulated beam search of `steps` steps: each hypothesis appends its key and value to its parent's
 * history. The reference is full attention over each history. */
struct decoding {
    int steps, rows;
    struct attention_shape shape;
    const int32_t *cache_rows; /* (rows) */
    const int32_t *parents;    /* (steps, rows): cache rows of the previous step */
    const float *q, *k, *v;    /* (steps * rows, ..): row r of a step */
    const float *relative;
};

/* Rounds the parents' keys and values to half precision. */
static void round_history(struct decoding *decoding)
{
    const struct attention_shape *shape = &decoding->shape;
    size_t rows = (size_t)(decoding->steps * decoding->rows * shape->heads);
    decoding->k = support_round_halves(decoding->k, rows * (size_t)shape->key_width);
    decoding->v = support_round_halves(decoding->v, rows * (size_t)shape->value_width);
}

static struct decoding make_decoding(const struct attention_shape *shape, int steps, uint64_t seed)
{
    static const int32_t cache_rows[] = {3, 0, 4, 2};
    struct support_random random = {seed};
    struct decoding decoding = {.steps = steps, .rows = 4, .shape = *shape, .cache_rows = cache_rows};
    size_t rows = (size_t)(steps * decoding.rows);
    int32_t *parents = support_array(rows, sizeof *parents);
    for (size_t i = 0; i < rows; i++) {
        parents[i] = cache_rows[support_integer(&random, decoding.rows)];
    }
    decoding.parents = parents;
    decoding.q = support_uniform_array(&random, rows * (size_t)(shape->heads * shape->key_width), 2.0f);
    decoding.k = support_uniform_array(&random, rows * (size_t)(shape->heads * shape->key_width), 2.0f);
    decoding.v = support_uniform_array(&random, rows * (size_t)(shape->heads * shape->value_width), 1.0f);
    if (shape->relative) {
        decoding.relative =
            support_uniform_array(&random, (size_t)(shape->heads * (2 * shape->relative + 1)), 2.0f);
    }
    return decoding;
}

/* Returns the row of a cache row in a step. */
static int row_of(const struct decoding *decoding, int cache_row)
{
    int row = 0;
    while (decoding->cache_rows[row] != cache_row) {
        row++;
    }
    return row;
}

/* Computes the expected result of row r of the last step. */
static void expect(double *y, const struct decoding *decoding, int r)
{
    const struct attention_shape *shape = &decoding->shape;
    int steps = decoding->steps;
    size_t key_columns = (size_t)(shape->heads * shape->key_width);
    size_t value_columns = (size_t)(shape->heads * shape->value_width);
    float *q = support_array((size_t)steps * key_columns, sizeof *q);
    float *k = support_array((size_t)steps * key_columns, sizeof *k);
    float *v = support_array((size_t)steps * value_columns, sizeof *v);
    for (int t = steps - 1; t >= 0; t--) {
        size_t row = (size_t)(t * decoding->rows + r);
        memcpy(q + (size_t)t * key_columns, decoding->q + row * key_columns, key_columns * sizeof *q);
        memcpy(k + (size_t)t * key_columns, decoding->k + row * key_columns, key_columns * sizeof *k);
        memcpy(v + (size_t)t * value_columns, decoding->v + row * value_columns, value_columns * sizeof *v);
        r = row_of(decoding, decoding->parents[row]);
    }
    const int32_t range[4] = {0, steps, 0, steps};
    struct reference_attention reference = {
        .heads = shape->heads,
        .key_width = shape->key_width,
        .value_width = shape->value_width,
        .scale = 0.25,
        .sequences = 1,
        .max_queries = steps,
        .max_keys = steps,
        .ranges = range,
        .causal = 1,
        .relative = decoding->relative,
        .reach = shape->relative,
    };
    double *all = support_array((size_t)steps * value_columns, sizeof *all);
    reference_attention_forward(all, NULL, q, k, v, &reference);
    memcpy(y, all + (size_t)(steps - 1) * value_columns, value_columns * sizeof *y);
}

static struct clf__heads heads_of(const struct attention_shape *shape)
{
    return (struct clf__heads){shape->heads, shape->key_width, shape->value_width, 0.25f};
}

/* The operands of step t, as columns of wider tensors. */
struct operands {
    struct clf__tensor q, k, v;
};

static struct operands operands_of(struct clf_device *device, const struct decoding *decoding, int t)
{
    const struct attention_shape *shape = &decoding->shape;
    int rows = decoding->rows, key_columns = shape->heads * shape->key_width;
    int value_columns = shape->heads * shape->value_width;
    size_t first = (size_t)(t * rows);
    return (struct operands){
        .q = support_attention_operand(device, 1, rows, key_columns,
                                       decoding->q + first * (size_t)key_columns),
        .k = support_attention_operand(device, 1, rows, key_columns,
                                       decoding->k + first * (size_t)key_columns),
        .v = support_attention_operand(device, 1, rows, value_columns,
                                       decoding->v + first * (size_t)value_columns),
    };
}

/* Runs every step of a decoding with a history of that type filled with NaN; y is the last result. */
static struct clf__attention_history decode(struct clf_device *device, const struct decoding *decoding,
                                            enum clf__type type, struct clf__tensor y)
{
    const struct attention_shape *shape = &decoding->shape;
    int steps = decoding->steps, rows = decoding->rows, total = steps + 2;
    int key_columns = shape->heads * shape->key_width, value_columns = shape->heads * shape->value_width;
    struct clf__heads heads = heads_of(shape);
    struct clf__attention_history history = {
        .keys = support_tensor(device, type, total * CACHE_ROWS, key_columns, NULL),
        .values = support_tensor(device, type, total * CACHE_ROWS, value_columns, NULL),
        .cache_rows = support_tensor(device, CLF__I32, 1, rows, decoding->cache_rows),
        .cache_rows_total = CACHE_ROWS,
    };
    if (decoding->relative) {
        history.relative =
            support_tensor(device, CLF__F32, shape->heads, 2 * shape->relative + 1, decoding->relative);
    }
    struct clf__tensor tables[2];
    for (int i = 0; i < 2; i++) {
        tables[i] = support_tensor(device, CLF__I32, CACHE_ROWS, total, NULL);
    }
    for (int t = 0; t < steps; t++) {
        const int32_t positions[] = {t, t, t, t};
        history.positions = support_tensor(device, CLF__I32, 1, rows, positions);
        history.table = tables[(t + 1) % 2];
        struct clf__tensor parents = support_tensor(device, CLF__I32, 1, rows, decoding->parents + t * rows);
        struct operands x = operands_of(device, decoding, t);
        assert_ok(
            clf__cache_follow(history.table, tables[t % 2], history.cache_rows, parents, history.positions));
        assert_ok(clf__attention_step_forward(y, x.q, x.k, x.v, &heads, &history));
    }
    return history;
}

static void check(struct attention_shape shape, int steps)
{
    struct decoding decoding = make_decoding(&shape, steps, (uint64_t)(steps + shape.key_width));
    int rows = decoding.rows, value_columns = shape.heads * shape.value_width;
    double *expected = support_array((size_t)(rows * value_columns), sizeof *expected);
    for (int r = 0; r < rows; r++) {
        expect(expected + r * value_columns, &decoding, r);
    }
    struct clf__heads heads = heads_of(&shape);
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor y = support_attention_operand(device, 1, rows, value_columns, NULL);
        struct clf__attention_history history = decode(device, &decoding, CLF__F32, y);
        struct operands x = operands_of(device, &decoding, steps - 1);
        float *together = support_read(y);
        assert_close(together, expected, (size_t)(rows * value_columns), 2e-6);

        /* a single row gives the same bits */
        for (int r = 0; r < rows; r++) {
            struct clf__attention_history one = history;
            one.cache_rows = clf__tensor_columns(history.cache_rows, r, 1);
            one.positions = clf__tensor_columns(history.positions, r, 1);
            struct clf__tensor y_row = support_tensor(device, CLF__F32, 1, value_columns, NULL);
            assert_ok(clf__attention_step_forward(y_row, clf__tensor_rows(x.q, r, 1),
                                                  clf__tensor_rows(x.k, r, 1), clf__tensor_rows(x.v, r, 1),
                                                  &heads, &one));
            assert_memory_equal(support_read(y_row), together + r * value_columns,
                                (size_t)value_columns * sizeof *together);
        }
    }
    support_free_all();
}

/* A history of halves against a history of equal floats. */
static void test_halves(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) { /* pairs that other tests compile too */
        int last = attention_edge_width_count - 1;
        struct attention_shape shape = {.heads = i ? 3 : 2,
                                        .key_width = i ? attention_edge_widths[last] : 16,
                                        .value_width = i ? attention_edge_widths[0] : 24,
                                        .relative = i ? 0 : 5};
        struct decoding decoding = make_decoding(&shape, i ? 18 : 67, 3);
        size_t count = (size_t)(decoding.rows * shape.heads * shape.value_width);
        FOR_EACH_VARIANT(device)
        {
            int columns = shape.heads * shape.value_width;
            struct clf__tensor from_halves = support_tensor(device, CLF__F32, decoding.rows, columns, NULL);
            struct clf__tensor from_floats = support_tensor(device, CLF__F32, decoding.rows, columns, NULL);
            decode(device, &decoding, CLF__F16, from_halves); /* rounds what comes */
            struct decoding rounded = decoding;
            round_history(&rounded);
            decode(device, &rounded, CLF__F32, from_floats);
            assert_memory_equal(support_read(from_halves), support_read(from_floats), count * sizeof(float));
        }
        support_free_all();
    }
}

/* Rows of several steps in one call, with their keys and values already in the history, give the results of
 * separate steps. */
static void test_together(void **state)
{
    (void)state;
    enum { COUNT = 70, HEADS = 2, KEYS = HEADS * 20, VALUES = HEADS * 16, CACHE_ROW = 1 };
    struct support_random random = {9};
    const float *q = support_uniform_array(&random, COUNT * KEYS, 1.0f);
    const float *k = support_uniform_array(&random, COUNT * KEYS, 1.0f);
    const float *v = support_uniform_array(&random, COUNT * VALUES, 1.0f);
    struct clf__heads heads = {HEADS, KEYS / HEADS, VALUES / HEADS, 0.25f};
    int32_t positions[COUNT], rows[COUNT], places[COUNT], table[2 * COUNT];
    for (int i = 0; i < COUNT; i++) {
        positions[i] = i;
        rows[i] = table[i] = table[COUNT + i] = CACHE_ROW;
        places[i] = CACHE_ROW * COUNT + i;
    }
    FOR_EACH_VARIANT(device)
    {
        struct operands x = {.q = support_tensor(device, CLF__F32, COUNT, KEYS, q),
                             .k = support_tensor(device, CLF__F32, COUNT, KEYS, k),
                             .v = support_tensor(device, CLF__F32, COUNT, VALUES, v)};
        struct clf__tensor y = support_tensor(device, CLF__F32, COUNT, VALUES, NULL);
        struct clf__tensor at = support_tensor(device, CLF__I32, 1, COUNT, places);
        struct clf__attention_history history = {
            .keys = support_tensor(device, CLF__F32, 2 * COUNT, KEYS, NULL),
            .values = support_tensor(device, CLF__F32, 2 * COUNT, VALUES, NULL),
            .table = support_tensor(device, CLF__I32, 2, COUNT, table),
            .cache_rows = support_tensor(device, CLF__I32, 1, COUNT, rows),
            .positions = support_tensor(device, CLF__I32, 1, COUNT, positions),
            .cache_rows_total = 2,
        };
        struct clf__attention_history one = history;
        one.keys = support_tensor(device, CLF__F32, 2 * COUNT, KEYS, NULL);
        one.values = support_tensor(device, CLF__F32, 2 * COUNT, VALUES, NULL);
        assert_ok(clf__cache_place(history.keys, x.k, at));
        assert_ok(clf__cache_place(history.values, x.v, at));
        assert_ok(clf__attention_step_forward(y, x.q, CLF__NO_TENSOR, CLF__NO_TENSOR, &heads, &history));
        const float *together = support_read(y);
        for (int i = 0; i < COUNT; i++) {
            struct clf__tensor row = support_tensor(device, CLF__F32, 1, VALUES, NULL);
            one.cache_rows = clf__tensor_columns(history.cache_rows, i, 1);
            one.positions = clf__tensor_columns(history.positions, i, 1);
            assert_ok(clf__attention_step_forward(row, clf__tensor_rows(x.q, i, 1),
                                                  clf__tensor_rows(x.k, i, 1), clf__tensor_rows(x.v, i, 1),
                                                  &heads, &one));
            assert_memory_equal(support_read(row), together + i * VALUES, VALUES * sizeof *together);
        }
    }
}

/* A history with scratch for the parts of these rows, which several groups share; the single row likewise. */
static struct clf__attention_history split_history(struct clf_device *device, const struct clf__heads *heads,
                                                   const struct clf__attention_history *history,
                                                   int most_keys)
{
    struct clf__attention_history split = *history;
    int rows = history->cache_rows.columns;
    int64_t partials = clf__attention_partials(heads, rows, most_keys);
    split.most_keys = most_keys;
    split.partials = support_tensor(device, CLF__F32, 1, (int)partials, NULL);
    return split;
}

/* Long histories, with lengths around parts: against double, and equal bits for a single row and for one of
 * many, with one or several groups per row. */
static void test_long(void **state)
{
    (void)state;
    enum {
        COUNT = 1100,
        HEADS = 2,
        WIDTH = 20,
        COLUMNS = HEADS * WIDTH,
        KINDS = 11,
        ROWS = 5 * KINDS,
        REACH = 6
    };
    static const int32_t kinds[KINDS] = {COUNT - 1, 0, 63, 64, 127, 254, 255, 256, 511, 512, 700};
    struct support_random random = {11};
    const float *q = support_uniform_array(&random, ROWS * COLUMNS, 2.0f);
    const float *k = support_uniform_array(&random, COUNT * COLUMNS, 2.0f);
    const float *v = support_uniform_array(&random, COUNT * COLUMNS, 1.0f);
    const float *bias = support_uniform_array(&random, HEADS * (2 * REACH + 1), 2.0f);
    int32_t positions[ROWS], cache_rows[ROWS], table[COUNT];
    memset(cache_rows, 0, sizeof cache_rows);
    memset(table, 0, sizeof table);
    double *expected = support_array(ROWS * COLUMNS, sizeof *expected);
    for (int i = 0; i < ROWS * HEADS; i++) {
        int row = i / HEADS, head = i % HEADS;
        int position = positions[row] = kinds[row % KINDS];
        double total = 0.0, *sums = expected + i * WIDTH;
        for (int t = 0; t <= position; t++) {
            double score = bias[head * (2 * REACH + 1) + (position - t < REACH ? t - position + REACH : 0)];
            for (int d = 0; d < WIDTH; d++) {
                score += 0.25 * (double)q[i * WIDTH + d] * (double)k[(t * HEADS + head) * WIDTH + d];
            }
            double weight = exp(score);
            total += weight;
            for (int d = 0; d < WIDTH; d++) {
                sums[d] += weight * (double)v[(t * HEADS + head) * WIDTH + d];
            }
        }
        for (int d = 0; d < WIDTH; d++) {
            sums[d] /= total;
        }
    }
    struct clf__heads heads = {HEADS, WIDTH, WIDTH, 0.25f};
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor queries = support_tensor(device, CLF__F32, ROWS, COLUMNS, q);
        struct clf__tensor y = support_tensor(device, CLF__F32, ROWS, COLUMNS, NULL);
        struct clf__attention_history history = {
            .keys = support_tensor(device, CLF__F32, COUNT, COLUMNS, k),
            .values = support_tensor(device, CLF__F32, COUNT, COLUMNS, v),
            .table = support_tensor(device, CLF__I32, 1, COUNT, table),
            .cache_rows = support_tensor(device, CLF__I32, 1, ROWS, cache_rows),
            .positions = support_tensor(device, CLF__I32, 1, ROWS, positions),
            .relative = support_tensor(device, CLF__F32, HEADS, 2 * REACH + 1, bias),
            .cache_rows_total = 1,
        };
        assert_ok(clf__attention_step_forward(y, queries, CLF__NO_TENSOR, CLF__NO_TENSOR, &heads, &history));
        const float *together = support_read(y);
        assert_close(together, expected, ROWS * COLUMNS, 2e-6);
        unsigned units = device->caps.compute_units;
        device->caps.compute_units = 1000; /* more than there is work for */
        struct clf__attention_history split = split_history(device, &heads, &history, COUNT);
        assert_ok(clf__attention_step_forward(y, queries, CLF__NO_TENSOR, CLF__NO_TENSOR, &heads, &split));
        device->caps.compute_units = units;
        assert_memory_equal(support_read(y), together, ROWS * COLUMNS * sizeof *together);
        for (int i = 0; i < KINDS; i++) {
            struct clf__attention_history one = i % 2 ? history : split;
            one.most_keys = i % 2 ? 0 : kinds[i] + 1;
            struct clf__tensor row = support_tensor(device, CLF__F32, 1, COLUMNS, NULL);
            one.cache_rows = clf__tensor_columns(history.cache_rows, i, 1);
            one.positions = clf__tensor_columns(history.positions, i, 1);
            assert_ok(clf__attention_step_forward(row, clf__tensor_rows(queries, i, 1), CLF__NO_TENSOR,
                                                  CLF__NO_TENSOR, &heads, &one));
            assert_memory_equal(support_read(row), together + i * COLUMNS, COLUMNS * sizeof *together);
        }
    }
}

static void test_lengths(void **state)
{
    (void)state;
    static const int steps[] = {1, 2, 15, 16, 17, 33, 63, 64, 65, 129};
    int count = support_small() ? 5 : (int)(sizeof steps / sizeof *steps);
    for (int i = 0; i < count; i++) {
        struct attention_shape shape = {.heads = 2, .key_width = 16, .value_width = 24};
        check(shape, steps[i]);
        shape.relative = 5;
        check(shape, steps[i]);
    }
}

static void test_widths(void **state)
{
    (void)state;
    const int *widths = attention_edge_widths;
    int count = support_small() ? 3 : attention_edge_width_count;
    for (int i = 0; i < count; i++) {
        struct attention_shape shape = {
            .heads = 3, .key_width = widths[i], .value_width = widths[count - 1 - i]};
        check(shape, 18);
    }
}

/* Rows outside the history leave it unchanged and give zeros; the valid one is written at its position. */
static void test_out_of_range(void **state)
{
    (void)state;
    enum { ROWS = 5, WIDTH = 20, TABLE_ROWS = 2, POSITIONS = 3, ALL = TABLE_ROWS * POSITIONS * WIDTH };
    const int32_t cache_rows[ROWS] = {-1, TABLE_ROWS, 0, 1, 1}, positions[ROWS] = {0, 0, POSITIONS, -1, 0};
    const int32_t table[TABLE_ROWS * POSITIONS] = {0, 0, 0, 1, 1, 1};
    struct support_random random = {5};
    const float *x = support_uniform_array(&random, ROWS * WIDTH, 1.0f);
    struct clf__heads heads = {1, WIDTH, WIDTH, 1.0f};
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor rows = support_tensor(device, CLF__F32, ROWS, WIDTH, x);
        struct clf__tensor y = support_tensor(device, CLF__F32, ROWS, WIDTH, NULL);
        struct clf__attention_history history = {
            .keys = support_tensor(device, CLF__F32, TABLE_ROWS * POSITIONS, WIDTH, NULL),
            .values = support_tensor(device, CLF__F32, TABLE_ROWS * POSITIONS, WIDTH, NULL),
            .table = support_tensor(device, CLF__I32, TABLE_ROWS, POSITIONS, table),
            .cache_rows = support_tensor(device, CLF__I32, 1, ROWS, cache_rows),
            .positions = support_tensor(device, CLF__I32, 1, ROWS, positions),
            .cache_rows_total = TABLE_ROWS,
        };
        assert_ok(clf__attention_step_forward(y, rows, rows, rows, &heads, &history));
        const float *out = support_read(y), *keys = support_read(history.keys),
                    *values = support_read(history.values);
        for (int i = 0; i < ROWS * WIDTH; i++) {
            assert_true(out[i] == (i < 4 * WIDTH ? 0.0f : x[i]));
        }
        for (int i = 0; i < ALL; i++) {
            int c = i - POSITIONS * WIDTH; /* cache row 1, position 0 */
            int is_written = c >= 0 && c < WIDTH;
            assert_true(is_written ? keys[i] == x[4 * WIDTH + c] && values[i] == keys[i]
                                   : isnan(keys[i]) && isnan(values[i]));
        }
    }
}

static void test_no_rows(void **state)
{
    (void)state;
    struct clf__heads heads = {1, 4, 4, 1.0f};
    FOR_EACH_VARIANT(device)
    {
        struct clf__tensor none = support_tensor(device, CLF__F32, 0, 4, NULL);
        struct clf__attention_history history = {.keys = none, .values = none};
        assert_ok(clf__attention_step_forward(none, none, none, none, &heads, &history));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_lengths, support_teardown),
        cmocka_unit_test_teardown(test_widths, support_teardown),
        cmocka_unit_test_teardown(test_halves, support_teardown),
        cmocka_unit_test_teardown(test_together, support_teardown),
        cmocka_unit_test_teardown(test_long, support_teardown),
        cmocka_unit_test_teardown(test_out_of_range, support_teardown),
        cmocka_unit_test_teardown(test_no_rows, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
