/* Rows of an embedding matrix in both layouts of a weight. */
#include "math/ops/embedding.h"

#include <string.h>

#include "cases/rows.h"
#include "support/finite_difference.h"
#include "support/id_groups.h"
#include "support/views.h"

enum { V = 75, N = 12, P = 3 }; /* V: two panels and a partial one */

/* The first and last row, panel edges, a repeated id, and ids out of range. */
static const int32_t ids[N] = {0, 74, 31, 32, 63, 64, 5, 5, -1, V, INT32_MAX, INT32_MIN};

static void check(struct clf_device *device, int columns)
{
    struct support_random random = {(uint64_t)columns};
    float *e = support_uniform_array(&random, (size_t)V * (size_t)columns, 1.0f);
    float *expected = support_array((size_t)N * (size_t)columns, sizeof *expected);
    const float scale = 22.5f;
    for (int n = 0; n < N; n++) {
        for (int k = 0; k < columns && ids[n] >= 0 && ids[n] < V; k++) {
            expected[n * columns + k] = scale * e[ids[n] * columns + k];
        }
    }
    struct clf__weight *weight = NULL;
    struct clf__weight_part part = {e, V};
    assert_ok(clf__weight_create(
        &weight, device,
        &(struct clf__weight_source){
            .parts = &part, .part_count = 1, .inputs = columns, .what = "a test's embedding"}));
    struct support_view out = support_view(device, N, columns, NULL);
    /* ids with an offset */
    int32_t padded[N + 2] = {1, 1};
    memcpy(padded + 2, ids, sizeof ids);
    struct clf__tensor all = support_tensor(device, CLF__I32, 1, N + 2, padded);
    struct clf__tensor id_view = clf__tensor_columns(all, 2, N);
    clf_status status =
        clf__embedding_forward(out.tensor, id_view, weight, scale, CLF__NO_TENSOR, CLF__NO_TENSOR);
    float *actual = support_read(out.tensor);
    /* with positions: first, last and out of range, in the same launch */
    static const int32_t positions[N] = {0, P - 1, 1, -1, P, INT32_MAX, INT32_MIN, 2, 0, 1, -1, P};
    float *table = support_uniform_array(&random, (size_t)P * (size_t)columns, 1.0f);
    struct support_view both = support_view(device, N, columns, NULL);
    clf_status both_status = clf__embedding_forward(both.tensor, id_view, weight, scale,
                                                    support_view(device, P, columns, table).tensor,
                                                    support_tensor(device, CLF__I32, 1, N, positions));
    float *sums = support_read(both.tensor);
    clf__weight_free(weight);
    assert_ok(status);
    assert_memory_equal(actual, expected, sizeof(float) * (size_t)(N * columns));
    support_view_check(&out);
    for (int i = 0; i < N * columns; i++) {
        int position = positions[i / columns];
        expected[i] += position >= 0 && position < P ? table[position * columns + i % columns] : 0.0f;
    }
    assert_ok(both_status);
    assert_memory_equal(sums, expected, sizeof(float) * (size_t)(N * columns));
    support_view_check(&both);
}

static void test_embedding(void **state)
{
    (void)state;
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        for (int gemm = CLF_GEMM_NATIVE; gemm <= CLF_GEMM_CLBLAST; gemm++) {
            for (int i = 0; i < embedding_edge_column_count; i++) {
                check(support_device_with((clf_variant)variant, (clf_gemm)gemm, CLF_ATTENTION_AUTO),
                      embedding_edge_columns[i]);
            }
        }
    }
}

/* The test above covers both layouts only if the GEMM backends use one each. */
static void test_layouts_differ(void **state)
{
    (void)state;
    static const float e[2] = {1, 2};
    int panels[2];
    for (int gemm = CLF_GEMM_NATIVE; gemm <= CLF_GEMM_CLBLAST; gemm++) {
        struct clf_device *device = support_device_with(CLF_VARIANT_CPU, (clf_gemm)gemm, CLF_ATTENTION_AUTO);
        struct clf__weight *weight = NULL;
        struct clf__weight_part part = {e, 2};
        assert_ok(clf__weight_create(
            &weight, device,
            &(struct clf__weight_source){
                .parts = &part, .part_count = 1, .inputs = 1, .what = "a test's embedding"}));
        panels[gemm - CLF_GEMM_NATIVE] = clf__weight_layout(weight).panel;
        clf__weight_free(weight);
    }
    assert_true(panels[0] > 1);
    assert_int_equal(panels[1], 1);
}

/* Every id's rows in order, each row once. */
static void check_gather(const int32_t *numbers, int count)
{
    int32_t *distinct = support_array((size_t)count, sizeof *distinct);
    int32_t *first = support_array((size_t)count + 1, sizeof *first);
    int32_t *order = support_array((size_t)count, sizeof *order);
    int distinct_count = -1;
    assert_ok(clf__gather_ids(distinct, first, order, &distinct_count, numbers, count));
    assert_true(distinct_count >= 0 && distinct_count <= count);
    assert_int_equal(first[0], 0);
    assert_int_equal(first[distinct_count], count);
    for (int u = 0; u < distinct_count; u++) {
        assert_true(u == 0 || distinct[u] > distinct[u - 1]);
        assert_true(first[u + 1] > first[u]);
        for (int i = first[u]; i < first[u + 1]; i++) {
            assert_true(order[i] >= 0 && order[i] < count && (i == first[u] || order[i] > order[i - 1]));
            assert_int_equal(numbers[order[i]], distinct[u]);
        }
    }
}

static void test_gather(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    static const int32_t few[] = {INT32_MAX, 0, 2048, 0, 2047, 1 << 22, (1 << 22) - 1, INT32_MAX, 2048};
    static const int bounds[] = {1, 2, 40, 2048, 2049, 60000, 1 << 22, INT32_MAX};
    struct support_random random = {1};
    int32_t numbers[COUNT];
    check_gather(few, 9);
    check_gather(few, 1);
    check_gather(few, 0);
    for (int b = 0; b < 8; b++) {
        for (int i = 0; i < COUNT; i++) {
            numbers[i] = support_integer(&random, bounds[b]);
        }
        check_gather(numbers, COUNT);
    }
    int32_t unused[2], first[3], order[2];
    int count;
    static const int32_t negative[] = {4, -1};
    assert_fails(clf__gather_ids(unused, first, order, &count, negative, 2), CLF_BAD_ARGUMENT, "id 1 of 2");
}

/* Index of element (v, k) in the layout. */
static size_t place_of(struct clf__weight_layout layout, int columns, int v, int k)
{
    return ((size_t)(v / layout.panel) * (size_t)columns + (size_t)k) * (size_t)layout.panel +
           (size_t)(v % layout.panel);
}

/* The whole buffer of a weight, including padding. */
static float *read_all(const struct clf__weight *weight)
{
    const struct clf__buffer *buffer = clf__weight_layout(weight).buffer;
    size_t bytes = clf__buffer_bytes(buffer);
    float *values = support_array(bytes, 1);
    assert_ok(clf__buffer_read(buffer, 0, bytes, values));
    return values;
}

static struct clf__weight *weight_of(struct clf_device *device, const float *values, int columns)
{
    struct clf__weight *weight = NULL;
    struct clf__weight_part part = {values, V};
    assert_ok(clf__weight_create(
        &weight, device,
        &(struct clf__weight_source){
            .parts = &part, .part_count = 1, .inputs = columns, .what = "a test's embedding"}));
    return weight;
}

/* Panel edges, ids that many rows share, and two out of range. */
enum { ROWS = 16 };
static const int32_t row_ids[ROWS] = {5, 0, 74, 5, 31, 32, 5, 63, 64, 5, 5, 0, 31, V, INT32_MAX, 5};

/* Twice, to check that it accumulates. */
static void check_backward(struct clf_device *device, int columns)
{
    const float scale = 0.75f;
    struct support_random random = {(uint64_t)columns};
    size_t size = (size_t)V * (size_t)columns, count = (size_t)ROWS * (size_t)columns;
    float *before = support_uniform_array(&random, size, 3.0f);
    float *dy = support_uniform_array(&random, count, 1.0f);
    double *expected = support_array(size, sizeof *expected);
    for (size_t i = 0; i < size; i++) {
        expected[i] = (double)before[i];
    }
    for (int n = 0; n < ROWS; n++) {
        for (int k = 0; k < columns && row_ids[n] < V; k++) {
            expected[row_ids[n] * columns + k] += 2.0 * (double)scale * (double)dy[n * columns + k];
        }
    }
    struct clf__weight *dweight = weight_of(device, before, columns);
    struct support_view grad = support_view(device, ROWS, columns, dy);
    struct clf__id_groups id_groups = support_group_ids(device, row_ids, ROWS);
    const float *all_before = read_all(dweight);
    assert_ok(clf__embedding_backward(dweight, grad.tensor, &id_groups, scale));
    assert_ok(clf__embedding_backward(dweight, grad.tensor, &id_groups, scale));
    float *all = read_all(dweight);
    float *actual = support_array(size, sizeof *actual);
    struct clf__weight_layout layout = clf__weight_layout(dweight);
    for (int v = 0; v < V; v++) {
        for (int k = 0; k < columns; k++) {
            size_t place = place_of(layout, columns, v, k);
            actual[v * columns + k] = all[place];
            all[place] = all_before[place];
        }
    }
    assert_close(actual, expected, size, 1e-6);
    assert_memory_equal(all, all_before, clf__buffer_bytes(layout.buffer)); /* what the layout adds */
    clf__weight_free(dweight);
}

static void test_backward(void **state)
{
    (void)state;
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        for (int gemm = CLF_GEMM_NATIVE; gemm <= CLF_GEMM_CLBLAST; gemm++) {
            for (int i = 0; i < embedding_edge_column_count; i++) {
                check_backward(support_device_with((clf_variant)variant, (clf_gemm)gemm, CLF_ATTENTION_AUTO),
                               embedding_edge_columns[i]);
            }
        }
    }
}

/* Invalid numbers: rows before and after dy. */
static void test_wrong_rows(void **state)
{
    (void)state;
    enum { C = 17 };
    static const int32_t distinct[] = {3, 7}, first[] = {-5, 3, 900}, order[] = {-1, 1};
    struct support_random random = {1};
    const float *dy = support_uniform_array(&random, 2 * C, 1.0f);
    FOR_EACH_VARIANT(device)
    {
        struct clf__weight *dweight = weight_of(device, support_array((size_t)V * C, sizeof(float)), C);
        struct clf__id_groups id_groups = {.distinct = support_tensor(device, CLF__I32, 1, 2, distinct),
                                           .first = support_tensor(device, CLF__I32, 1, 3, first),
                                           .order = support_tensor(device, CLF__I32, 1, 2, order)};
        assert_ok(
            clf__embedding_backward(dweight, support_tensor(device, CLF__F32, 2, C, dy), &id_groups, 1.0f));
        float *all = read_all(dweight);
        for (int k = 0; k < C; k++) {
            assert_true(all[place_of(clf__weight_layout(dweight), C, 3, k)] == dy[C + k]);
            assert_true(all[place_of(clf__weight_layout(dweight), C, 7, k)] == 0.0f);
        }
        clf__weight_free(dweight);
    }
}

/* y is linear in E: the gradient is the same for any E, and the slope along one element is exact. */
static void test_differences(void **state)
{
    (void)state;
    enum { C = 17 };
    const float scale = 0.5f;
    struct support_random random = {3};
    float *e = support_uniform_array(&random, (size_t)V * C, 1.0f);
    const float *dy = support_uniform_array(&random, ROWS * C, 1.0f);
    static const int32_t moved[] = {5, 0, 31, 74, 6};
    FOR_EACH_VARIANT(device)
    {
        struct clf__weight *dweight = weight_of(device, support_array((size_t)V * C, sizeof(float)), C);
        struct clf__id_groups id_groups = support_group_ids(device, row_ids, ROWS);
        assert_ok(clf__embedding_backward(dweight, support_tensor(device, CLF__F32, ROWS, C, dy), &id_groups,
                                          scale));
        const float *gradient = read_all(dweight);
        struct clf__tensor id_tensor = support_tensor(device, CLF__I32, 1, ROWS, row_ids);
        struct clf__tensor y = support_tensor(device, CLF__F32, ROWS, C, NULL);
        for (int i = 0; i < 5; i++) {
            float *element = e + moved[i] * C + i, middle = *element;
            double slope = 0.0;
            for (int side = -1; side <= 1; side += 2) {
                *element = middle + (float)side;
                struct clf__weight *weight = weight_of(device, e, C);
                assert_ok(
                    clf__embedding_forward(y, id_tensor, weight, scale, CLF__NO_TENSOR, CLF__NO_TENSOR));
                clf__weight_free(weight);
                const float *values = support_read(y);
                for (int n = 0; n < ROWS * C; n++) {
                    slope += 0.5 * side * (double)dy[n] * (double)values[n];
                }
            }
            *element = middle;
            float actual = gradient[place_of(clf__weight_layout(dweight), C, moved[i], i)];
            assert_float_equal(actual, (float)slope, 1e-5f);
        }
        clf__weight_free(dweight);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_embedding, support_teardown),
        cmocka_unit_test_teardown(test_layouts_differ, support_teardown),
        cmocka_unit_test_teardown(test_gather, support_teardown),
        cmocka_unit_test_teardown(test_backward, support_teardown),
        cmocka_unit_test_teardown(test_wrong_rows, support_teardown),
        cmocka_unit_test_teardown(test_differences, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
