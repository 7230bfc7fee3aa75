/* Rows of an embedding matrix in both layouts of a weight. */
#include "ops/embedding.h"

#include <string.h>

#include "cases/rows.h"
#include "support/support.h"
#include "support/views.h"

enum { V = 75, N = 12, P = 3 }; /* V: two panels and a part */

/* The first and last row, the edges of a panel, a repeated id, and ids that are no rows. */
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
    /* ids behind an offset */
    int32_t padded[N + 2] = {1, 1};
    memcpy(padded + 2, ids, sizeof ids);
    struct clf__tensor all = support_tensor(device, CLF__I32, 1, N + 2, padded);
    struct clf__tensor id_view = clf__tensor_columns(all, 2, N);
    clf_status status = clf__embedding_forward(out.tensor, id_view, weight, scale);
    float *actual = support_read(out.tensor);
    /* and with positions, the first and last ones and some that are no rows, in the same launch */
    static const int32_t positions[N] = {0, P - 1, 1, -1, P, INT32_MAX, INT32_MIN, 2, 0, 1, -1, P};
    float *table = support_uniform_array(&random, (size_t)P * (size_t)columns, 1.0f);
    struct support_view both = support_view(device, N, columns, NULL);
    clf_status both_status = clf__embedding_positions_forward(
        both.tensor, id_view, weight, scale, support_view(device, P, columns, table).tensor,
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
    for (int form = support_first_form(); form <= support_last_form(); form++) {
        for (int gemm = CLF_GEMM_NATIVE; gemm <= CLF_GEMM_CLBLAST; gemm++) {
            for (int i = 0; i < embedding_edge_column_count; i++) {
                check(support_device_with((clf_form)form, (clf_gemm)gemm, CLF_ATTENTION_AUTO),
                      embedding_edge_columns[i]);
            }
        }
    }
}

/* The test above sees both layouts only if the providers have one each. */
static void test_layouts_differ(void **state)
{
    (void)state;
    static const float e[2] = {1, 2};
    int panels[2];
    for (int gemm = CLF_GEMM_NATIVE; gemm <= CLF_GEMM_CLBLAST; gemm++) {
        struct clf_device *device = support_device_with(CLF_FORM_CPU, (clf_gemm)gemm, CLF_ATTENTION_AUTO);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_embedding, support_teardown),
        cmocka_unit_test_teardown(test_layouts_differ, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
