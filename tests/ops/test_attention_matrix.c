/* Attention over blocks of queries with matrix instructions. */
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "reference/gemm.h"
#include "runtime/device/caps.h"
#include "runtime/device/device.h"
#include "support/attention_problem.h"

static const int edges[] = {1, 15, 16, 17, 63, 64, 65, 130};
enum { EDGES = sizeof edges / sizeof *edges };

/* Devices with matrix instructions: emulated ones, then the device's own, if any. */
#define FOR_EACH_MATRIX(device)                                                                              \
    for (int support_level = 0; support_level < 2; support_level++)                                          \
        for (struct clf_device *device = matrix_device(support_level); device; device = NULL)

static struct clf_device *matrix_device(int is_own)
{
    if (support_last_variant() == CLF_VARIANT_CPU) {
        return NULL;
    }
    if (!is_own) {
        return support_matrix_device();
    }
    struct clf_device *device = support_device_with(CLF_VARIANT_GPU, CLF_GEMM_NATIVE, CLF_ATTENTION_FUSED);
    return clf__caps_have_matrix(clf__device_caps(device)) ? device : NULL;
}

static const float *round_values(const float *values, size_t count, enum clf__precision precision)
{
    float *rounded = support_array(count, sizeof *rounded);
    for (size_t i = 0; i < count; i++) {
        rounded[i] = reference_round(precision, values[i]);
    }
    return rounded;
}

static size_t count_results(const struct attention_problem *problem)
{
    return (size_t)problem->query_rows * (size_t)(problem->shape.heads * problem->shape.value_width);
}

/* A problem whose operands are exact in the precision. */
static struct attention_problem rounded_problem(const struct attention_shape *shape, uint64_t seed,
                                                enum clf__precision precision)
{
    struct attention_problem problem = support_attention_problem(shape, seed);
    size_t key_columns = (size_t)(shape->heads * shape->key_width);
    size_t value_columns = (size_t)(shape->heads * shape->value_width);
    problem.q = round_values(problem.q, (size_t)problem.query_rows * key_columns, precision);
    problem.k = round_values(problem.k, (size_t)problem.key_rows * key_columns, precision);
    problem.v = round_values(problem.v, (size_t)problem.key_rows * value_columns, precision);
    return problem;
}

static float *run(struct clf_device *device, const struct attention_problem *problem,
                  enum clf__precision precision)
{
    struct clf__attention_call call = support_attention_call(device, problem);
    call.precision = precision;
    return support_attention_run(device, problem, &call);
}

/* Columns 8 .. of a wider 16-bit tensor; the other columns are NaN, or large in bf16. */
static struct clf__tensor rounded_operand(struct clf_device *device, enum clf__precision precision, int rows,
                                          int columns, const float *values)
{
    enum { MARGIN = 8 };
    struct clf__tensor all = support_tensor(device, CLF__F16, rows, columns + 2 * MARGIN, NULL);
    all.type = precision == CLF__PRECISION_BF16 ? CLF__BF16 : CLF__F16;
    struct clf__tensor own = clf__tensor_columns(all, MARGIN, columns);
    uint16_t *rounded = support_array((size_t)rows * (size_t)columns, sizeof *rounded);
    for (int i = 0; i < rows * columns; i++) {
        rounded[i] = precision == CLF__PRECISION_BF16 ? clf__bf16_of(values[i]) : clf__fp16_of(values[i]);
    }
    assert_ok(clf__tensor_write(own, rounded));
    return own;
}

/* Output for operands stored in the precision. */
static float *run_rounded(struct clf_device *device, const struct attention_problem *problem,
                          enum clf__precision precision)
{
    const struct attention_shape *shape = &problem->shape;
    int key_columns = shape->heads * shape->key_width, value_columns = shape->heads * shape->value_width;
    struct clf__attention_call call = support_attention_call(device, problem);
    call.precision = precision;
    struct clf__tensor q = rounded_operand(device, precision, problem->query_rows, key_columns, problem->q);
    struct clf__tensor k = rounded_operand(device, precision, problem->key_rows, key_columns, problem->k);
    struct clf__tensor v = rounded_operand(device, precision, problem->key_rows, value_columns, problem->v);
    struct clf__tensor y = support_tensor(device, CLF__F32, problem->query_rows, value_columns, NULL);
    assert_true(clf__attention_reads(q.type, device, &call));
    assert_ok(clf__attention_forward(y, q, k, v, &call));
    return support_read(y);
}

/* Compares with the reference within the rounding of the attention weights. In bf16 from column views, in
 * fp16 from whole matrices: half of the builds of all pairs. */
static void check(struct attention_shape shape)
{
    static uint64_t seed = 100;
    seed++;
    enum clf__precision precision = shape.column_views ? CLF__PRECISION_BF16 : CLF__PRECISION_FP16;
    struct attention_problem problem = rounded_problem(&shape, seed, precision);
    size_t count = count_results(&problem);
    double *expected = support_array(count, sizeof *expected);
    reference_attention_forward(expected, NULL, problem.q, problem.k, problem.v, &problem.reference);
    FOR_EACH_MATRIX(device)
    {
        assert_close(run(device, &problem, precision), expected, count,
                     precision == CLF__PRECISION_BF16 ? 2e-3 : 2.5e-4);
    }
    support_free_all();
}

static void test_lengths(void **state)
{
    (void)state;
    for (int i = 0; i < EDGES; i += support_small() ? 3 : 1) {
        struct attention_shape shape = {.heads = 2, .key_width = 16, .value_width = 32, .sequences = 2};
        shape.queries[0] = edges[i];
        shape.keys[0] = edges[EDGES - 1 - i];
        shape.queries[1] = edges[(i + 5) % EDGES];
        shape.keys[1] = edges[i];
        check(shape);
        shape.causal = shape.column_views = 1;
        check(shape);
    }
}

static void test_widths(void **state)
{
    (void)state;
    static const int widths[] = {16, 32, 48, 64, 80, 128};
    enum { WIDTHS = sizeof widths / sizeof *widths };
    for (int i = 0; i < WIDTHS; i += support_small() ? 5 : 1) {
        struct attention_shape shape = {.heads = 2, .sequences = 2, .queries = {18, 40}, .keys = {18, 70}};
        shape.key_width = shape.value_width = widths[i];
        check(shape);
        shape.value_width = widths[WIDTHS - 1 - i];
        shape.column_views = shape.causal = 1;
        check(shape);
    }
}

static void test_masks(void **state)
{
    (void)state;
    for (int masks = 1; masks < 16; masks = support_next_masks(masks)) {
        struct attention_shape shape = {.heads = 2,
                                        .key_width = 16,
                                        .value_width = 32,
                                        .sequences = 3,
                                        .queries = {5, 34, 70},
                                        .keys = {9, 34, 133},
                                        .column_views = masks / 4 % 2,
                                        .causal = masks & 1,
                                        .hidden = masks & 2,
                                        .additive = masks & 4,
                                        .relative = masks & 8 ? 6 : 0};
        check(shape);
    }
}

/* Sequences without queries or keys, and causal ones whose first queries precede every key. */
static void test_empty(void **state)
{
    (void)state;
    struct attention_shape shape = {.heads = 2,
                                    .key_width = 16,
                                    .value_width = 32,
                                    .sequences = 5,
                                    .queries = {3, 0, 20, 0, 40},
                                    .keys = {0, 7, 5, 0, 3}};
    check(shape);
    shape.causal = 1;
    check(shape);
}

/* 16-bit operands give the bits of equal values in float, also with the larger groups of long sequences and
 * many heads. */
static void test_rounded_operands(void **state)
{
    (void)state;
    FOR_EACH_MATRIX(device)
    {
        for (int masks = 0; masks < 16; masks = masks == 0 ? 1 : support_next_masks(masks)) {
            for (int precision = CLF__PRECISION_FP16; precision <= CLF__PRECISION_BF16; precision++) {
                struct attention_shape shape = {.heads = 1 + (int)clf__device_caps(device)->compute_units,
                                                .key_width = 16,
                                                .value_width = 32,
                                                .sequences = 3,
                                                .queries = {18, 131, 70},
                                                .keys = {1, 131, 96},
                                                .causal = masks & 1,
                                                .hidden = masks & 2,
                                                .additive = masks & 4,
                                                .relative = masks & 8 ? 6 : 0};
                struct attention_problem problem = support_attention_problem(&shape, 50 + (uint64_t)masks);
                const float *expected = run(device, &problem, (enum clf__precision)precision);
                assert_memory_equal(run_rounded(device, &problem, (enum clf__precision)precision), expected,
                                    count_results(&problem) * sizeof *expected);
                support_free_all();
            }
        }
    }
}

/* The same with other widths, and with short sequences. */
static void test_rounded_widths(void **state)
{
    (void)state;
    static const int widths[][2] = {{16, 16}, {48, 64}, {64, 48}, {80, 128}, {128, 32}};
    FOR_EACH_MATRIX(device)
    {
        for (int i = 0; i < (int)(sizeof widths / sizeof *widths); i += support_small() ? 2 : 1) {
            for (int queries = 30; queries <= 70; queries += 20) {
                struct attention_shape shape = {.heads = 2,
                                                .key_width = widths[i][0],
                                                .value_width = widths[i][1],
                                                .sequences = 2,
                                                .queries = {queries, 3},
                                                .keys = {33, queries}};
                struct attention_problem problem = support_attention_problem(&shape, 70 + (uint64_t)i);
                const float *expected = run(device, &problem, CLF__PRECISION_FP16);
                assert_memory_equal(run_rounded(device, &problem, CLF__PRECISION_FP16), expected,
                                    count_results(&problem) * sizeof *expected);
                support_free_all();
            }
        }
    }
}

/* Fully masked queries give exact zeros. */
static void test_all_hidden(void **state)
{
    (void)state;
    struct attention_shape shape = {.heads = 2,
                                    .key_width = 16,
                                    .value_width = 32,
                                    .sequences = 1,
                                    .queries = {40},
                                    .keys = {70},
                                    .hidden = 1};
    struct attention_problem problem = support_attention_problem(&shape, 7);
    FOR_EACH_MATRIX(device)
    {
        const float *y = run(device, &problem, CLF__PRECISION_FP16);
        for (size_t i = 0; i < count_results(&problem); i++) {
            assert_true(y[i] == 0.0f);
        }
    }
}

/* Large scores neither overflow nor drown the smaller ones. */
static void test_large_scores(void **state)
{
    (void)state;
    struct attention_shape shape = {
        .heads = 1, .key_width = 16, .value_width = 32, .sequences = 1, .queries = {33}, .keys = {70}};
    struct attention_problem problem = rounded_problem(&shape, 8, CLF__PRECISION_FP16);
    problem.reference.scale = 100.0;
    double expected[33 * 32];
    reference_attention_forward(expected, NULL, problem.q, problem.k, problem.v, &problem.reference);
    FOR_EACH_MATRIX(device)
    {
        assert_close(run(device, &problem, CLF__PRECISION_FP16), expected, 33 * 32, 1e-3);
    }
}

/* A sequence gives the same bits in any batch, and in groups of two and of four warps. */
static void test_batch_invariance(void **state)
{
    (void)state;
    enum { HEADS = 2, KEY_WIDTH = 16, VALUE_WIDTH = 32 };
    struct attention_shape together = {.heads = HEADS,
                                       .key_width = KEY_WIDTH,
                                       .value_width = VALUE_WIDTH,
                                       .sequences = support_small() ? 2 : 4,
                                       .queries = {33, 4, 130, 20},
                                       .keys = {33, 40, 130, 70}};
    for (together.causal = 0; together.causal < 2; together.causal++) {
        struct attention_problem problem = support_attention_problem(&together, 9);
        FOR_EACH_MATRIX(device)
        {
            const float *y = run(device, &problem, CLF__PRECISION_FP16);
            for (int b = 0; b < together.sequences; b++) {
                const int32_t *range = problem.reference.ranges + 4 * b;
                struct attention_shape shape = together;
                shape.sequences = 1;
                shape.queries[0] = range[1];
                shape.keys[0] = range[3];
                struct attention_problem alone = support_attention_problem(&shape, 10);
                alone.q = problem.q + range[0] * HEADS * KEY_WIDTH;
                alone.k = problem.k + range[2] * HEADS * KEY_WIDTH;
                alone.v = problem.v + range[2] * HEADS * VALUE_WIDTH;
                const float *y_alone = run(device, &alone, CLF__PRECISION_FP16);
                assert_memory_equal(y_alone, y + range[0] * HEADS * VALUE_WIDTH,
                                    (size_t)(range[1] * HEADS * VALUE_WIDTH) * sizeof *y);
            }
        }
        support_free_all();
    }
}

/* y in 16 bits is y rounded, and nothing else is written; y as columns of a wider matrix leaves the others
 * unchanged. */
static void check_stores(struct clf_device *device, enum clf__type type)
{
    enum { ROWS = 37, COLUMNS = 2 * 32, MARGIN = 3, WIDTH = COLUMNS + 7 };
    struct attention_shape shape = {
        .heads = 2, .key_width = 16, .value_width = 32, .sequences = 2, .queries = {34, 3}, .keys = {18, 35}};
    struct attention_problem problem = support_attention_problem(&shape, 31);
    struct clf__attention_call call = support_attention_call(device, &problem);
    enum clf__precision precision = type == CLF__F16 ? CLF__PRECISION_FP16 : CLF__PRECISION_BF16;
    call.precision = precision;
    const float *expected = support_attention_run(device, &problem, &call);
    struct clf__tensor q = support_attention_operand(device, 0, ROWS, 32, problem.q);
    struct clf__tensor k = support_attention_operand(device, 0, problem.key_rows, 32, problem.k);
    struct clf__tensor v = support_attention_operand(device, 0, problem.key_rows, COLUMNS, problem.v);
    for (int margin = 0; margin <= MARGIN; margin += MARGIN) {
        struct clf__tensor memory = support_tensor(device, CLF__F32, ROWS, WIDTH, NULL);
        struct clf__tensor y = clf__tensor_as(memory, type);
        y.columns = COLUMNS;
        y.offset += (size_t)margin;
        assert_ok(clf__attention_forward(y, q, k, v, &call));
        const uint16_t *all = (const uint16_t *)support_read(memory);
        for (int i = 0; i < 2 * ROWS * WIDTH; i++) {
            int row = i / y.stride, column = i % y.stride - margin;
            if (row < ROWS && column >= 0 && column < COLUMNS) {
                float found = type == CLF__F16 ? clf__float_of_fp16(all[i]) : clf__float_of_bf16(all[i]);
                assert_true(found == reference_round(precision, expected[row * COLUMNS + column]));
            } else {
                assert_true(all[i] == (i % 2 ? 0x7fc0 : 0)); /* the poison's halves */
            }
        }
    }
    struct clf__tensor wide = support_tensor(device, CLF__F32, ROWS, WIDTH, NULL);
    assert_ok(clf__attention_forward(clf__tensor_columns(wide, MARGIN, COLUMNS), q, k, v, &call));
    const float *all = support_read(wide);
    for (int i = 0; i < ROWS * WIDTH; i++) {
        int column = i % WIDTH - MARGIN;
        int is_inside = column >= 0 && column < COLUMNS;
        assert_true(is_inside ? all[i] == expected[i / WIDTH * COLUMNS + column] : isnan(all[i]));
    }
}

static void test_stores(void **state)
{
    (void)state;
    FOR_EACH_MATRIX(device)
    {
        check_stores(device, CLF__F16);
        check_stores(device, CLF__BF16);
    }
}

/* NaN in a query or in a visible key gives NaN. NaN in a hidden key changes no bit. */
static void test_nan(void **state)
{
    (void)state;
    enum { QUERIES = 20, KEYS = 70, WIDTH = 16, VALUE_WIDTH = 32, HIDDEN = 5, BAD_QUERY = 3 };
    struct attention_shape shape = {.heads = 1,
                                    .key_width = WIDTH,
                                    .value_width = VALUE_WIDTH,
                                    .sequences = 1,
                                    .queries = {QUERIES},
                                    .keys = {KEYS}};
    struct attention_problem problem = support_attention_problem(&shape, 12);
    int32_t *hidden = support_array(KEYS, sizeof *hidden);
    float *k = support_array((size_t)KEYS * WIDTH, sizeof *k);
    float *q = support_array((size_t)QUERIES * WIDTH, sizeof *q);
    memcpy(k, problem.k, (size_t)KEYS * WIDTH * sizeof *k);
    memcpy(q, problem.q, (size_t)QUERIES * WIDTH * sizeof *q);
    hidden[HIDDEN] = 1;
    problem.reference.hidden = hidden;
    problem.k = k;
    problem.q = q;
    FOR_EACH_MATRIX(device)
    {
        for (int precision = CLF__PRECISION_FP16; precision <= CLF__PRECISION_BF16; precision++) {
            k[HIDDEN * WIDTH] = 0.0f;
            q[BAD_QUERY * WIDTH] = 1.0f;
            const float *expected = run(device, &problem, (enum clf__precision)precision);
            k[HIDDEN * WIDTH] = q[BAD_QUERY * WIDTH] = NAN;
            const float *y = run(device, &problem, (enum clf__precision)precision);
            for (int i = 0; i < QUERIES * VALUE_WIDTH; i++) {
                assert_true(i / VALUE_WIDTH == BAD_QUERY ? isnan(y[i]) : y[i] == expected[i]);
            }
            k[(HIDDEN + 1) * WIDTH] = NAN;
            y = run(device, &problem, (enum clf__precision)precision);
            for (int i = 0; i < QUERIES * VALUE_WIDTH; i++) {
                assert_true(isnan(y[i]));
            }
            k[(HIDDEN + 1) * WIDTH] = 0.5f;
        }
    }
}

/* A finite operand above the largest half becomes the largest half. */
static void test_limits(void **state)
{
    (void)state;
    struct attention_shape shape = {
        .heads = 1, .key_width = 16, .value_width = 32, .sequences = 1, .queries = {2}, .keys = {1}};
    struct attention_problem problem = support_attention_problem(&shape, 13);
    float *v = support_array(32, sizeof *v);
    for (int i = 0; i < 32; i++) {
        v[i] = i % 2 ? -1e6f : 1e6f;
    }
    problem.v = v;
    FOR_EACH_MATRIX(device)
    {
        const float *y = run(device, &problem, CLF__PRECISION_FP16);
        for (int i = 0; i < 64; i++) {
            assert_true(y[i] == (i % 2 ? -65504.0f : 65504.0f));
        }
    }
}

/* Int8 models use fp16; dropout and other widths use the kernel of fp32 models. */
static void test_choice(void **state)
{
    (void)state;
    struct attention_shape shape = {
        .heads = 1, .key_width = 16, .value_width = 32, .sequences = 1, .queries = {33}, .keys = {33}};
    FOR_EACH_MATRIX(device)
    {
        struct attention_problem problem = support_attention_problem(&shape, 14);
        size_t bytes = count_results(&problem) * sizeof(float);
        const float *halves = run(device, &problem, CLF__PRECISION_FP16);
        const float *plain = run(device, &problem, CLF__PRECISION_FP32);
        assert_memory_equal(run(device, &problem, CLF__PRECISION_INT8), halves, bytes);
        assert_memory_not_equal(plain, halves, bytes);
        for (int i = 0; i < 3; i++) {
            struct attention_shape other = shape;
            other.dropout = i == 0 ? 0.25f : 0.0f;
            other.key_width = i == 1 ? 24 : 16;
            other.value_width = i == 2 ? 144 : 32;
            problem = support_attention_problem(&other, 15);
            assert_memory_equal(run(device, &problem, CLF__PRECISION_BF16),
                                run(device, &problem, CLF__PRECISION_FP32),
                                count_results(&problem) * sizeof(float));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_lengths, support_teardown),
        cmocka_unit_test_teardown(test_widths, support_teardown),
        cmocka_unit_test_teardown(test_masks, support_teardown),
        cmocka_unit_test_teardown(test_empty, support_teardown),
        cmocka_unit_test_teardown(test_rounded_operands, support_teardown),
        cmocka_unit_test_teardown(test_rounded_widths, support_teardown),
        cmocka_unit_test_teardown(test_all_hidden, support_teardown),
        cmocka_unit_test_teardown(test_large_scores, support_teardown),
        cmocka_unit_test_teardown(test_batch_invariance, support_teardown),
        cmocka_unit_test_teardown(test_stores, support_teardown),
        cmocka_unit_test_teardown(test_nan, support_teardown),
        cmocka_unit_test_teardown(test_limits, support_teardown),
        cmocka_unit_test_teardown(test_choice, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
