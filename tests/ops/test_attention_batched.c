/* Batched attention, and its attention maps. */
#include <math.h>
#include <string.h>

#include "support/attention_problem.h"

static struct clf_device *batched(int variant)
{
    return support_device_with((clf_variant)variant, CLF_GEMM_AUTO, CLF_ATTENTION_BATCHED);
}

/* Runs a problem with scratch for `sequences` of its size, or slightly more; maps may be NULL. */
static float *run_batched(struct clf_device *device, const struct attention_problem *problem, int sequences,
                          int spare, float **maps)
{
    const struct reference_attention *reference = &problem->reference;
    struct clf__attention_call call = support_attention_call(device, problem);
    struct clf__attention_scratch scratch;
    struct clf__arena arena;
    clf__arena_init(&arena, device);
    assert_ok(clf__attention_scratch_reserve(&scratch, &arena, sequences + spare, &call.heads,
                                             reference->max_queries + spare, reference->max_keys + spare));
    assert_ok(clf__arena_allocate(&arena));
    /* leftovers of earlier calls must have no effect */
    const struct clf__tensor dirty[] = {scratch.queries, scratch.keys, scratch.values, scratch.scores,
                                        scratch.outputs};
    for (size_t i = 0; i < sizeof dirty / sizeof *dirty; i++) {
        assert_ok(clf__buffer_fill(dirty[i].buffer, 0, clf__buffer_bytes(dirty[i].buffer), NAN));
    }
    call.scratch = &scratch;
    if (maps) {
        call.maps =
            support_tensor(device, CLF__F32, reference->sequences * reference->heads * reference->max_queries,
                           reference->max_keys, NULL);
    }
    float *y = support_attention_run(device, problem, &call);
    if (maps) {
        *maps = support_read(call.maps);
    }
    clf__arena_free(&arena);
    return y;
}

static void check(struct attention_shape shape)
{
    static uint64_t seed = 100;
    struct attention_problem problem = support_attention_problem(&shape, seed++);
    const struct reference_attention *reference = &problem.reference;
    size_t count = (size_t)problem.query_rows * (size_t)(shape.heads * shape.value_width);
    size_t map_rows = (size_t)(shape.sequences * shape.heads * reference->max_queries);
    size_t map_count = map_rows * (size_t)reference->max_keys;
    double *expected = support_array(count, sizeof *expected);
    double *expected_maps = support_array(map_count, sizeof *expected_maps);
    reference_attention_forward(expected, expected_maps, problem.q, problem.k, problem.v, reference);
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        float *maps;
        assert_close(run_batched(batched(variant), &problem, shape.sequences, 0, &maps), expected, count,
                     3e-6);
        assert_close(maps, expected_maps, map_count, 3e-6);
        for (size_t n = 0; n < map_rows; n++) {
            double sum = 0, expected_sum = 0;
            for (int j = 0; j < reference->max_keys; j++) {
                sum += (double)maps[n * (size_t)reference->max_keys + (size_t)j];
                expected_sum += expected_maps[n * (size_t)reference->max_keys + (size_t)j];
            }
            assert_true(fabs(sum - (expected_sum > 0.5 ? 1 : 0)) < 1e-5);
        }
        if (!support_small()) {
            assert_close(run_batched(batched(variant), &problem, shape.sequences, 3, NULL), expected, count,
                         3e-6);
        }
        /* maps are available even if the device uses fused attention */
        struct clf_device *fused =
            support_device_with((clf_variant)variant, CLF_GEMM_AUTO, CLF_ATTENTION_FUSED);
        assert_close(run_batched(fused, &problem, shape.sequences, 0, &maps), expected, count, 3e-6);
        assert_close(maps, expected_maps, map_count, 3e-6);
    }
    support_free_all();
}

static void test_lengths(void **state)
{
    (void)state;
    static const int lengths[] = {1, 15, 16, 17, 33, 64, 65};
    int count = support_small() ? 3 : (int)(sizeof lengths / sizeof *lengths);
    for (int i = 0; i < count; i++) {
        struct attention_shape shape = {.heads = 2, .key_width = 16, .value_width = 24, .sequences = 3};
        for (int b = 0; b < 3; b++) {
            shape.queries[b] = lengths[(i + b) % count];
            shape.keys[b] = lengths[(count - 1 - i + 2 * b) % count];
        }
        check(shape);
        shape.causal = 1;
        check(shape);
    }
}

static void test_widths(void **state)
{
    (void)state;
    static const int widths[] = {1, 5, 16, 64, 80};
    int count = support_small() ? 3 : (int)(sizeof widths / sizeof *widths);
    for (int i = 0; i < count; i++) {
        struct attention_shape shape = {.heads = 3,
                                        .key_width = widths[i],
                                        .value_width = widths[count - 1 - i],
                                        .sequences = 2,
                                        .queries = {18, 3},
                                        .keys = {18, 35},
                                        .column_views = 1};
        check(shape);
    }
}

static void test_masks(void **state)
{
    (void)state;
    for (int masks = 1; masks < 16; masks = support_next_masks(masks)) {
        struct attention_shape shape = {.heads = 2,
                                        .key_width = 8,
                                        .value_width = 16,
                                        .sequences = 3,
                                        .queries = {5, 18, 17},
                                        .keys = {9, 18, 20},
                                        .causal = masks & 1,
                                        .hidden = masks & 2,
                                        .additive = masks & 4,
                                        .relative = masks & 8 ? 6 : 0};
        check(shape);
    }
}

static void test_empty(void **state)
{
    (void)state;
    struct attention_shape shape = {.heads = 2,
                                    .key_width = 16,
                                    .value_width = 16,
                                    .sequences = 4,
                                    .queries = {3, 0, 20, 5},
                                    .keys = {0, 7, 5, 3}};
    check(shape);
    shape.causal = 1;
    check(shape);
    struct attention_shape no_keys = {
        .heads = 2, .key_width = 4, .value_width = 4, .sequences = 1, .queries = {3}};
    check(no_keys);
}

/* Sequences in chunks of one or two give the results of one call. */
static void test_chunks(void **state)
{
    (void)state;
    struct attention_shape shape = {.heads = 2,
                                    .key_width = 8,
                                    .value_width = 16,
                                    .sequences = 5,
                                    .queries = {5, 18, 17, 0, 3},
                                    .keys = {9, 18, 20, 7, 0},
                                    .additive = 1,
                                    .hidden = 1,
                                    .relative = 6};
    for (shape.causal = 0; shape.causal < 2; shape.causal++) {
        struct attention_problem problem = support_attention_problem(&shape, 300);
        const struct reference_attention *reference = &problem.reference;
        size_t count = (size_t)problem.query_rows * (size_t)(shape.heads * shape.value_width);
        size_t map_count =
            (size_t)(shape.sequences * shape.heads * reference->max_queries) * (size_t)reference->max_keys;
        for (int variant = CLF_VARIANT_CPU; variant <= CLF_VARIANT_GPU; variant++) {
            float *whole_maps, *maps;
            const float *whole = run_batched(batched(variant), &problem, shape.sequences, 0, &whole_maps);
            for (int sequences = 1; sequences <= 2; sequences++) {
                const float *y = run_batched(batched(variant), &problem, sequences, 0, &maps);
                assert_memory_equal(y, whole, count * sizeof *y);
                assert_memory_equal(maps, whole_maps, map_count * sizeof *maps);
            }
        }
        support_free_all();
    }
}

/* The scratch size is bounded for large batches. */
static void test_scratch_is_bounded(void **state)
{
    (void)state;
    struct clf__arena arena;
    struct clf__attention_scratch scratch;
    const struct clf__heads heads = {.count = 8, .key_width = 64, .value_width = 64, .scale = 0.125f};
    clf__arena_init(&arena, batched(CLF_VARIANT_CPU));
    assert_ok(clf__attention_scratch_reserve(&scratch, &arena, 100000, &heads, 512, 512));
    assert_int_equal(scratch.scores.rows, 8 * 8 * 512);
    clf__arena_free(&arena);
    clf__arena_init(&arena, batched(CLF_VARIANT_CPU));
    assert_ok(clf__attention_scratch_reserve(&scratch, &arena, 7, &heads, 3000, 3000)); /* one at a time */
    assert_int_equal(scratch.scores.rows, 8 * 3000);
    clf__arena_free(&arena);
    clf__arena_init(&arena, batched(CLF_VARIANT_CPU));
    assert_fails(clf__attention_scratch_reserve(&scratch, &arena, 7, &heads, 1 << 20, 1 << 20),
                 CLF_DEVICE_MEMORY, "attention's scores");
    clf__arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_lengths, support_teardown),
        cmocka_unit_test_teardown(test_widths, support_teardown),
        cmocka_unit_test_teardown(test_masks, support_teardown),
        cmocka_unit_test_teardown(test_empty, support_teardown),
        cmocka_unit_test_teardown(test_chunks, support_teardown),
        cmocka_unit_test_teardown(test_scratch_is_bounded, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
