/* Checks of GEMM, of top-k after the output projection, and of attention. */
#include "reference/gemm.h"

#include <math.h>
#include <stdlib.h>

#include "math/ops/attention.h"
#include "math/ops/attention_local.h"
#include "math/ops/cache.h"
#include "math/ops/mask.h"
#include "math/ops/projection.h"
#include "reference/attention.h"
#include "reference/top_k.h"
#include "selftest/selftest.h"

/* Makes rows of small integers, which every precision represents exactly. Each row includes 127 and -127, so
 * that its int8 scale is 1. */
static float *whole_rows(struct trial *trial, int rows, int columns)
{
    float *values = trial_array(trial, (size_t)rows * (size_t)columns, sizeof *values);
    for (int n = 0; n < rows; n++) {
        for (int k = 0; k < columns; k++) {
            values[n * columns + k] = k < 2 ? (float)(127 - 254 * k) : (float)(trial_integer(trial, 19) - 9);
        }
    }
    return values;
}

/* Makes numbers that the precision of the check represents exactly. */
static float *exact_rows(struct trial *trial, int rows, int columns)
{
    return trial->precision == CLF__PRECISION_FP32
               ? trial_uniform(trial, (size_t)rows * (size_t)columns, 1.0f)
               : whole_rows(trial, rows, columns);
}

/* Checks y = relu(0.5 x Wᵀ + bias) + residual. */
static void product(struct trial *trial, int rows, int outputs, int inputs)
{
    size_t count = (size_t)rows * (size_t)outputs;
    float *x = exact_rows(trial, rows, inputs), *w = exact_rows(trial, outputs, inputs);
    float *bias = trial_uniform(trial, (size_t)outputs, 1.0f), *residual = trial_uniform(trial, count, 1.0f);
    double *expected = trial_array(trial, count, sizeof *expected);
    for (int n = 0; n < rows; n++) {
        reference_gemm_row(expected + n * outputs, x + n * inputs, w, outputs, inputs, 0.5, bias, CLF__RELU,
                           residual + n * outputs);
    }
    struct clf__weight *weight = trial_weight(trial, outputs, inputs, w);
    struct clf__tensor y = trial_floats(trial, rows, outputs, NULL);
    struct clf__tensor in = trial_floats(trial, rows, inputs, x);
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    epilogue.scale = 0.5f;
    epilogue.bias = trial_floats(trial, 1, outputs, bias).buffer;
    epilogue.activation = CLF__RELU;
    epilogue.residual = clf__tensor_matrix(trial_floats(trial, rows, outputs, residual));
    RUN(trial, clf__gemm_weight(clf__tensor_matrix(y), clf__tensor_matrix(in), rows, weight, &epilogue));
    trial_compare(trial, y, expected);
    trial_release(trial);
}

static void gemm(struct trial *trial)
{
    static const int shapes[][3] = {{1, 1, 1},    {1, 300, 40}, {3, 65, 16},   {8, 33, 129},
                                    {17, 48, 96}, {65, 65, 15}, {70, 129, 48}, {64, 512, 64}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        product(trial, shapes[i][0], shapes[i][1], shapes[i][2]);
    }
}

/* Checks dx = 0.5 dy W + residual in place, and dW += 0.5 dyᵀ x, twice. */
static void gradient(struct trial *trial, int rows, int outputs, int inputs)
{
    size_t x_count = (size_t)rows * (size_t)inputs, w_count = (size_t)outputs * (size_t)inputs;
    float *x = exact_rows(trial, rows, inputs), *dy = exact_rows(trial, rows, outputs);
    float *w = exact_rows(trial, outputs, inputs);
    float *values = trial_array(trial, w_count, sizeof *values);
    double *dx = trial_array(trial, x_count, sizeof *dx), *dw = trial_array(trial, w_count, sizeof *dw);
    reference_input_gradient(dx, dy, w, rows, outputs, inputs, 0.5, x);
    reference_weight_gradient(dw, dy, x, rows, outputs, inputs); /* dw += 0.5 dyᵀ x, twice */
    struct clf__matrix dy_matrix = clf__tensor_matrix(trial_floats(trial, rows, outputs, dy));
    struct clf__tensor dx_tensor = trial_floats(trial, rows, inputs, x);
    struct clf__matrix x_matrix = clf__tensor_matrix(trial_floats(trial, rows, inputs, x));
    struct clf__weight *weight = trial_zero_weight(trial, outputs, inputs);
    struct clf__weight *dweight = trial_zero_weight(trial, outputs, inputs);
    RUN(trial, clf__weight_write(weight, 0, outputs, w));
    RUN(trial, clf__gemm_input_gradient(clf__tensor_matrix(dx_tensor), dy_matrix, rows, weight, 0.5f,
                                        clf__tensor_matrix(dx_tensor)));
    for (int i = 0; i < 2; i++) {
        RUN(trial, clf__gemm_weight_gradient(dweight, dy_matrix, x_matrix, rows, 0.5f));
    }
    RUN(trial, clf__weight_read(dweight, 0, outputs, values));
    trial_compare(trial, dx_tensor, dx);
    trial_compare(trial, trial_floats(trial, outputs, inputs, values), dw);
    trial_release(trial);
}

static void gradients(struct trial *trial)
{
    static const int shapes[][3] = {{1, 1, 1}, {3, 65, 16}, {17, 48, 96}, {150, 129, 48}, {64, 300, 64}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        gradient(trial, shapes[i][0], shapes[i][1], shapes[i][2]);
    }
}

/* Checks top-k after the output projection; the last row has banned ids. The operands are integers, so the
 * logits are exact and many are equal; equal logits must be ordered by id. */
enum { PROJECTED = 9, VOCABULARY = 1300, D_MODEL = 40, CANDIDATES = 8, BANNED = 3 };
static const int32_t banned_ids[BANNED] = {0, 77, VOCABULARY - 1};
static const int32_t banned_offsets[PROJECTED + 1] = {[PROJECTED] = BANNED};
static const float logits_scale = 1.0f / 1024;

struct candidates {
    double values[PROJECTED * CANDIDATES], statistics[PROJECTED * 4];
    int32_t ids[PROJECTED * CANDIDATES];
};

static void find_candidates(struct candidates *out, struct trial *trial, const float *x, const float *w)
{
    double *sums = trial_array(trial, VOCABULARY, sizeof *sums);
    float *logits = trial_array(trial, VOCABULARY, sizeof *logits);
    for (int r = 0; r < PROJECTED; r++) {
        float best[CANDIDATES];
        reference_gemm_row(sums, x + r * D_MODEL, w, VOCABULARY, D_MODEL, (double)logits_scale, NULL,
                           CLF__IDENTITY, NULL);
        for (int n = 0; n < VOCABULARY; n++) {
            logits[n] = (float)sums[n];
        }
        reference_top_k(best, out->ids + r * CANDIDATES, CANDIDATES, out->statistics + r * 4, logits,
                        VOCABULARY, banned_ids + banned_offsets[r], banned_offsets[r + 1] - banned_offsets[r],
                        1);
        for (int i = 0; i < CANDIDATES; i++) {
            out->values[r * CANDIDATES + i] = (double)best[i];
        }
    }
}

static void candidates(struct trial *trial)
{
    float *x = whole_rows(trial, PROJECTED, D_MODEL), *w = whole_rows(trial, VOCABULARY, D_MODEL);
    struct candidates expected;
    find_candidates(&expected, trial, x, w);
    struct clf__weight *weight = trial_weight(trial, VOCABULARY, D_MODEL, w);
    if (trial->status != CLF_OK) {
        return;
    }
    struct clf__projection projection = {.weight = weight, .scale = logits_scale};
    struct clf__projection_scratch scratch = {.rows = 0};
    struct clf__arena arena;
    clf__arena_init(&arena, trial->device);
    RUN(trial, clf__projection_scratch_reserve(&scratch, &arena, &projection, PROJECTED, CANDIDATES, 0));
    RUN(trial, clf__arena_allocate(&arena));
    struct clf__tensor values = trial_floats(trial, PROJECTED, CANDIDATES, NULL);
    struct clf__tensor ids = trial_tensor(trial, CLF__I32, PROJECTED, CANDIDATES, NULL);
    struct clf__tensor statistics = trial_floats(trial, PROJECTED, 4, NULL);
    RUN(trial,
        clf__projection_top_k(values, ids, statistics, trial_floats(trial, PROJECTED, D_MODEL, x),
                              &projection, trial_tensor(trial, CLF__I32, 1, BANNED, banned_ids),
                              trial_tensor(trial, CLF__I32, 1, PROJECTED + 1, banned_offsets), 1, &scratch));
    trial_compare(trial, values, expected.values);
    trial_compare(trial, statistics, expected.statistics);
    trial_compare_ids(trial, ids, expected.ids);
    clf__arena_free(&arena);
}

static void candidates_rounded(struct trial *trial)
{
    for (int precision = CLF__PRECISION_FP16; precision <= CLF__PRECISION_INT8; precision++) {
        trial->precision = (enum clf__precision)precision;
        candidates(trial);
        trial_release(trial);
    }
}

static void batched_product(struct trial *trial, const struct clf__batched_shape *shape)
{
    int m = shape->m, n = shape->n, k = shape->k;
    size_t a_size = (size_t)m * (size_t)k, b_size = (size_t)n * (size_t)k, c_size = (size_t)m * (size_t)n;
    float *a = trial_uniform(trial, (size_t)shape->batches * a_size, 1.0f);
    float *b = trial_uniform(trial, (size_t)shape->batches * b_size, 1.0f);
    double *expected = trial_array(trial, (size_t)shape->batches * c_size, sizeof *expected);
    for (size_t i = 0; i < (size_t)shape->batches * c_size; i++) {
        size_t batch = i / c_size, row = i % c_size / (size_t)n, column = i % (size_t)n;
        const float *right = b + batch * b_size;
        expected[i] = reference_dot(a + batch * a_size + row * (size_t)k, 1,
                                    shape->transpose_b ? right + column * (size_t)k : right + column,
                                    shape->transpose_b ? 1 : (size_t)n, k, (double)shape->alpha);
    }
    int rows = shape->batches;
    struct clf__tensor c = trial_floats(trial, rows * m, n, NULL);
    struct clf__tensor left = trial_floats(trial, rows * m, k, a);
    struct clf__tensor right =
        trial_floats(trial, rows * (shape->transpose_b ? n : k), shape->transpose_b ? k : n, b);
    RUN(trial, clf__gemm_batched((struct clf__batched_matrix){clf__tensor_matrix(c), c_size},
                                 (struct clf__batched_matrix){clf__tensor_matrix(left), a_size},
                                 (struct clf__batched_matrix){clf__tensor_matrix(right), b_size}, shape));
    trial_compare(trial, c, expected);
    trial_release(trial);
}

static void batched_products(struct trial *trial)
{
    static const int shapes[][4] = {{1, 1, 1, 1}, {3, 7, 5, 3}, {2, 33, 31, 65}, {4, 1, 40, 64}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int transpose = 0; transpose < 2; transpose++) {
            struct clf__batched_shape shape = {shapes[i][0], shapes[i][1], shapes[i][2],
                                               shapes[i][3], transpose,    0.75f};
            batched_product(trial, &shape);
        }
    }
}

enum { HEADS = 2, WIDTH = 24, COLUMNS = HEADS * WIDTH, SEQUENCES = 2 };
static const float score_scale = 0.25f;

/* Checks two sequences of different lengths, with and without a causal mask; the second sequence has masked
 * keys. */
static void attend(struct trial *trial, const int32_t *ranges, int causal)
{
    int rows = ranges[4] + ranges[5], keys = ranges[6] + ranges[7];
    int max_queries = ranges[1] > ranges[5] ? ranges[1] : ranges[5];
    int max_keys = ranges[3] > ranges[7] ? ranges[3] : ranges[7];
    float *q = trial_uniform(trial, (size_t)rows * COLUMNS, 2.0f);
    float *k = trial_uniform(trial, (size_t)keys * COLUMNS, 2.0f);
    float *v = trial_uniform(trial, (size_t)keys * COLUMNS, 1.0f);
    int32_t *hidden = trial_array(trial, (size_t)keys, sizeof *hidden);
    hidden[keys - 1] = 1;
    struct reference_attention reference = {
        .heads = HEADS,
        .key_width = WIDTH,
        .value_width = WIDTH,
        .scale = (double)score_scale,
        .sequences = SEQUENCES,
        .max_queries = max_queries,
        .max_keys = max_keys,
        .ranges = ranges,
        .causal = causal,
        .hidden = hidden,
    };
    double *expected = trial_array(trial, (size_t)rows * COLUMNS, sizeof *expected);
    reference_attention_forward(expected, NULL, q, k, v, &reference);
    struct clf__attention_call call = {
        .heads = {HEADS, WIDTH, WIDTH, score_scale},
        .ranges = {trial_tensor(trial, CLF__I32, SEQUENCES, 4, ranges), SEQUENCES, max_queries, max_keys, 0,
                   0},
        .mask = CLF__MASK_NONE,
    };
    call.mask.causal = causal;
    call.mask.hidden_keys = trial_tensor(trial, CLF__I32, 1, keys, hidden);
    struct clf__attention_scratch scratch;
    struct clf__arena arena;
    clf__arena_init(&arena, trial->device);
    RUN(trial,
        clf__attention_scratch_reserve(&scratch, &arena, SEQUENCES, &call.heads, max_queries, max_keys));
    RUN(trial, clf__arena_allocate(&arena));
    call.scratch = &scratch;
    struct clf__tensor y = trial_floats(trial, rows, COLUMNS, NULL);
    RUN(trial, clf__attention_forward(y, trial_floats(trial, rows, COLUMNS, q),
                                      trial_floats(trial, keys, COLUMNS, k),
                                      trial_floats(trial, keys, COLUMNS, v), &call));
    trial_compare(trial, y, expected);
    clf__arena_free(&arena);
    trial_release(trial);
}

static void attention(struct trial *trial)
{
    static const int32_t self[] = {0, 5, 0, 5, 5, 40, 5, 40}, cross[] = {0, 33, 0, 9, 33, 2, 9, 70};
    attend(trial, self, 0);
    attend(trial, self, 1);
    attend(trial, cross, 0);
}

/* Checks attention weights, the mean probability over all heads, of two sequences with few queries. */
static void attention_weights(struct trial *trial)
{
    enum { ROWS = 5, KEYS = 103, MOST_QUERIES = 3, MOST_KEYS = 70 };
    static const int32_t ranges[] = {0, 3, 0, 33, 3, 2, 33, MOST_KEYS};
    float *q = trial_uniform(trial, ROWS * COLUMNS, 2.0f), *k = trial_uniform(trial, KEYS * COLUMNS, 2.0f);
    float *v = trial_uniform(trial, KEYS * COLUMNS, 1.0f);
    const struct reference_attention reference = {
        .heads = HEADS,
        .key_width = WIDTH,
        .value_width = WIDTH,
        .scale = (double)score_scale,
        .sequences = SEQUENCES,
        .max_queries = MOST_QUERIES,
        .max_keys = MOST_KEYS,
        .ranges = ranges,
    };
    double *outputs = trial_array(trial, ROWS * COLUMNS, sizeof *outputs);
    double *maps = trial_array(trial, SEQUENCES * HEADS * MOST_QUERIES * MOST_KEYS, sizeof *maps);
    double *expected = trial_array(trial, ROWS * MOST_KEYS, sizeof *expected);
    reference_attention_forward(outputs, maps, q, k, v, &reference);
    for (int i = 0; i < ROWS * HEADS * MOST_KEYS; i++) {
        int row = i / (HEADS * MOST_KEYS), head = i / MOST_KEYS % HEADS, key = i % MOST_KEYS;
        int sequence = row >= MOST_QUERIES, query = row - sequence * MOST_QUERIES;
        int map = (sequence * HEADS + head) * MOST_QUERIES + query;
        expected[row * MOST_KEYS + key] += maps[map * MOST_KEYS + key] / HEADS;
    }
    struct clf__attention_call call = {
        .heads = {HEADS, WIDTH, WIDTH, score_scale},
        .ranges = {trial_tensor(trial, CLF__I32, SEQUENCES, 4, ranges), SEQUENCES, MOST_QUERIES, MOST_KEYS, 0,
                   0},
        .mask = CLF__MASK_NONE,
    };
    struct clf__tensor y = trial_floats(trial, ROWS, MOST_KEYS, NULL);
    RUN(trial, clf__attention_weights_forward(y, trial_floats(trial, ROWS, COLUMNS, q),
                                              trial_floats(trial, KEYS, COLUMNS, k), HEADS, &call));
    trial_compare(trial, y, expected);
}

/* Compares attention within a window with attention under a mask. */
static void local_attention(struct trial *trial)
{
    enum { ROWS = 45, MOST = 40, RADIUS = 7, REACH = 5 };
    static const int32_t ranges[] = {0, 5, 0, 5, 5, MOST, 5, MOST};
    float *q = trial_uniform(trial, ROWS * COLUMNS, 2.0f), *k = trial_uniform(trial, ROWS * COLUMNS, 2.0f);
    float *v = trial_uniform(trial, ROWS * COLUMNS, 1.0f);
    float *mask = trial_array(trial, SEQUENCES * MOST * MOST, sizeof *mask);
    for (int n = 0; n < SEQUENCES * MOST * MOST; n++) {
        mask[n] = abs(n % MOST - n / MOST % MOST) > RADIUS ? -INFINITY : 0.0f;
    }
    const struct reference_attention reference = {
        .heads = HEADS,
        .key_width = WIDTH,
        .value_width = WIDTH,
        .scale = (double)score_scale,
        .sequences = SEQUENCES,
        .max_queries = MOST,
        .max_keys = MOST,
        .ranges = ranges,
        .additive = mask,
        .relative = trial_uniform(trial, HEADS * (2 * REACH + 1), 2.0f),
        .reach = REACH,
    };
    double *expected = trial_array(trial, ROWS * COLUMNS, sizeof *expected);
    reference_attention_forward(expected, NULL, q, k, v, &reference);
    const struct clf__attention_window window = {.radius = RADIUS};
    struct clf__attention_call call = {
        .heads = {HEADS, WIDTH, WIDTH, score_scale},
        .ranges = {trial_tensor(trial, CLF__I32, SEQUENCES, 4, ranges), SEQUENCES, MOST, MOST, 0, 0},
        .mask = CLF__MASK_NONE,
        .window = &window,
    };
    call.mask.relative = trial_floats(trial, HEADS, 2 * REACH + 1, reference.relative);
    struct clf__tensor y = trial_floats(trial, ROWS, COLUMNS, NULL);
    RUN(trial, clf__attention_local_forward(y, trial_floats(trial, ROWS, COLUMNS, q),
                                            trial_floats(trial, ROWS, COLUMNS, k),
                                            trial_floats(trial, ROWS, COLUMNS, v), &call));
    trial_compare(trial, y, expected);
}

/* Makes numbers that a cache of this type represents exactly. */
static float *cached_numbers(struct trial *trial, enum clf__type type, size_t count, float scale)
{
    float *values = trial_uniform(trial, count, scale);
    for (size_t i = 0; i < count && type == CLF__F16; i++) {
        values[i] = reference_round(CLF__PRECISION_FP16, values[i]);
    }
    return values;
}

/* Decodes steps of one hypothesis in cache row 1, and compares cached attention with attention over the whole
 * history. */
static void attention_steps(struct trial *trial, enum clf__type type)
{
    enum { STEPS = 5, CACHE_ROWS = 2 };
    float *q = trial_uniform(trial, STEPS * COLUMNS, 2.0f);
    float *k = cached_numbers(trial, type, STEPS * COLUMNS, 2.0f);
    float *v = cached_numbers(trial, type, STEPS * COLUMNS, 1.0f);
    static const int32_t range[] = {0, STEPS, 0, STEPS}, cache_row[] = {1};
    struct reference_attention reference = {
        .heads = HEADS,
        .key_width = WIDTH,
        .value_width = WIDTH,
        .scale = (double)score_scale,
        .sequences = 1,
        .max_queries = STEPS,
        .max_keys = STEPS,
        .ranges = range,
        .causal = 1,
    };
    double expected[STEPS * COLUMNS];
    reference_attention_forward(expected, NULL, q, k, v, &reference);
    struct clf__heads heads = {HEADS, WIDTH, WIDTH, score_scale};
    struct clf__attention_history history = {
        .keys = trial_tensor(trial, type, STEPS * CACHE_ROWS, COLUMNS, NULL),
        .values = trial_tensor(trial, type, STEPS * CACHE_ROWS, COLUMNS, NULL),
        .cache_rows = trial_tensor(trial, CLF__I32, 1, 1, cache_row),
        .cache_rows_total = CACHE_ROWS,
    };
    struct clf__tensor tables[2] = {trial_tensor(trial, CLF__I32, CACHE_ROWS, STEPS, NULL),
                                    trial_tensor(trial, CLF__I32, CACHE_ROWS, STEPS, NULL)};
    struct clf__tensor y = trial_floats(trial, 1, COLUMNS, NULL);
    for (int32_t t = 0; t < STEPS; t++) {
        history.positions = trial_tensor(trial, CLF__I32, 1, 1, &t);
        history.table = tables[(t + 1) % 2];
        RUN(trial, clf__cache_follow(history.table, tables[t % 2], history.cache_rows, history.cache_rows,
                                     history.positions));
        RUN(trial,
            clf__attention_step_forward(y, trial_floats(trial, 1, COLUMNS, q + t * COLUMNS),
                                        trial_floats(trial, 1, COLUMNS, k + t * COLUMNS),
                                        trial_floats(trial, 1, COLUMNS, v + t * COLUMNS), &heads, &history));
        trial_compare(trial, y, expected + t * COLUMNS);
    }
}

static void attention_step(struct trial *trial)
{
    attention_steps(trial, CLF__F32);
    trial_release(trial);
    attention_steps(trial, CLF__F16);
}

const struct check selftest_product_checks[] = {
    {"matrix product", USES_GEMM, CLF__PRECISION_FP32, 3e-6, gemm},
    {"matrix product, fp16", USES_GEMM | USES_PRECISION, CLF__PRECISION_FP16, 3e-6, gemm},
    {"matrix product, bf16", USES_GEMM | USES_PRECISION, CLF__PRECISION_BF16, 3e-6, gemm},
    {"matrix product, int8", USES_GEMM | USES_PRECISION, CLF__PRECISION_INT8, 3e-6, gemm},
    {"matrix product gradients", USES_GEMM, CLF__PRECISION_FP32, 3e-6, gradients},
    {"gradients, bf16", USES_GEMM | USES_PRECISION, CLF__PRECISION_BF16, 3e-6, gradients},
    {"top-k of logits", USES_GEMM, CLF__PRECISION_FP32, 3e-6, candidates},
    {"top-k of logits, 16/8 bit", USES_GEMM | USES_PRECISION, CLF__PRECISION_FP32, 3e-6, candidates_rounded},
    {"batched product", USES_GEMM, CLF__PRECISION_FP32, 3e-6, batched_products},
    {"attention", USES_ATTENTION, CLF__PRECISION_FP32, 3e-6, attention},
    {"attention weights", 0, CLF__PRECISION_FP32, 3e-6, attention_weights},
    {"local attention", 0, CLF__PRECISION_FP32, 3e-6, local_attention},
    {"attention step, cached", 0, CLF__PRECISION_FP32, 3e-6, attention_step},
    {.name = NULL},
};
