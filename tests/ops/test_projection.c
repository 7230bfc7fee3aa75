/* The best candidates and the labels of projected rows, against the logits of the same weight's product
 * (which test_gemm.c looks at), sorted and summed in double. */
#include "ops/projection.h"

#include <math.h>
#include <string.h>

#include "reference/softmax.h"
#include "reference/top_k.h"
#include "support/support.h"
#include "support/views.h"

enum { MOST_ROWS = 300, MOST_BANNED = 16 };

/* Forms and precisions. CLBlast where $CLFORMER_GEMM says so, for fp32. */
#define FOR_EACH_CASE(device, precision)                                                                     \
    FOR_EACH_FORM(device)                                                                                    \
    for (clf_precision precision = CLF_PRECISION_FP32; precision <= CLF_PRECISION_INT8; precision++)

/* The same with native products, whose bits are promised. */
#define FOR_EACH_NATIVE_CASE(device, precision)                                                              \
    for (int form = support_first_form(); form <= support_last_form(); form++)                               \
        for (struct clf_device *device =                                                                     \
                 support_device_with((clf_form)form, CLF_GEMM_NATIVE, CLF_ATTENTION_AUTO);                   \
             device; device = NULL)                                                                          \
            for (clf_precision precision = CLF_PRECISION_FP32; precision <= CLF_PRECISION_INT8; precision++)

struct problem {
    int rows, vocabulary, inputs, k, both, has_bias;
    float scale;
    const float *x, *w, *bias;
    int32_t banned[MOST_BANNED];
    int32_t offsets[MOST_ROWS + 1]; /* banned of row r: banned[offsets[r]] .. banned[offsets[r + 1] - 1] */
};

static int same(double expected, float actual, double tolerance)
{
    return expected == (double)actual || (isnan(expected) && isnan(actual)) ||
           fabs((double)actual - expected) <= tolerance * (1 + fabs(expected));
}

static struct clf__projection make_projection(struct clf_device *device, const struct problem *problem,
                                              clf_precision precision)
{
    struct clf__weight_part part = {.data = problem->w, .rows = problem->vocabulary};
    struct clf__weight *weight = NULL;
    assert_ok(clf__weight_create(&weight, device,
                                 &(struct clf__weight_source){.parts = &part,
                                                              .part_count = 1,
                                                              .inputs = problem->inputs,
                                                              .precision = precision,
                                                              .what = "a test's projection"}));
    struct clf__projection projection = {.weight = weight, .scale = problem->scale};
    if (problem->has_bias) {
        projection.bias = support_tensor(device, CLF__F32, 1, problem->vocabulary, problem->bias).buffer;
    }
    return projection;
}

/* The scratch in its arena, filled with NaN. */
static struct clf__projection_scratch make_scratch(struct clf__arena *arena, struct clf_device *device,
                                                   const struct clf__projection *projection, int rows, int k,
                                                   int with_logits)
{
    struct clf__projection_scratch scratch = {.rows = 0};
    clf__arena_init(arena, device);
    assert_ok(clf__projection_scratch_reserve(&scratch, arena, projection, rows, k, with_logits));
    assert_ok(clf__arena_allocate(arena));
    const struct clf__tensor parts[] = {scratch.logits, scratch.partials};
    for (int i = 0; i < 2; i++) {
        if (parts[i].buffer != NULL) {
            assert_ok(clf__buffer_fill(parts[i].buffer, 0, clf__buffer_bytes(parts[i].buffer), NAN));
        }
    }
    return scratch;
}

/* The logits that the device's product gives: whole rows, however many the scratch holds. */
static float *product_of(struct clf_device *device, const struct problem *problem,
                         const struct clf__projection *projection)
{
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    epilogue.scale = projection->scale;
    epilogue.bias = projection->bias;
    struct clf__tensor x = support_tensor(device, CLF__F32, problem->rows, problem->inputs, problem->x);
    struct clf__tensor y = support_tensor(device, CLF__F32, problem->rows, problem->vocabulary, NULL);
    assert_ok(clf__gemm_weight(clf__tensor_matrix(y), clf__tensor_matrix(x), problem->rows,
                               projection->weight, &epilogue));
    return support_read(y);
}

struct answer {
    struct support_view values, ids, statistics;
    struct clf__tensor id_tensor;
};

static struct answer find(struct clf_device *device, const struct problem *problem,
                          const struct clf__projection *projection)
{
    int rows = problem->rows, k = problem->k;
    struct answer answer = {
        .values = support_view(device, rows, k, NULL),
        .ids = support_view(device, rows, k, NULL), /* the bits of NaN are no id */
        .statistics = support_view(device, rows, 4, NULL),
    };
    answer.id_tensor = answer.ids.tensor;
    answer.id_tensor.type = CLF__I32;
    struct support_view x = support_view(device, rows, problem->inputs, problem->x);
    struct clf__arena arena;
    struct clf__projection_scratch scratch = make_scratch(&arena, device, projection, rows, k, 0);
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

static void check_case(struct clf_device *device, const struct problem *problem, clf_precision precision)
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

static struct problem random_problem(struct support_random *random, int rows, int vocabulary, int inputs,
                                     int k)
{
    struct problem problem = {.rows = rows,
                              .vocabulary = vocabulary,
                              .inputs = inputs,
                              .k = k,
                              .both = 1,
                              .has_bias = 1,
                              .scale = 0.75f};
    problem.x = support_uniform_array(random, (size_t)rows * (size_t)inputs, 2.0f);
    problem.w = support_uniform_array(random, (size_t)vocabulary * (size_t)inputs, 2.0f);
    problem.bias = support_uniform_array(random, (size_t)vocabulary, 3.0f);
    return problem;
}

/* Around vectors, panels, blocks of 1024, and with several lists. */
static const int vocabularies[] = {1, 15, 16, 17, 31, 32, 33, 64, 65, 1023, 1024, 1025, 2100};
enum { VOCABULARIES = sizeof vocabularies / sizeof *vocabularies };

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
    FOR_EACH_CASE(device, precision)
    {
        for (int i = 0; i < 8; i += support_small() ? 5 : 1) {
            struct support_random random = {(uint64_t)i};
            struct problem problem = random_problem(&random, counts[i], 70, 5, 3);
            check_case(device, &problem, precision);
            support_free_all();
        }
    }
}

/* Few different values: nearly all is decided by the order of ids, across vectors, panels, blocks and lists.
 */
static void test_ties(void **state)
{
    (void)state;
    static const int ks[] = {4, 16, 40};
    FOR_EACH_CASE(device, precision)
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

/* Ascending and descending logits, near and far apart; k at its limit. Where they ascend by thousands,
 * nothing but the last one counts in the sum. */
static void test_order(void **state)
{
    (void)state;
    int v = support_small() ? 300 : 2500;
    static const float x[] = {0.001f, -0.001f, 1.0f, -1.0f, 100.0f, -100.0f};
    FOR_EACH_CASE(device, precision)
    {
        for (int k = 1; k <= CLF__TOP_K_LIMIT; k *= 16) {
            float *w = support_array((size_t)v, sizeof *w);
            for (int n = 0; n < v; n++) {
                w[n] = (float)n;
            }
            struct problem problem = {
                .rows = 6, .vocabulary = v, .inputs = 1, .k = k, .both = 1, .scale = 1.0f, .x = x, .w = w};
            check_case(device, &problem, precision);
            support_free_all();
        }
    }
}

/* What every row has at a column, in turn: an ordinary number; NaN among numbers; -inf and NaN but for one
 * number; -inf everywhere; large numbers. */
static float special(int kind, int column)
{
    switch (kind) {
    case 0:
        return (float)(column * 37 % 130) * 0.1f;
    case 1:
        return column % 7 == 0 ? NAN : (float)(column % 13);
    case 2:
        return column == 97 ? -3.0f : column % 2 ? NAN : -INFINITY;
    case 3:
        return -INFINITY;
    default:
        return column % 5 ? -3e38f : 3e38f;
    }
}

enum { SPECIAL_KINDS = 5, SPECIAL_V = 130 };

/* Three rows: nothing is added, something is, and NaN is. */
static struct problem special_problem(int kind)
{
    static const float x[] = {0.0f, 1.0f, NAN};
    float *w = support_array(SPECIAL_V, sizeof *w), *bias = support_array(SPECIAL_V, sizeof *bias);
    for (int n = 0; n < SPECIAL_V; n++) {
        w[n] = (float)(n % 11) * 0.1f;
        bias[n] = special(kind, n);
    }
    return (struct problem){.rows = 3,
                            .vocabulary = SPECIAL_V,
                            .inputs = 1,
                            .k = 9,
                            .has_bias = 1,
                            .scale = 1.0f,
                            .x = x,
                            .w = w,
                            .bias = bias};
}

static void test_special_values(void **state)
{
    (void)state;
    FOR_EACH_CASE(device, precision)
    {
        for (int kind = 0; kind < SPECIAL_KINDS; kind++) {
            struct problem problem = special_problem(kind);
            problem.both = kind % 2;
            check_case(device, &problem, precision);
            support_free_all();
        }
    }
}

/* Rows with no ban, with the best one banned, with the same id twice, ids that are no columns, and everything
 * but one banned. */
static void test_bans(void **state)
{
    (void)state;
    enum { ROWS = 5 };
    static const int sizes[] = {5, 70, 1100};
    static const int32_t banned[MOST_BANNED] = {2, 3, 3, 3, -1, 5000, INT32_MAX, INT32_MIN, 0, 1, 2, 4, 1099};
    static const int32_t offsets[ROWS + 1] = {0, 0, 1, 4, 8, 13};
    FOR_EACH_CASE(device, precision)
    {
        for (int i = 0; i < 6; i++) {
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

/* Everything that is banned is all there is, and more of it than what is left. */
static void test_all_is_banned(void **state)
{
    (void)state;
    FOR_EACH_CASE(device, precision)
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

/* A row has the same bits alone and among others, wherever it stands among them. */
static void test_rows_are_independent(void **state)
{
    (void)state;
    int rows = support_small() ? 70 : MOST_ROWS, v = support_small() ? 1100 : 9000;
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

static float *pick(struct clf_device *device, const struct problem *problem,
                   const struct clf__projection *projection, const int32_t *labels)
{
    struct support_view picked = support_view(device, 1, problem->rows, NULL);
    struct clf__arena arena;
    struct clf__projection_scratch scratch = make_scratch(&arena, device, projection, problem->rows, 0, 0);
    struct support_view x = support_view(device, problem->rows, problem->inputs, problem->x);
    assert_ok(clf__projection_pick(picked.tensor, x.tensor, projection,
                                   support_tensor(device, CLF__I32, 1, problem->rows, labels), &scratch));
    clf__arena_free(&arena);
    support_view_check(&picked);
    return support_read(picked.tensor);
}

static void check_pick(struct clf_device *device, const struct problem *problem, clf_precision precision,
                       const int32_t *labels)
{
    int rows = problem->rows, v = problem->vocabulary;
    struct clf__projection projection = make_projection(device, problem, precision);
    float *picked = pick(device, problem, &projection, labels);
    double *expected = support_array((size_t)rows * (size_t)v, sizeof *expected);
    const float *logits = product_of(device, problem, &projection);
    reference_log_softmax(expected, logits, rows, v);
    for (int r = 0; r < rows; r++) {
        int known = labels[r] >= 0 && labels[r] < v;
        size_t at = (size_t)r * (size_t)v + (size_t)(known ? labels[r] : 0);
        double answer = !known ? -INFINITY : isnan(logits[at]) ? NAN : expected[at];
        if (!same(answer, picked[r], 2e-6)) {
            fail_msg("row %d: label %d of %d has %.9g, not %.9g", r, labels[r], v, (double)picked[r], answer);
        }
    }
    clf__weight_free((struct clf__weight *)projection.weight);
}

static void test_labels(void **state)
{
    (void)state;
    FOR_EACH_CASE(device, precision)
    {
        for (int i = 0; i < VOCABULARIES; i += support_small() ? 4 : 1) {
            struct support_random random = {(uint64_t)i};
            int rows = i % 2 ? 5 : 70, v = vocabularies[i];
            struct problem problem = random_problem(&random, rows, v, 6, 1);
            problem.has_bias = i % 3 != 0;
            int32_t *labels = support_array((size_t)rows, sizeof *labels);
            for (int r = 0; r < rows; r++) {
                labels[r] = support_integer(&random, v);
            }
            labels[0] = v - 1;
            labels[1] = v;
            labels[2] = -1;
            labels[3] = INT32_MIN;
            labels[4] = INT32_MAX;
            check_pick(device, &problem, precision, labels);
            support_free_all();
        }
    }
}

/* NaN in a model's numbers is seen in the score; a row of -inf is -inf. (Large numbers' answers are too
 * large.) */
static void test_labels_of_special_values(void **state)
{
    (void)state;
    static const int32_t labels[] = {97, 97, 96};
    FOR_EACH_CASE(device, precision)
    {
        for (int kind = 0; kind < SPECIAL_KINDS - 1; kind++) {
            struct problem problem = special_problem(kind);
            check_pick(device, &problem, precision, labels);
            support_free_all();
        }
    }
}

static void test_labels_are_independent(void **state)
{
    (void)state;
    int rows = support_small() ? 66 : MOST_ROWS, v = support_small() ? 1100 : 9000;
    FOR_EACH_NATIVE_CASE(device, precision)
    {
        struct support_random random = {9};
        struct problem all = random_problem(&random, rows, v, 5, 1);
        struct clf__projection projection = make_projection(device, &all, precision);
        int32_t *labels = support_array((size_t)rows, sizeof *labels);
        for (int r = 0; r < rows; r++) {
            labels[r] = support_integer(&random, v);
        }
        const float *among = pick(device, &all, &projection, labels);
        for (int r = 0; r < rows; r += rows / 7) {
            struct problem one = all;
            one.rows = 1;
            one.x = all.x + (size_t)r * (size_t)all.inputs;
            assert_memory_equal(pick(device, &one, &projection, labels + r), among + r, sizeof *among);
        }
        clf__weight_free((struct clf__weight *)projection.weight);
        support_free_all();
    }
}

/* The logits themselves, where they are asked for. */
static void test_logits(void **state)
{
    (void)state;
    FOR_EACH_CASE(device, precision)
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

static void test_refuses_k(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_FORM_CPU);
    struct support_random random = {1};
    struct problem problem = random_problem(&random, 1, 5, 5, 1);
    struct clf__projection projection = make_projection(device, &problem, CLF_PRECISION_FP32);
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
        cmocka_unit_test_teardown(test_ties, support_teardown),
        cmocka_unit_test_teardown(test_order, support_teardown),
        cmocka_unit_test_teardown(test_special_values, support_teardown),
        cmocka_unit_test_teardown(test_bans, support_teardown),
        cmocka_unit_test_teardown(test_all_is_banned, support_teardown),
        cmocka_unit_test_teardown(test_rows_are_independent, support_teardown),
        cmocka_unit_test_teardown(test_labels, support_teardown),
        cmocka_unit_test_teardown(test_labels_of_special_values, support_teardown),
        cmocka_unit_test_teardown(test_labels_are_independent, support_teardown),
        cmocka_unit_test_teardown(test_logits, support_teardown),
        cmocka_unit_test_teardown(test_refuses_k, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
