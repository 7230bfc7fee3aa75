/* Checks of the ops that work row by row. */
#include <math.h>
#include <string.h>

#include "ops/activation.h"
#include "ops/cache.h"
#include "ops/embedding.h"
#include "ops/layernorm.h"
#include "ops/positions.h"
#include "ops/softmax.h"
#include "ops/top_k.h"
#include "reference/gemm.h"
#include "reference/layernorm.h"
#include "reference/softmax.h"
#include "reference/top_k.h"
#include "selftest/selftest.h"

enum { ROWS = 5 };
/* Around vectors and work-groups. */
static const int widths[] = {1, 15, 17, 64, 129, 1001};
enum { WIDTHS = sizeof widths / sizeof *widths };

static void softmax(struct bench *bench)
{
    for (int i = 0; i < WIDTHS; i++) {
        size_t count = ROWS * (size_t)widths[i];
        float *x = bench_uniform(bench, count, 20.0f);
        double *expected = bench_array(bench, count, sizeof *expected);
        reference_softmax(expected, x, ROWS, widths[i]);
        struct clf__tensor y = bench_tensor(bench, CLF__F32, ROWS, widths[i], NULL);
        RUN(bench, clf__softmax_forward(y, bench_tensor(bench, CLF__F32, ROWS, widths[i], x)));
        bench_compare(bench, y, expected);
        bench_release(bench);
    }
}

static void log_softmax(struct bench *bench)
{
    for (int i = 0; i < WIDTHS; i++) {
        size_t count = ROWS * (size_t)widths[i];
        float *x = bench_uniform(bench, count, 20.0f);
        double *expected = bench_array(bench, count, sizeof *expected), picked[ROWS];
        reference_log_softmax(expected, x, ROWS, widths[i]);
        int32_t targets[ROWS];
        for (int n = 0; n < ROWS; n++) {
            targets[n] = bench_integer(bench, widths[i]);
            picked[n] = expected[n * widths[i] + targets[n]];
        }
        struct clf__tensor in = bench_tensor(bench, CLF__F32, ROWS, widths[i], x);
        struct clf__tensor y = bench_tensor(bench, CLF__F32, ROWS, widths[i], NULL);
        struct clf__tensor one = bench_tensor(bench, CLF__F32, 1, ROWS, NULL);
        RUN(bench, clf__log_softmax_forward(y, in));
        bench_compare(bench, y, expected);
        RUN(bench, clf__log_softmax_pick(one, in, bench_tensor(bench, CLF__I32, 1, ROWS, targets)));
        bench_compare(bench, one, picked);
        bench_release(bench);
    }
}

static void norm(struct bench *bench, enum clf__norm_kind kind)
{
    for (int i = 1; i < WIDTHS; i++) { /* one column has no deviation */
        size_t count = ROWS * (size_t)widths[i];
        float *x = bench_uniform(bench, count, 3.0f);
        float *gamma = bench_uniform(bench, (size_t)widths[i], 1.0f);
        float *beta = bench_uniform(bench, (size_t)widths[i], 1.0f);
        double *expected = bench_array(bench, count, sizeof *expected);
        reference_layernorm(expected, x, gamma, kind == CLF__NORM_RMS ? NULL : beta, ROWS, widths[i], kind,
                            1e-5);
        struct clf__tensor y = bench_tensor(bench, CLF__F32, ROWS, widths[i], NULL), none = {.buffer = NULL};
        struct clf__tensor shift =
            kind == CLF__NORM_RMS ? none : bench_tensor(bench, CLF__F32, 1, widths[i], beta);
        RUN(bench,
            clf__layernorm_forward(y, bench_tensor(bench, CLF__F32, ROWS, widths[i], x),
                                   bench_tensor(bench, CLF__F32, 1, widths[i], gamma), shift, kind, 1e-5f));
        bench_compare(bench, y, expected);
        bench_release(bench);
    }
}

static void layer_norm(struct bench *bench)
{
    norm(bench, CLF__NORM_LAYER);
    norm(bench, CLF__NORM_STD);
}

static void rms_norm(struct bench *bench)
{
    norm(bench, CLF__NORM_RMS);
}

static void activations(struct bench *bench)
{
    for (int kind = CLF__RELU; kind <= CLF__SILU; kind++) {
        enum { C = 129 };
        float *x = bench_uniform(bench, ROWS * C, 6.0f), *factor = bench_uniform(bench, ROWS * C, 2.0f);
        double *activated = bench_array(bench, ROWS * C, sizeof *activated);
        double *gated = bench_array(bench, ROWS * C, sizeof *gated);
        for (int i = 0; i < ROWS * C; i++) {
            activated[i] = reference_activation((enum clf__activation)kind, (double)x[i]);
            gated[i] = activated[i] * (double)factor[i];
        }
        struct clf__tensor in = bench_tensor(bench, CLF__F32, ROWS, C, x);
        struct clf__tensor gate = bench_tensor(bench, CLF__F32, ROWS, C, factor);
        struct clf__tensor y = bench_tensor(bench, CLF__F32, ROWS, C, NULL);
        RUN(bench, clf__activation_forward(y, in, (enum clf__activation)kind));
        bench_compare(bench, y, activated);
        RUN(bench, clf__gate_forward(y, in, gate, (enum clf__activation)kind));
        bench_compare(bench, y, gated);
        bench_release(bench);
    }
}

static void positions(struct bench *bench)
{
    enum { C = 65, TABLE = 9 };
    static const int32_t at[ROWS] = {0, 8, 3, 3, TABLE}; /* the last one is outside */
    float *x = bench_uniform(bench, ROWS * C, 2.0f), *table = bench_uniform(bench, TABLE * C, 1.0f);
    double expected[ROWS * C];
    for (int i = 0; i < ROWS * C; i++) {
        int row = at[i / C];
        expected[i] = (double)x[i] + (row < TABLE ? (double)table[row * C + i % C] : 0);
    }
    struct clf__tensor y = bench_tensor(bench, CLF__F32, ROWS, C, NULL);
    RUN(bench, clf__positions_forward(y, bench_tensor(bench, CLF__F32, ROWS, C, x),
                                      bench_tensor(bench, CLF__F32, TABLE, C, table),
                                      bench_tensor(bench, CLF__I32, 1, ROWS, at)));
    bench_compare(bench, y, expected);
}

static void embedding(struct bench *bench)
{
    enum { V = 75 };
    static const int32_t ids[ROWS] = {0, 74, 31, 64, V}; /* the last one is no row */
    for (int i = 0; i < WIDTHS; i++) {
        int columns = widths[i];
        float *matrix = bench_uniform(bench, V * (size_t)columns, 1.0f);
        double *expected = bench_array(bench, ROWS * (size_t)columns, sizeof *expected);
        for (int n = 0; n < ROWS * columns; n++) {
            int id = ids[n / columns];
            expected[n] = id < V ? 16.0 * (double)matrix[id * columns + n % columns] : 0;
        }
        struct clf__weight *weight = NULL;
        struct clf__weight_part part = {matrix, V};
        struct clf__tensor y = bench_tensor(bench, CLF__F32, ROWS, columns, NULL);
        RUN(bench, clf__weight_create(
                       &weight, bench->device,
                       &(struct clf__weight_source){
                           .parts = &part, .part_count = 1, .inputs = columns, .what = "the self-test"}));
        RUN(bench, clf__embedding_forward(y, bench_tensor(bench, CLF__I32, 1, ROWS, ids), weight, 16.0f));
        bench_compare(bench, y, expected);
        clf__weight_free(weight);
        bench_release(bench);
    }
}

/* Values, ids and statistics of two rows, the second one with banned ids. */
static void top_k(struct bench *bench)
{
    enum { V = 4097, K = 8, BANNED = 3, R = 2 };
    static const int32_t banned[BANNED] = {0, 77, V - 1}, offsets[R + 1] = {0, 0, BANNED};
    float *x = bench_uniform(bench, R * V, 12.0f);
    struct clf__tensor logits = bench_tensor(bench, CLF__F32, R, V, x);
    double expected_values[R * K], statistics[R * 4];
    int32_t expected_ids[R * K];
    for (int r = 0; r < R; r++) {
        float best[K];
        reference_top_k(best, expected_ids + r * K, K, statistics + r * 4, x + (size_t)r * V, V,
                        banned + offsets[r], offsets[r + 1] - offsets[r], 1);
        for (int i = 0; i < K; i++) {
            expected_values[r * K + i] = (double)best[i];
        }
    }
    struct clf__tensor values = bench_tensor(bench, CLF__F32, R, K, NULL);
    struct clf__tensor ids = bench_tensor(bench, CLF__I32, R, K, NULL);
    struct clf__tensor found = bench_tensor(bench, CLF__F32, R, 4, NULL);
    RUN(bench,
        clf__top_k_forward(values, ids, found, logits, bench_tensor(bench, CLF__I32, 1, BANNED, banned),
                           bench_tensor(bench, CLF__I32, 1, R + 1, offsets), 1));
    bench_compare(bench, values, expected_values);
    bench_compare(bench, found, statistics);
    int32_t actual[R * K];
    RUN(bench, clf__tensor_read(ids, actual));
    if (bench->status == CLF_OK && memcmp(actual, expected_ids, sizeof actual) != 0) {
        bench->error = INFINITY;
    }
}

const struct check selftest_row_checks[] = {
    {"softmax", 0, 1e-6, softmax},
    {"log-softmax", 0, 1e-6, log_softmax},
    {"layer norm", 0, 1e-6, layer_norm},
    {"RMS norm", 0, 1e-6, rms_norm},
    {"activations and gates", 0, 1e-6, activations},
    {"positions", 0, 1e-6, positions},
    {"embedding", USES_GEMM, 1e-6, embedding},
    {"top k", 0, 1e-6, top_k},
};
const int selftest_row_check_count = sizeof selftest_row_checks / sizeof *selftest_row_checks;
