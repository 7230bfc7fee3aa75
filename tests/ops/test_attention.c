/* Fused attention: many queries, processed in blocks, and few. */
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "cases/attention.h"
#include "math/ops/arguments.h"
#include "reference/gemm.h"
#include "runtime/device/device.h"
#include "support/attention_problem.h"

static struct clf_device *fused(int variant)
{
    return support_device_with((clf_variant)variant, CLF_GEMM_AUTO, CLF_ATTENTION_FUSED);
}

/* Both implementations, each for many and for few queries, against the reference. */
static void check(struct attention_shape shape)
{
    static uint64_t seed = 1;
    seed++;
    int first = shape.key_type == CLF__F16; /* with many queries only floats are supported */
    for (shape.few_queries = first; shape.few_queries < 2; shape.few_queries++) {
        struct attention_problem problem = support_attention_problem(&shape, seed);
        size_t count = (size_t)problem.query_rows * (size_t)(shape.heads * shape.value_width);
        double *expected = support_array(count, sizeof *expected);
        reference_attention_forward(expected, NULL, problem.q, problem.k, problem.v, &problem.reference);
        for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
            struct clf_device *device = fused(variant);
            struct clf__attention_call call = support_attention_call(device, &problem);
            assert_close(support_attention_run(device, &problem, &call), expected, count, 2e-6);
        }
        support_free_all();
    }
}

/* y in 16 bits is y rounded, and nothing else is written. */
static void check_16_bits(struct clf_device *device, enum clf__type type, struct attention_shape shape)
{
    struct attention_problem problem = support_attention_problem(&shape, 31);
    struct clf__attention_call call = support_attention_call(device, &problem);
    int columns = shape.heads * shape.value_width, rows = problem.query_rows;
    float *expected = support_attention_run(device, &problem, &call);
    struct clf__tensor q =
        support_attention_operand(device, 0, rows, shape.heads * shape.key_width, problem.q);
    struct clf__tensor k =
        support_attention_operand(device, 0, problem.key_rows, shape.heads * shape.key_width, problem.k);
    struct clf__tensor v = support_attention_operand(device, 0, problem.key_rows, columns, problem.v);
    struct clf__tensor memory = support_tensor(device, CLF__F32, rows, columns, NULL);
    struct clf__tensor y = clf__tensor_as(memory, type);
    enum clf__precision precision = type == CLF__F16 ? CLF__PRECISION_FP16 : CLF__PRECISION_BF16;
    assert_true(clf__attention_writes(type, device, &call));
    assert_ok(clf__attention_forward(y, q, k, v, &call));
    uint16_t *all = (uint16_t *)support_read(memory);
    for (int i = 0; i < 2 * rows * columns; i++) {
        int row = i / y.stride, column = i % y.stride;
        if (row < rows && column < columns) {
            float found = type == CLF__F16 ? clf__float_of_fp16(all[i]) : clf__float_of_bf16(all[i]);
            assert_true(found == reference_round(precision, expected[row * columns + column]));
        } else {
            assert_true(all[i] == (i % 2 ? 0x7fc0 : 0)); /* the poison's halves */
        }
    }
}

static void test_16_bits(void **state)
{
    (void)state;
    struct attention_shape shape = {.heads = 3, .sequences = 2, .queries = {18, 3}, .keys = {18, 35}};
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        for (int i = 0; i < attention_edge_width_count; i += 2) { /* pairs that test_widths() compiles too */
            shape.key_width = attention_edge_widths[i];
            shape.value_width = attention_edge_widths[attention_edge_width_count - 1 - i];
            shape.hidden = i % 4 / 2;
            check_16_bits(fused((clf_variant)variant), CLF__BF16, shape);
            if (variant == CLF_VARIANT_GPU) {
                check_16_bits(fused((clf_variant)variant), CLF__F16, shape);
            }
        }
    }
    struct clf__attention_call call = {.scratch = NULL};
    if (support_first_variant() == CLF_VARIANT_CPU) {
        assert_false(clf__attention_writes(CLF__F16, fused(CLF_VARIANT_CPU), &call));
        call.few_queries = 1;
        assert_false(clf__attention_writes(CLF__BF16, fused(CLF_VARIANT_CPU), &call));
        call.few_queries = 0;
    }
    assert_false(clf__attention_writes(CLF__F32, fused(support_last_variant()), &call));
    call.maps = support_tensor(fused(support_first_variant()), CLF__F32, 1, 1, NULL);
    assert_false(clf__attention_writes(CLF__BF16, fused(support_first_variant()), &call));
}

static void test_lengths(void **state)
{
    (void)state;
    const int *lengths = attention_edge_lengths;
    int count = support_small() ? 5 : attention_edge_length_count;
    for (int i = 0; i < count; i++) {
        struct attention_shape shape = {.heads = 2, .key_width = 16, .value_width = 24, .sequences = 2};
        shape.queries[0] = lengths[i];
        shape.keys[0] = lengths[count - 1 - i];
        shape.queries[1] = lengths[(i + 5) % count];
        shape.keys[1] = lengths[i];
        check(shape);
        shape.causal = 1;
        check(shape);
    }
}

/* Key counts around the parts for few queries, which groups share if there are few rows. */
static void test_parts(void **state)
{
    (void)state;
    static const int lengths[] = {255, 256, 257, 511, 512, 513, 700};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i += support_small() ? 2 : 1) {
        struct attention_shape shape = {.heads = 3,
                                        .key_width = 16,
                                        .value_width = 24,
                                        .sequences = 2,
                                        .queries = {1, 9},
                                        .keys = {40, lengths[i]}};
        check(shape);
        shape.hidden = shape.causal = 1;
        check(shape);
    }
}

/* Around the GPU variant's tiles of 64 keys, parts and chunks of 16, and blocks of 32 queries, with operands
 * aligned to 16 bytes and unaligned. */
static void test_tiles(void **state)
{
    (void)state;
    static const int queries[] = {1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 97};
    static const int keys[] = {16, 17, 31, 32, 33, 48, 49, 63, 64, 65, 80, 96, 97, 127, 128, 129, 193};
    enum { QUERIES = sizeof queries / sizeof *queries, KEYS = sizeof keys / sizeof *keys };
    for (int i = 0; i < KEYS; i += support_small() ? 8 : 1) {
        struct attention_shape shape = {.heads = 2, .key_width = 20, .value_width = 36, .sequences = 2};
        shape.queries[0] = queries[i % QUERIES];
        shape.keys[0] = keys[i];
        shape.queries[1] = queries[(i + 4) % QUERIES];
        shape.keys[1] = keys[(i + 7) % KEYS];
        shape.column_views = i % 2;
        check(shape);
        shape.causal = 1;
        shape.hidden = i / 2 % 2;
        shape.relative = i % 3 == 0 ? 5 : 0;
        shape.additive = i % 5 == 1;
        check(shape);
    }
}

static void test_widths(void **state)
{
    (void)state;
    const int *widths = attention_edge_widths;
    int count = support_small() ? 3 : attention_edge_width_count;
    for (int i = 0; i < count; i++) {
        struct attention_shape shape = {.heads = 3, .sequences = 2, .queries = {18, 3}, .keys = {18, 35}};
        shape.key_width = widths[i];
        shape.value_width = widths[count - 1 - i];
        shape.column_views = 1;
        check(shape);
    }
}

/* Keys and values in half precision. */
static void test_halves(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) { /* pairs that other tests compile too */
        int last = attention_edge_width_count - 1;
        struct attention_shape shape = {.heads = 3,
                                        .key_width = i ? attention_edge_widths[last] : 16,
                                        .value_width = i ? attention_edge_widths[0] : 24,
                                        .sequences = 3,
                                        .queries = {1, 9, 5},
                                        .keys = {7, 35, 300},
                                        .hidden = i,
                                        .column_views = 1,
                                        .key_type = CLF__F16};
        check(shape);
    }
    struct clf__attention_call call = {.few_queries = 1};
    struct clf_device *device = fused(support_first_variant());
    assert_true(clf__attention_reads_halves(device, &call));
    call.maps = support_tensor(device, CLF__F32, 1, 1, NULL);
    assert_false(clf__attention_reads_halves(device, &call));
    call = (struct clf__attention_call){.few_queries = 0};
    assert_false(clf__attention_reads_halves(device, &call));
    call.few_queries = 1;
    device = support_device_with((clf_variant)support_first_variant(), CLF_GEMM_AUTO, CLF_ATTENTION_BATCHED);
    assert_false(clf__attention_reads_halves(device, &call));
}

static void test_masks(void **state)
{
    (void)state;
    for (int masks = 1; masks < 16; masks = support_next_masks(masks)) {
        struct attention_shape shape = {.heads = 2,
                                        .key_width = 16,
                                        .value_width = 24,
                                        .sequences = 3,
                                        .queries = {5, 34, 17},
                                        .keys = {9, 34, 40},
                                        .causal = masks & 1,
                                        .hidden = masks & 2,
                                        .additive = masks & 4,
                                        .relative = masks & 8 ? 6 : 0};
        check(shape);
    }
}

/* Sequences without queries, without keys, and causal ones whose first queries precede every key. */
static void test_empty(void **state)
{
    (void)state;
    struct attention_shape shape = {.heads = 2,
                                    .key_width = 16,
                                    .value_width = 24,
                                    .sequences = 5,
                                    .queries = {3, 0, 20, 0, 40},
                                    .keys = {0, 7, 5, 0, 3}};
    check(shape);
    shape.causal = 1;
    check(shape);
    struct attention_shape none = {.heads = 1, .key_width = 16, .value_width = 24, .sequences = 0};
    check(none);
}

/* Fully masked rows are exactly zero. */
static void test_all_hidden(void **state)
{
    (void)state;
    struct attention_shape shape = {.heads = 2,
                                    .key_width = 16,
                                    .value_width = 24,
                                    .sequences = 1,
                                    .queries = {40},
                                    .keys = {70},
                                    .hidden = 1};
    for (shape.few_queries = 0; shape.few_queries < 2; shape.few_queries++) {
        struct attention_problem problem = support_attention_problem(&shape, 7);
        for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
            struct clf_device *device = fused(variant);
            struct clf__attention_call call = support_attention_call(device, &problem);
            float *y = support_attention_run(device, &problem, &call);
            for (int i = 0; i < 40 * 2 * 24; i++) {
                assert_true(y[i] == 0.0f);
            }
        }
    }
}

/* A large score must neither overflow nor drown the others. */
static void test_large_scores(void **state)
{
    (void)state;
    struct attention_shape shape = {
        .heads = 1, .key_width = 16, .value_width = 24, .sequences = 1, .queries = {33}, .keys = {70}};
    for (shape.few_queries = 0; shape.few_queries < 2; shape.few_queries++) {
        struct attention_problem problem = support_attention_problem(&shape, 8);
        problem.reference.scale = 100.0;
        double expected[33 * 24];
        reference_attention_forward(expected, NULL, problem.q, problem.k, problem.v, &problem.reference);
        for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
            struct clf_device *device = fused(variant);
            struct clf__attention_call call = support_attention_call(device, &problem);
            /* scores near 1000 carry rounding errors near 1e-4 into the exponent */
            assert_close(support_attention_run(device, &problem, &call), expected, 33 * 24, 1e-3);
        }
    }
}

/* Each sequence gives equal bits by itself and in a batch. */
static void test_batch_invariance(void **state)
{
    (void)state;
    struct attention_shape together = {.heads = 2,
                                       .key_width = 16,
                                       .value_width = 24,
                                       .sequences = support_small() ? 2 : 4,
                                       .queries = {33, 4, 17, 20},
                                       .keys = {33, 40, 17, 70}};
    for (int setting = 0; setting < 4; setting += support_small() ? 3 : 1) {
        together.causal = setting & 1;
        together.few_queries = setting >> 1;
        struct attention_problem problem = support_attention_problem(&together, 9);
        for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
            struct clf_device *device = fused(variant);
            struct clf__attention_call call = support_attention_call(device, &problem);
            const float *y = support_attention_run(device, &problem, &call);
            for (int b = 0; b < together.sequences; b++) {
                const int32_t *range = problem.reference.ranges + 4 * b;
                struct attention_shape shape = together;
                shape.sequences = 1;
                shape.queries[0] = range[1];
                shape.keys[0] = range[3];
                struct attention_problem alone = support_attention_problem(&shape, 10);
                alone.q = problem.q + range[0] * 2 * 16;
                alone.k = problem.k + range[2] * 2 * 16;
                alone.v = problem.v + range[2] * 2 * 24;
                struct clf__attention_call alone_call = support_attention_call(device, &alone);
                const float *y_alone = support_attention_run(device, &alone, &alone_call);
                assert_memory_equal(y_alone, y + range[0] * 2 * 24, (size_t)range[1] * 2 * 24 * sizeof *y);
            }
        }
        support_free_all();
    }
}

/* More work than groups: each group processes further blocks. */
static void test_many_blocks(void **state)
{
    (void)state;
    if (support_small()) {
        skip();
    }
    enum { SEQUENCES = 33000 };
    int32_t *ranges = support_array(4 * SEQUENCES, sizeof *ranges);
    float *values = support_array(SEQUENCES, sizeof *values);
    for (int b = 0; b < SEQUENCES; b++) {
        const int32_t range[4] = {b, 1, b, 1};
        memcpy(ranges + 4 * b, range, sizeof range);
        values[b] = (float)b;
    }
    for (int variant = 0; variant < 4; variant++) {
        struct clf_device *device = fused(variant & 1 ? CLF_VARIANT_CPU : CLF_VARIANT_GPU);
        struct clf__attention_call call = {
            .heads = {1, 1, 1, 1.0f},
            .ranges = {support_tensor(device, CLF__I32, SEQUENCES, 4, ranges), SEQUENCES, 1, 1, 0, 0},
            .mask = CLF__MASK_NONE,
            .few_queries = variant >> 1,
        };
        struct clf__tensor x = support_tensor(device, CLF__F32, SEQUENCES, 1, values);
        struct clf__tensor y = support_tensor(device, CLF__F32, SEQUENCES, 1, NULL);
        assert_ok(clf__attention_forward(y, x, x, x, &call));
        assert_memory_equal(support_read(y), values, SEQUENCES * sizeof *values);
    }
}

/* Output of a device with this many compute units, in groups of at most `ways` sub-groups. */
static float *run_ways(struct clf_device *device, const struct attention_problem *problem,
                       const struct clf__attention_call *call, size_t ways, unsigned units)
{
    size_t most = device->caps.max_work_group;
    unsigned own = device->caps.compute_units;
    device->caps.max_work_group = ways * CLF__GROUP;
    device->caps.compute_units = units;
    float *y = support_attention_run(device, problem, call);
    device->caps.max_work_group = most;
    device->caps.compute_units = own;
    return y;
}

/* Few queries over keys in several parts: equal bits for any number of sub-groups and groups per query, with
 * every mask. */
static void check_ways(int key_width, int value_width, enum clf__type key_type, size_t ways)
{
    enum { MANY_UNITS = 1000 }; /* more than there is work for */
    struct clf_device *device = fused(CLF_VARIANT_GPU);
    for (int masks = 0; masks < 16; masks += support_small() ? 5 : 1) {
        struct attention_shape shape = {.heads = 2,
                                        .key_width = key_width,
                                        .value_width = value_width,
                                        .sequences = 3,
                                        .queries = {1, 3, 2},
                                        .keys = {515, 257, 0},
                                        .causal = masks & 1,
                                        .hidden = masks & 2,
                                        .additive = masks & 4,
                                        .relative = masks & 8 ? 6 : 0,
                                        .few_queries = 1,
                                        .key_type = key_type};
        struct attention_problem problem = support_attention_problem(&shape, 900 + (uint64_t)masks);
        size_t count = (size_t)problem.query_rows * (size_t)(shape.heads * shape.value_width);
        double *expected = support_array(count, sizeof *expected);
        reference_attention_forward(expected, NULL, problem.q, problem.k, problem.v, &problem.reference);
        struct clf__attention_call call = support_attention_call(device, &problem);
        struct clf__attention_call whole = call;
        whole.partials = CLF__NO_TENSOR;
        float *alone = run_ways(device, &problem, &whole, 1, MANY_UNITS);
        assert_close(alone, expected, count, 2e-6);
        assert_memory_equal(run_ways(device, &problem, &whole, ways, MANY_UNITS), alone,
                            count * sizeof *alone);
        assert_memory_equal(run_ways(device, &problem, &call, 1, MANY_UNITS), alone, count * sizeof *alone);
        assert_memory_equal(run_ways(device, &problem, &call, ways, MANY_UNITS), alone,
                            count * sizeof *alone);
        support_free_all();
    }
}

/* Groups share the keys of a query. */
static void test_split(void **state)
{
    (void)state;
    struct clf_device *device = fused(support_last_variant());
    struct clf__heads heads = {4, 16, 24, 1.0f};
    enum { KEYS = 2 * CLF__PART_KEYS + 1, PARTS = 3 };
    assert_int_equal(clf__attention_parts(KEYS), PARTS);
    int rows = clf__attention_split_rows(device, &heads);
    int64_t needed = clf__attention_partials(&heads, rows + 1, KEYS);
    struct clf__tensor partials = support_tensor(device, CLF__F32, 1, (int)needed, NULL);
    int parts = support_last_variant() == CLF_VARIANT_GPU ? PARTS : 1;
    assert_int_equal(clf__attention_split(device, &heads, rows, KEYS, partials), parts);
    assert_int_equal(clf__attention_split(device, &heads, rows + 1, KEYS, partials), 1);
    assert_int_equal(clf__attention_split(device, &heads, rows, CLF__PART_KEYS, partials), 1);
    assert_int_equal(clf__attention_split(device, &heads, rows, KEYS, CLF__NO_TENSOR), 1);
    needed = clf__attention_partials(&heads, rows, KEYS);
    assert_int_equal(
        clf__attention_split(device, &heads, rows, KEYS, clf__tensor_columns(partials, 0, (int)needed)),
        parts);
    assert_int_equal(
        clf__attention_split(device, &heads, rows, KEYS, clf__tensor_columns(partials, 0, (int)needed - 1)),
        1);
}

static void test_ways(void **state)
{
    (void)state;
    if (support_last_variant() == CLF_VARIANT_CPU ||
        fused(CLF_VARIANT_GPU)->caps.max_work_group < 4 * CLF__GROUP) {
        skip();
    }
    check_ways(20, 36, CLF__F32, 4);
    check_ways(17, 300, CLF__F16, 2);
    check_ways(32, 64, CLF__F16, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_16_bits, support_teardown),
        cmocka_unit_test_teardown(test_lengths, support_teardown),
        cmocka_unit_test_teardown(test_parts, support_teardown),
        cmocka_unit_test_teardown(test_tiles, support_teardown),
        cmocka_unit_test_teardown(test_widths, support_teardown),
        cmocka_unit_test_teardown(test_halves, support_teardown),
        cmocka_unit_test_teardown(test_masks, support_teardown),
        cmocka_unit_test_teardown(test_empty, support_teardown),
        cmocka_unit_test_teardown(test_all_hidden, support_teardown),
        cmocka_unit_test_teardown(test_large_scores, support_teardown),
        cmocka_unit_test_teardown(test_batch_invariance, support_teardown),
        cmocka_unit_test_teardown(test_many_blocks, support_teardown),
        cmocka_unit_test_teardown(test_ways, support_teardown),
        cmocka_unit_test_teardown(test_split, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
