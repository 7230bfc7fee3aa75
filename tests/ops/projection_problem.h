/* Projections and their rows for tests of candidates and labels. */
#ifndef CLF_TESTS_OPS_PROJECTION_PROBLEM_H
#define CLF_TESTS_OPS_PROJECTION_PROBLEM_H

#include "math/ops/projection.h"

#include <math.h>

#include "support/support.h"

enum { MOST_ROWS = 300, MOST_BANNED = 16 };

/* Kernel variants and precisions. With CLBlast in $CLFORMER_GEMM only fp32. */
#define FOR_EACH_CASE(device, precision)                                                                     \
    FOR_EACH_VARIANT(device)                                                                                 \
    for (enum clf__precision precision = CLF__PRECISION_FP32; precision <= CLF__PRECISION_INT8; precision++)

/* The same, with only the most different precisions in small tests. */
#define FOR_SOME_CASES(device, precision)                                                                    \
    FOR_EACH_VARIANT(device)                                                                                 \
    for (int step = support_small() ? CLF__PRECISION_INT8 : 1, at = 0; at <= CLF__PRECISION_INT8;            \
         at += step)                                                                                         \
        for (enum clf__precision precision = (enum clf__precision)at, *once = &precision; once; once = NULL)

/* The same with native GEMM, whose results are reproducible bit for bit. */
#define FOR_EACH_NATIVE_CASE(device, precision)                                                              \
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++)                \
        for (struct clf_device *device =                                                                     \
                 support_device_with((clf_variant)variant, CLF_GEMM_NATIVE, CLF_ATTENTION_AUTO);             \
             device; device = NULL)                                                                          \
            for (enum clf__precision precision = CLF__PRECISION_FP32; precision <= CLF__PRECISION_INT8;      \
                 precision++)

struct problem {
    int rows, vocabulary, inputs, k, both, has_bias;
    float scale;
    const float *x, *w, *bias;
    int32_t banned[MOST_BANNED];
    int32_t offsets[MOST_ROWS + 1]; /* banned of row r: banned[offsets[r]] .. banned[offsets[r + 1] - 1] */
};

static inline int same(double expected, float actual, double tolerance)
{
    return expected == (double)actual || (isnan(expected) && isnan(actual)) ||
           fabs((double)actual - expected) <= tolerance * (1 + fabs(expected));
}

static inline struct clf__projection make_projection(struct clf_device *device, const struct problem *problem,
                                                     enum clf__precision precision)
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

/* Scratch memory in an arena, filled with NaN. */
static inline struct clf__projection_scratch make_scratch(struct clf__arena *arena, struct clf_device *device,
                                                          const struct clf__projection *projection, int rows,
                                                          int k, int with_logits)
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

/* Returns the logits of the device's GEMM: whole rows, independent of the scratch size. */
static inline float *product_of(struct clf_device *device, const struct problem *problem,
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

static inline struct problem random_problem(struct support_random *random, int rows, int vocabulary,
                                            int inputs, int k)
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

/* Values of rows in turn: ordinary numbers; NaN among numbers; -inf and NaN except for one number; only -inf;
 * large numbers. */
static inline float special(int kind, int column)
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

/* Three rows with x = 0, 1 and NaN; the bias holds the special values. */
static inline struct problem special_problem(int kind)
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

#endif
