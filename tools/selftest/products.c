/* Checks of matrix products, of the candidates that the last one gives, and of attention. */
#include <math.h>
#include <string.h>

#include "ops/attention.h"
#include "ops/cache.h"
#include "ops/projection.h"
#include "reference/attention.h"
#include "reference/gemm.h"
#include "reference/top_k.h"
#include "selftest/selftest.h"

/* Rows of small whole numbers, with 127 and -127 among them: no precision rounds them, int8 neither, whose
 * scales come out as 1. */
static float *whole_rows(struct bench *bench, int rows, int columns)
{
    float *values = bench_array(bench, (size_t)rows * (size_t)columns, sizeof *values);
    for (int n = 0; n < rows; n++) {
        for (int k = 0; k < columns; k++) {
            values[n * columns + k] = k < 2 ? (float)(127 - 254 * k) : (float)(bench_integer(bench, 19) - 9);
        }
    }
    return values;
}

/* y = relu(0.5 x Wᵀ + bias) + residual */
static void product(struct bench *bench, int rows, int outputs, int inputs, clf_precision precision)
{
    size_t count = (size_t)rows * (size_t)outputs;
    int is_fp32 = precision == CLF_PRECISION_FP32;
    float *x =
        is_fp32 ? bench_uniform(bench, (size_t)rows * (size_t)inputs, 1.0f) : whole_rows(bench, rows, inputs);
    float *w = is_fp32 ? bench_uniform(bench, (size_t)outputs * (size_t)inputs, 1.0f)
                       : whole_rows(bench, outputs, inputs);
    float *bias = bench_uniform(bench, (size_t)outputs, 1.0f), *residual = bench_uniform(bench, count, 1.0f);
    double *expected = bench_array(bench, count, sizeof *expected);
    for (int n = 0; n < rows; n++) {
        reference_gemm_row(expected + n * outputs, x + n * inputs, w, outputs, inputs, 0.5, bias, CLF__RELU,
                           residual + n * outputs);
    }
    struct clf__weight *weight = NULL;
    struct clf__weight_part part = {w, outputs};
    struct clf__tensor y = bench_tensor(bench, CLF__F32, rows, outputs, NULL);
    struct clf__tensor in = bench_tensor(bench, CLF__F32, rows, inputs, x);
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    epilogue.scale = 0.5f;
    epilogue.bias = bench_tensor(bench, CLF__F32, 1, outputs, bias).buffer;
    epilogue.activation = CLF__RELU;
    epilogue.residual = clf__tensor_matrix(bench_tensor(bench, CLF__F32, rows, outputs, residual));
    RUN(bench, clf__weight_create(&weight, bench->device,
                                  &(struct clf__weight_source){.parts = &part,
                                                               .part_count = 1,
                                                               .inputs = inputs,
                                                               .precision = precision,
                                                               .what = "the self-test"}));
    RUN(bench, clf__gemm_weight(clf__tensor_matrix(y), clf__tensor_matrix(in), rows, weight, &epilogue));
    bench_compare(bench, y, expected);
    clf__weight_free(weight);
    bench_release(bench);
}

static void products_in(struct bench *bench, clf_precision precision)
{
    static const int shapes[][3] = {{1, 1, 1},    {1, 300, 40}, {3, 65, 16},   {8, 33, 129},
                                    {17, 48, 96}, {65, 65, 15}, {70, 129, 48}, {64, 512, 64}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        product(bench, shapes[i][0], shapes[i][1], shapes[i][2], precision);
    }
}

static void products(struct bench *bench)
{
    products_in(bench, CLF_PRECISION_FP32);
}

static void products_fp16(struct bench *bench)
{
    products_in(bench, CLF_PRECISION_FP16);
}

static void products_bf16(struct bench *bench)
{
    products_in(bench, CLF_PRECISION_BF16);
}

static void products_int8(struct bench *bench)
{
    products_in(bench, CLF_PRECISION_INT8);
}

/* dx = 0.5 dy W + residual in place, and twice dW += 0.5 dyᵀ x. */
static void gradient(struct bench *bench, int rows, int outputs, int inputs, clf_precision precision)
{
    size_t x_count = (size_t)rows * (size_t)inputs, w_count = (size_t)outputs * (size_t)inputs;
    int is_fp32 = precision == CLF_PRECISION_FP32;
    float *x = is_fp32 ? bench_uniform(bench, x_count, 1.0f) : whole_rows(bench, rows, inputs);
    float *dy = is_fp32 ? bench_uniform(bench, (size_t)rows * (size_t)outputs, 1.0f)
                        : whole_rows(bench, rows, outputs);
    float *w = is_fp32 ? bench_uniform(bench, w_count, 1.0f) : whole_rows(bench, outputs, inputs);
    float *values = bench_array(bench, w_count, sizeof *values);
    double *dx = bench_array(bench, x_count, sizeof *dx), *dw = bench_array(bench, w_count, sizeof *dw);
    reference_input_gradient(dx, dy, w, rows, outputs, inputs, 0.5, x);
    reference_weight_gradient(dw, dy, x, rows, outputs, inputs); /* twice a half of it */
    struct clf__matrix dy_matrix = clf__tensor_matrix(bench_tensor(bench, CLF__F32, rows, outputs, dy));
    struct clf__tensor dx_tensor = bench_tensor(bench, CLF__F32, rows, inputs, x);
    struct clf__matrix x_matrix = clf__tensor_matrix(bench_tensor(bench, CLF__F32, rows, inputs, x));
    struct clf__weight *weights[2] = {NULL}; /* W, dW */
    for (int i = 0; i < 2; i++) {
        RUN(bench, clf__weight_create_zero(&weights[i], bench->device, outputs, inputs, "the self-test"));
        RUN(bench, clf__weight_multiply_in(weights[i], precision));
    }
    RUN(bench, clf__weight_write(weights[0], 0, outputs, w));
    RUN(bench, clf__gemm_input_gradient(clf__tensor_matrix(dx_tensor), dy_matrix, rows, weights[0], 0.5f,
                                        clf__tensor_matrix(dx_tensor)));
    for (int i = 0; i < 2; i++) {
        RUN(bench, clf__gemm_weight_gradient(weights[1], dy_matrix, x_matrix, rows, 0.5f));
    }
    RUN(bench, clf__weight_read(weights[1], 0, outputs, values));
    bench_compare(bench, dx_tensor, dx);
    bench_compare(bench, bench_tensor(bench, CLF__F32, outputs, inputs, values), dw);
    clf__weight_free(weights[0]);
    clf__weight_free(weights[1]);
    bench_release(bench);
}

static void gradients_in(struct bench *bench, clf_precision precision)
{
    static const int shapes[][3] = {{1, 1, 1}, {3, 65, 16}, {17, 48, 96}, {150, 129, 48}, {64, 300, 64}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        gradient(bench, shapes[i][0], shapes[i][1], shapes[i][2], precision);
    }
}

static void gradients(struct bench *bench)
{
    gradients_in(bench, CLF_PRECISION_FP32);
}

static void gradients_bf16(struct bench *bench)
{
    gradients_in(bench, CLF_PRECISION_BF16);
}

/* Candidates of the output projection: the last row has banned ids. Whole numbers make the logits exact and
 * many of them equal, which the ids must follow. */
enum { PROJECTED = 9, VOCABULARY = 1300, D_MODEL = 40, CANDIDATES = 8, BANNED = 3 };
static const int32_t banned_ids[BANNED] = {0, 77, VOCABULARY - 1};
static const int32_t banned_offsets[PROJECTED + 1] = {[PROJECTED] = BANNED};
static const float logits_scale = 1.0f / 1024;

struct candidates {
    double values[PROJECTED * CANDIDATES], statistics[PROJECTED * 4];
    int32_t ids[PROJECTED * CANDIDATES];
};

static void find_candidates(struct candidates *out, struct bench *bench, const float *x, const float *w)
{
    double *products = bench_array(bench, VOCABULARY, sizeof *products);
    float *logits = bench_array(bench, VOCABULARY, sizeof *logits);
    for (int r = 0; r < PROJECTED; r++) {
        float best[CANDIDATES];
        reference_gemm_row(products, x + r * D_MODEL, w, VOCABULARY, D_MODEL, (double)logits_scale, NULL,
                           CLF__IDENTITY, NULL);
        for (int n = 0; n < VOCABULARY; n++) {
            logits[n] = (float)products[n];
        }
        reference_top_k(best, out->ids + r * CANDIDATES, CANDIDATES, out->statistics + r * 4, logits,
                        VOCABULARY, banned_ids + banned_offsets[r], banned_offsets[r + 1] - banned_offsets[r],
                        1);
        for (int i = 0; i < CANDIDATES; i++) {
            out->values[r * CANDIDATES + i] = (double)best[i];
        }
    }
}

static void project(struct bench *bench, clf_precision precision)
{
    float *x = whole_rows(bench, PROJECTED, D_MODEL), *w = whole_rows(bench, VOCABULARY, D_MODEL);
    struct candidates expected;
    find_candidates(&expected, bench, x, w);
    struct clf__weight *weight = NULL;
    struct clf__weight_part part = {w, VOCABULARY};
    struct clf__weight_source source = {&part, 1, D_MODEL, precision, "the self-test"};
    RUN(bench, clf__weight_create(&weight, bench->device, &source));
    if (bench->status != CLF_OK) {
        return;
    }
    struct clf__projection projection = {.weight = weight, .scale = logits_scale};
    struct clf__projection_scratch scratch = {.rows = 0};
    struct clf__arena arena;
    clf__arena_init(&arena, bench->device);
    RUN(bench, clf__projection_scratch_reserve(&scratch, &arena, &projection, PROJECTED, CANDIDATES, 0));
    RUN(bench, clf__arena_allocate(&arena));
    struct clf__tensor values = bench_tensor(bench, CLF__F32, PROJECTED, CANDIDATES, NULL);
    struct clf__tensor ids = bench_tensor(bench, CLF__I32, PROJECTED, CANDIDATES, NULL);
    struct clf__tensor statistics = bench_tensor(bench, CLF__F32, PROJECTED, 4, NULL);
    RUN(bench,
        clf__projection_top_k(values, ids, statistics, bench_tensor(bench, CLF__F32, PROJECTED, D_MODEL, x),
                              &projection, bench_tensor(bench, CLF__I32, 1, BANNED, banned_ids),
                              bench_tensor(bench, CLF__I32, 1, PROJECTED + 1, banned_offsets), 1, &scratch));
    bench_compare(bench, values, expected.values);
    bench_compare(bench, statistics, expected.statistics);
    int32_t actual[PROJECTED * CANDIDATES];
    RUN(bench, clf__tensor_read(ids, actual));
    if (bench->status == CLF_OK && memcmp(actual, expected.ids, sizeof actual) != 0) {
        bench->error = INFINITY;
    }
    clf__arena_free(&arena);
    clf__weight_free(weight);
    bench_release(bench);
}

static void candidates(struct bench *bench)
{
    project(bench, CLF_PRECISION_FP32);
}

static void candidates_rounded(struct bench *bench)
{
    project(bench, CLF_PRECISION_FP16);
    project(bench, CLF_PRECISION_BF16);
    project(bench, CLF_PRECISION_INT8);
}

static void batched_product(struct bench *bench, const struct clf__batched_shape *shape)
{
    int m = shape->m, n = shape->n, k = shape->k;
    size_t a_size = (size_t)m * (size_t)k, b_size = (size_t)n * (size_t)k, c_size = (size_t)m * (size_t)n;
    float *a = bench_uniform(bench, (size_t)shape->batches * a_size, 1.0f);
    float *b = bench_uniform(bench, (size_t)shape->batches * b_size, 1.0f);
    double *expected = bench_array(bench, (size_t)shape->batches * c_size, sizeof *expected);
    for (size_t i = 0; i < (size_t)shape->batches * c_size; i++) {
        size_t batch = i / c_size, row = i % c_size / (size_t)n, column = i % (size_t)n;
        const float *right = b + batch * b_size;
        expected[i] = reference_dot(a + batch * a_size + row * (size_t)k, 1,
                                    shape->transpose_b ? right + column * (size_t)k : right + column,
                                    shape->transpose_b ? 1 : (size_t)n, k, (double)shape->alpha);
    }
    int rows = shape->batches;
    struct clf__tensor c = bench_tensor(bench, CLF__F32, rows * m, n, NULL);
    struct clf__tensor left = bench_tensor(bench, CLF__F32, rows * m, k, a);
    struct clf__tensor right =
        bench_tensor(bench, CLF__F32, rows * (shape->transpose_b ? n : k), shape->transpose_b ? k : n, b);
    RUN(bench, clf__gemm_batched((struct clf__batched_matrix){clf__tensor_matrix(c), c_size},
                                 (struct clf__batched_matrix){clf__tensor_matrix(left), a_size},
                                 (struct clf__batched_matrix){clf__tensor_matrix(right), b_size}, shape));
    bench_compare(bench, c, expected);
    bench_release(bench);
}

static void batched_products(struct bench *bench)
{
    static const int shapes[][4] = {{1, 1, 1, 1}, {3, 7, 5, 3}, {2, 33, 31, 65}, {4, 1, 40, 64}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int transpose = 0; transpose < 2; transpose++) {
            struct clf__batched_shape shape = {shapes[i][0], shapes[i][1], shapes[i][2],
                                               shapes[i][3], transpose,    0.75f};
            batched_product(bench, &shape);
        }
    }
}

enum { HEADS = 2, WIDTH = 24, COLUMNS = HEADS * WIDTH, SEQUENCES = 2 };
static const float score_scale = 0.25f;

/* Two sequences of different lengths, with or without causality, hidden keys in the second. */
static void attend(struct bench *bench, const int32_t *spans, int causal)
{
    int rows = spans[4] + spans[5], keys = spans[6] + spans[7];
    int max_queries = spans[1] > spans[5] ? spans[1] : spans[5];
    int max_keys = spans[3] > spans[7] ? spans[3] : spans[7];
    float *q = bench_uniform(bench, (size_t)rows * COLUMNS, 2.0f);
    float *k = bench_uniform(bench, (size_t)keys * COLUMNS, 2.0f);
    float *v = bench_uniform(bench, (size_t)keys * COLUMNS, 1.0f);
    int32_t *hidden = bench_array(bench, (size_t)keys, sizeof *hidden);
    hidden[keys - 1] = 1;
    struct reference_attention reference = {
        .heads = HEADS,
        .key_width = WIDTH,
        .value_width = WIDTH,
        .scale = (double)score_scale,
        .sequences = SEQUENCES,
        .max_queries = max_queries,
        .max_keys = max_keys,
        .spans = spans,
        .causal = causal,
        .hidden = hidden,
    };
    double *expected = bench_array(bench, (size_t)rows * COLUMNS, sizeof *expected);
    reference_attention_forward(expected, NULL, q, k, v, &reference);
    struct clf__attention_call call = {
        .heads = {HEADS, WIDTH, WIDTH, score_scale},
        .spans = {bench_tensor(bench, CLF__I32, SEQUENCES, 4, spans), SEQUENCES, max_queries, max_keys, 0, 0},
        .mask = CLF__MASK_NONE,
    };
    call.mask.causal = causal;
    call.mask.hidden_keys = bench_tensor(bench, CLF__I32, 1, keys, hidden);
    struct clf__attention_scratch scratch;
    struct clf__arena arena;
    clf__arena_init(&arena, bench->device);
    RUN(bench,
        clf__attention_scratch_reserve(&scratch, &arena, SEQUENCES, &call.heads, max_queries, max_keys));
    RUN(bench, clf__arena_allocate(&arena));
    call.scratch = &scratch;
    struct clf__tensor y = bench_tensor(bench, CLF__F32, rows, COLUMNS, NULL);
    RUN(bench, clf__attention_forward(y, bench_tensor(bench, CLF__F32, rows, COLUMNS, q),
                                      bench_tensor(bench, CLF__F32, keys, COLUMNS, k),
                                      bench_tensor(bench, CLF__F32, keys, COLUMNS, v), &call));
    bench_compare(bench, y, expected);
    clf__arena_free(&arena);
    bench_release(bench);
}

static void attention(struct bench *bench)
{
    static const int32_t self[] = {0, 5, 0, 5, 5, 40, 5, 40}, cross[] = {0, 33, 0, 9, 33, 2, 9, 70};
    attend(bench, self, 0);
    attend(bench, self, 1);
    attend(bench, cross, 0);
}

/* Steps of one hypothesis in slot 1: the history through the cache against attention over all of it. */
static void attention_step(struct bench *bench)
{
    enum { STEPS = 5, SLOTS = 2 };
    float *q = bench_uniform(bench, STEPS * COLUMNS, 2.0f), *k = bench_uniform(bench, STEPS * COLUMNS, 2.0f);
    float *v = bench_uniform(bench, STEPS * COLUMNS, 1.0f);
    static const int32_t span[] = {0, STEPS, 0, STEPS}, slot[] = {1};
    struct reference_attention reference = {
        .heads = HEADS,
        .key_width = WIDTH,
        .value_width = WIDTH,
        .scale = (double)score_scale,
        .sequences = 1,
        .max_queries = STEPS,
        .max_keys = STEPS,
        .spans = span,
        .causal = 1,
    };
    double expected[STEPS * COLUMNS];
    reference_attention_forward(expected, NULL, q, k, v, &reference);
    struct clf__heads heads = {HEADS, WIDTH, WIDTH, score_scale};
    struct clf__attention_history history = {
        .keys = bench_tensor(bench, CLF__F32, STEPS * SLOTS, COLUMNS, NULL),
        .values = bench_tensor(bench, CLF__F32, STEPS * SLOTS, COLUMNS, NULL),
        .slots = bench_tensor(bench, CLF__I32, 1, 1, slot),
        .slots_total = SLOTS,
    };
    struct clf__tensor tables[2] = {bench_tensor(bench, CLF__I32, SLOTS, STEPS, NULL),
                                    bench_tensor(bench, CLF__I32, SLOTS, STEPS, NULL)};
    struct clf__tensor y = bench_tensor(bench, CLF__F32, 1, COLUMNS, NULL);
    for (int32_t t = 0; t < STEPS; t++) {
        history.positions = bench_tensor(bench, CLF__I32, 1, 1, &t);
        history.table = tables[(t + 1) % 2];
        RUN(bench,
            clf__cache_follow(history.table, tables[t % 2], history.slots, history.slots, history.positions));
        RUN(bench, clf__attention_step_forward(y, bench_tensor(bench, CLF__F32, 1, COLUMNS, q + t * COLUMNS),
                                               bench_tensor(bench, CLF__F32, 1, COLUMNS, k + t * COLUMNS),
                                               bench_tensor(bench, CLF__F32, 1, COLUMNS, v + t * COLUMNS),
                                               &heads, &history));
        bench_compare(bench, y, expected + t * COLUMNS);
    }
}

const struct check selftest_product_checks[] = {
    {"matrix product", USES_GEMM, 3e-6, products},
    {"matrix product, fp16", USES_GEMM | USES_PRECISION, 3e-6, products_fp16},
    {"matrix product, bf16", USES_GEMM | USES_PRECISION, 3e-6, products_bf16},
    {"matrix product, int8", USES_GEMM | USES_PRECISION, 3e-6, products_int8},
    {"gradients of a product", USES_GEMM, 3e-6, gradients},
    {"gradients, bf16", USES_GEMM | USES_PRECISION, 3e-6, gradients_bf16},
    {"candidates", USES_GEMM, 3e-6, candidates},
    {"candidates, 16 and 8 bit", USES_GEMM | USES_PRECISION, 3e-6, candidates_rounded},
    {"batched product", USES_GEMM, 3e-6, batched_products},
    {"attention", USES_ATTENTION, 3e-6, attention},
    {"attention step, cache", 0, 3e-6, attention_step},
};
const int selftest_product_check_count = sizeof selftest_product_checks / sizeof *selftest_product_checks;
