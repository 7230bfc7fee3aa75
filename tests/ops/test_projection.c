/* The best candidates of projected rows, against the logits of the same weight's GEMM (tested in
 * gemm/test_native.c), sorted and summed in double. */
#include "ops/projection_problem.h"

#include <string.h>

#include "reference/top_k.h"
#include "runtime/device/caps.h"
#include "support/views.h"

struct answer {
    struct support_view values, ids, statistics;
    struct clf__tensor id_tensor;
};

static struct answer find_with(struct clf_device *device, const struct problem *problem,
                               const struct clf__projection *projection, struct clf__tensor counter)
{
    int rows = problem->rows, k = problem->k;
    struct answer answer = {
        .values = support_view(device, rows, k, NULL),
        .ids = support_view(device, rows, k, NULL), /* the bits of NaN are not a valid id */
        .statistics = support_view(device, rows, 4, NULL),
    };
    answer.id_tensor = answer.ids.tensor;
    answer.id_tensor.type = CLF__I32;
    struct support_view x = support_view(device, rows, problem->inputs, problem->x);
    struct clf__arena arena;
    struct clf__projection_scratch scratch = make_scratch(&arena, device, projection, rows, k, 0);
    scratch.rows = scratch.rows > 256 ? 256 : scratch.rows; /* the others are a second call */
    scratch.counter = counter;
    assert_ok(clf__projection_top_k(
        answer.values.tensor, answer.id_tensor, answer.statistics.tensor, x.tensor, projection,
        support_tensor(device, CLF__I32, 1, MOST_BANNED, problem->banned),
        support_tensor(device, CLF__I32, 1, rows + 1, problem->offsets), problem->both, &scratch));
    clf__arena_free(&arena);
    support_view_check(&answer.values);
    support_view_check(&answer.ids);
    support_view_check(&answer.statistics);
    return answer;
}

static void assert_same_bits(struct clf__tensor a, struct clf__tensor b)
{
    size_t bytes = (size_t)a.rows * (size_t)a.columns * sizeof(float);
    assert_memory_equal(support_read_integers(a), support_read_integers(b), bytes);
}

/* In two launches, and in one if rows are few and the device supports it: equal bits. */
static struct answer find(struct clf_device *device, const struct problem *problem,
                          const struct clf__projection *projection)
{
    int32_t zero = 0;
    const struct clf__tensor none = {.buffer = NULL};
    struct clf__tensor counter = support_tensor(device, CLF__I32, 1, 1, &zero);
    struct answer two = find_with(device, problem, projection, none);
    struct answer one = find_with(device, problem, projection, counter);
    assert_same_bits(one.values.tensor, two.values.tensor);
    assert_same_bits(one.ids.tensor, two.ids.tensor);
    assert_same_bits(one.statistics.tensor, two.statistics.tensor);
    assert_int_equal(*support_read_integers(counter), 0);
    return one;
}

static void check_case(struct clf_device *device, const struct problem *problem,
                       enum clf__precision precision)
{
    int v = problem->vocabulary, k = problem->k;
    struct clf__projection projection = make_projection(device, problem, precision);
    struct answer answer = find(device, problem, &projection);
    float *logits = product_of(device, problem, &projection);
    const float *values = support_read(answer.values.tensor);
    const int32_t *ids = support_read_integers(answer.id_tensor);
    const float *statistics = support_read(answer.statistics.tensor);
    for (int r = 0; r < problem->rows; r++) {
        float expected_values[CLF__TOP_K_LIMIT];
        int32_t expected_ids[CLF__TOP_K_LIMIT];
        double expected_statistics[4];
        int first = problem->offsets[r];
        reference_top_k(expected_values, expected_ids, k, expected_statistics, logits + (size_t)r * (size_t)v,
                        v, problem->banned + first, problem->offsets[r + 1] - first, problem->both);
        assert_memory_equal(ids + r * k, expected_ids, sizeof(int32_t) * (size_t)k);
        for (int i = 0; i < k; i++) {
            assert_true(values[r * k + i] == expected_values[i]);
        }
        for (int i = 0; i < 4; i++) {
            if (!same(expected_statistics[i], statistics[r * 4 + i], 1e-6)) {
                fail_msg("row %d of %d columns: statistic %d is %.9g, not %.9g", r, v, i,
                         (double)statistics[r * 4 + i], expected_statistics[i]);
            }
        }
    }
    clf__weight_free((struct clf__weight *)projection.weight);
}

static void test_sizes(void **state)
{
    (void)state;
    static const int ks[] = {1, 2, 8, 16, 17, 65};
    FOR_EACH_CASE(device, precision)
    {
        for (int i = 0; i < VOCABULARIES; i += support_small() ? 3 : 1) {
            struct support_random random = {(uint64_t)i};
            struct problem problem =
                random_problem(&random, 1 + i % 4, vocabularies[i], 1 + 7 * i % 20, ks[i % 6]);
            problem.has_bias = i % 3 != 1;
            check_case(device, &problem, precision);
            support_free_all();
        }
    }
}

/* Around the blocks of 8 rows and the groups of 64, and more rows than the scratch holds. */
static void test_rows(void **state)
{
    (void)state;
    static const int counts[] = {7, 8, 9, 63, 64, 65, 129, 300};
    FOR_SOME_CASES(device, precision)
    {
        for (int i = 0; i < 8; i += support_small() ? 5 : 1) {
            struct support_random random = {(uint64_t)i};
            struct problem problem = random_problem(&random, counts[i], 70, 5, 3);
            check_case(device, &problem, precision);
            support_free_all();
        }
    }
}

/* Few rows take one launch if the device supports it. */
static void test_launches(void **state)
{
    (void)state;
    static const int counts[] = {1, 8, 9};
    if (support_first_variant() != CLF_VARIANT_CPU) {
        skip(); /* GPU variants write the logits */
    }
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.variant = CLF_VARIANT_CPU;
    options.gemm = CLF_GEMM_NATIVE;
    options.profile = 1;
    struct clf_device *device;
    assert_ok(clf_device_open(&device, NULL, &options));
    int spares_one = clf__device_caps(device)->has_device_atomics;
    for (int i = 0; i < 3; i++) {
        struct support_random random = {5};
        struct problem problem = random_problem(&random, counts[i], 70, 5, 3);
        assert_ok(clf_device_profile_reset(device));
        check_case(device, &problem, CLF__PRECISION_FP32); /* without a counter, and with one */
        assert_int_equal(support_launches(device, "projection_top_k_cpu"),
                         counts[i] <= 8 && spares_one ? 1 : 2);
        support_free_all();
    }
    clf_device_close(device);
}

/* Few distinct values: most comparisons are decided by the order of ids, across vectors, panels, blocks and
 * lists. */
static void test_ties(void **state)
{
    (void)state;
    static const int ks[] = {4, 16, 40};
    FOR_SOME_CASES(device, precision)
    {
        for (int i = 3; i < VOCABULARIES; i += support_small() ? 4 : 1) {
            struct support_random random = {(uint64_t)i};
            int v = vocabularies[i];
            struct problem problem = random_problem(&random, 3, v, 1, ks[i % 3]);
            float *w = support_array((size_t)v, sizeof *w), x[] = {1.0f, -1.0f, 0.0f};
            for (int n = 0; n < v; n++) {
                w[n] = (float)support_integer(&random, 3) - 1.0f;
            }
            problem.has_bias = 0;
            problem.x = x;
            problem.w = w;
            check_case(device, &problem, precision);
            support_free_all();
        }
    }
}

/* Ascending and descending logits, near and far apart; k at its limit. If they ascend by thousands, only the
 * last one contributes to the sum. */
static void test_order(void **state)
{
    (void)state;
    int v = support_small() ? 300 : 2500, rows = support_small() ? 2 : 6;
    static const float x[] = {0.001f, -0.001f, 1.0f, -1.0f, 100.0f, -100.0f};
    FOR_SOME_CASES(device, precision)
    {
        for (int k = 1; k <= CLF__TOP_K_LIMIT; k *= support_small() ? CLF__TOP_K_LIMIT : 16) {
            float *w = support_array((size_t)v, sizeof *w);
            for (int n = 0; n < v; n++) {
                w[n] = (float)n;
            }
            struct problem problem = {
                .rows = rows, .vocabulary = v, .inputs = 1, .k = k, .both = 1, .scale = 1.0f, .x = x, .w = w};
            check_case(device, &problem, precision);
            support_free_all();
        }
    }
}

static void test_special_values(void **state)
{
    (void)state;
    FOR_SOME_CASES(device, precision)
    {
        for (int kind = 0; kind < SPECIAL_KINDS; kind++) {
            struct problem problem = special_problem(kind);
            problem.both = kind % 2;
            check_case(device, &problem, precision);
            support_free_all();
        }
    }
}

/* Rows without a ban, with the best one banned, with the same id twice, ids out of range, and everything but
 * one banned. */
static void test_bans(void **state)
{
    (void)state;
    enum { ROWS = 5 };
    static const int sizes[] = {5, 70, 1100};
    static const int32_t banned[MOST_BANNED] = {2, 3, 3, 3, -1, 5000, INT32_MAX, INT32_MIN, 0, 1, 2, 4, 1099};
    static const int32_t offsets[ROWS + 1] = {0, 0, 1, 4, 8, 13};
    FOR_SOME_CASES(device, precision)
    {
        for (int i = 0; i < (support_small() ? 4 : 6); i++) {
            struct support_random random = {(uint64_t)i};
            struct problem problem = random_problem(&random, ROWS, sizes[i / 2], 3, 4);
            float *bias = support_array((size_t)problem.vocabulary, sizeof *bias);
            bias[2] = bias[3] = 9.0f;
            problem.bias = bias;
            problem.both = i % 2;
            memcpy(problem.banned, banned, sizeof banned);
            memcpy(problem.offsets, offsets, sizeof offsets);
            check_case(device, &problem, precision);
            support_free_all();
        }
    }
}

/* Bans of everything, and more bans than remaining candidates. */
static void test_all_is_banned(void **state)
{
    (void)state;
    FOR_SOME_CASES(device, precision)
    {
        struct support_random random = {3};
        struct problem problem = random_problem(&random, 2, 6, 2, 2);
        static const int32_t banned[] = {0, 1, 2, 3, 4, 5, 5, 4, 3};
        memcpy(problem.banned, banned, sizeof banned);
        problem.offsets[1] = 6;
        problem.offsets[2] = 9;
        check_case(device, &problem, precision);
        support_free_all();
    }
}

/* A row has equal bits by itself and at any position among others. */
static void test_rows_are_independent(void **state)
{
    (void)state;
    int rows = support_small() ? 70 : MOST_ROWS, v = support_small() ? 300 : 9000;
    FOR_EACH_NATIVE_CASE(device, precision)
    {
        struct support_random random = {7};
        struct problem all = random_problem(&random, rows, v, 5, 8);
        for (int r = 0; r < rows && r < MOST_BANNED; r++) { /* some rows ban one each */
            all.banned[r] = support_integer(&random, v);
        }
        for (int r = 0; r < rows; r++) {
            all.offsets[r + 1] = r / (rows / MOST_BANNED + 1) + 1;
        }
        struct clf__projection projection = make_projection(device, &all, precision);
        struct answer among = find(device, &all, &projection);
        const float *values = support_read(among.values.tensor),
                    *statistics = support_read(among.statistics.tensor);
        const int32_t *ids = support_read_integers(among.id_tensor);
        for (int r = 0; r < rows; r += rows / 7) {
            struct problem one = all;
            one.rows = 1;
            one.x = all.x + (size_t)r * (size_t)all.inputs;
            one.offsets[0] = all.offsets[r];
            one.offsets[1] = all.offsets[r + 1];
            struct answer alone = find(device, &one, &projection);
            size_t k = (size_t)all.k;
            assert_memory_equal(support_read(alone.values.tensor), values + (size_t)r * k, k * sizeof(float));
            assert_memory_equal(support_read_integers(alone.id_tensor), ids + (size_t)r * k,
                                k * sizeof(int32_t));
            assert_memory_equal(support_read(alone.statistics.tensor), statistics + (size_t)r * 4,
                                4 * sizeof(float));
        }
        clf__weight_free((struct clf__weight *)projection.weight);
        support_free_all();
    }
}

/* The logits themselves, if requested. */
static void test_logits(void **state)
{
    (void)state;
    FOR_SOME_CASES(device, precision)
    {
        struct support_random random = {10};
        struct problem problem = random_problem(&random, 9, 50, 5, 1);
        struct clf__projection projection = make_projection(device, &problem, precision);
        struct clf__arena arena;
        struct clf__projection_scratch scratch = make_scratch(&arena, device, &projection, 9, 1, 1);
        struct clf__tensor logits, x = support_tensor(device, CLF__F32, 9, 5, problem.x);
        assert_ok(clf__projection_logits(&logits, x, &projection, &scratch));
        assert_memory_equal(support_read(logits), product_of(device, &problem, &projection),
                            9 * 50 * sizeof(float));
        clf__arena_free(&arena);
        clf__weight_free((struct clf__weight *)projection.weight);
        support_free_all();
    }
}

/* A GPU with much memory computes all rows of a large batch in one GEMM. */
static void test_scratch_follows_memory(void **state)
{
    (void)state;
    static const struct {
        clf_variant variant;
        uint64_t gigabytes;
        int vocabulary, rows;
    } cases[] = {{CLF_VARIANT_GPU, 80, 58101, 512},
                 {CLF_VARIANT_GPU, 80, 256206, 512},
                 {CLF_VARIANT_GPU, 1, 58101, 256},
                 {CLF_VARIANT_GPU, 12, 58101, 512},
                 {CLF_VARIANT_CPU, 80, 58101, 256}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].variant < (clf_variant)support_first_variant() ||
            cases[i].variant > (clf_variant)support_last_variant()) {
            continue;
        }
        struct clf_device *device = support_device(cases[i].variant);
        struct clf__caps *caps = (struct clf__caps *)clf__device_caps(device), before = *caps;
        struct support_random random = {i};
        struct problem problem = random_problem(&random, 1, cases[i].vocabulary, 1, 1);
        struct clf__projection projection = make_projection(device, &problem, CLF__PRECISION_FP32);
        struct clf__projection_scratch scratch = {.rows = 0};
        struct clf__arena arena;
        clf__arena_init(&arena, device);
        caps->memory_bytes = cases[i].gigabytes << 30;
        caps->max_buffer_bytes = caps->memory_bytes / 4;
        assert_ok(clf__projection_scratch_reserve(&scratch, &arena, &projection, 512, 4, 1));
        *caps = before;
        assert_int_equal(scratch.rows, cases[i].rows);
        clf__arena_free(&arena);
        clf__weight_free((struct clf__weight *)projection.weight);
        support_free_all();
    }
}

static void test_refuses_k(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_VARIANT_CPU);
    struct support_random random = {1};
    struct problem problem = random_problem(&random, 1, 5, 5, 1);
    struct clf__projection projection = make_projection(device, &problem, CLF__PRECISION_FP32);
    struct clf__projection_scratch scratch = {.rows = 1};
    struct clf__tensor values = support_tensor(device, CLF__F32, 1, CLF__TOP_K_LIMIT + 1, NULL);
    struct clf__tensor ids = support_tensor(device, CLF__I32, 1, CLF__TOP_K_LIMIT + 1, NULL);
    struct clf__tensor statistics = support_tensor(device, CLF__F32, 1, 4, NULL);
    struct clf__tensor offsets = support_tensor(device, CLF__I32, 1, 2, NULL);
    assert_fails(
        clf__projection_top_k(values, ids, statistics, values, &projection, offsets, offsets, 0, &scratch),
        CLF_UNSUPPORTED, "257 candidates");
    clf__weight_free((struct clf__weight *)projection.weight);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_sizes, support_teardown),
        cmocka_unit_test_teardown(test_rows, support_teardown),
        cmocka_unit_test_teardown(test_launches, support_teardown),
        cmocka_unit_test_teardown(test_ties, support_teardown),
        cmocka_unit_test_teardown(test_order, support_teardown),
        cmocka_unit_test_teardown(test_special_values, support_teardown),
        cmocka_unit_test_teardown(test_bans, support_teardown),
        cmocka_unit_test_teardown(test_all_is_banned, support_teardown),
        cmocka_unit_test_teardown(test_rows_are_independent, support_teardown),
        cmocka_unit_test_teardown(test_logits, support_teardown),
        cmocka_unit_test_teardown(test_scratch_follows_memory, support_teardown),
        cmocka_unit_test_teardown(test_refuses_k, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
