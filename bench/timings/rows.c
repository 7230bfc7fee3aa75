/* Timings of row-wise ops. */
#include <stdio.h>

#include "base/memory.h"
#include "cases/rows.h"
#include "math/ops/embedding.h"
#include "math/ops/layernorm.h"
#include "math/ops/softmax.h"
#include "math/ops/top_k.h"
#include "timings/internal.h"

/* Operands; each op uses some of them. */
struct rows {
    struct clf__tensor y, x;
    struct clf__tensor gamma, beta;                              /* layer norm */
    struct clf__tensor values, ids, statistics, banned, offsets; /* top-k; ids are also used for embedding */
};

static clf_status soften(struct op_bench *bench, void *context)
{
    (void)bench;
    const struct rows *rows = context;
    return clf__softmax_forward(rows->y, rows->x);
}

static void softmax(struct op_bench *bench, const struct rows_case *shape, const char *text)
{
    struct rows rows = {.y = op_floats(bench, shape->rows, shape->columns),
                        .x = op_floats(bench, shape->rows, shape->columns)};
    op_end(bench, "softmax", text, soften, &rows);
}

static clf_status normalise(struct op_bench *bench, void *context)
{
    (void)bench;
    const struct rows *rows = context;
    return clf__layernorm_forward(rows->y, CLF__NO_TENSOR, rows->x, rows->gamma, rows->beta, CLF__NORM_LAYER,
                                  1e-5f);
}

static void layernorm(struct op_bench *bench, const struct rows_case *shape, const char *text)
{
    struct rows rows = {.y = op_floats(bench, shape->rows, shape->columns),
                        .x = op_floats(bench, shape->rows, shape->columns),
                        .gamma = op_floats(bench, 1, shape->columns),
                        .beta = op_floats(bench, 1, shape->columns)};
    op_end(bench, "layer norm", text, normalise, &rows);
}

static clf_status embed(struct op_bench *bench, void *context)
{
    const struct rows *rows = context;
    return clf__embedding_forward(rows->y, rows->ids, bench->weights[0], 22.6f, CLF__NO_TENSOR,
                                  CLF__NO_TENSOR);
}

static void embedding(struct op_bench *bench, const struct rows_case *shape, const char *text)
{
    int32_t *ids = NULL;
    OP_TRY(bench, clf__allocate(&ids, (size_t)shape->rows, sizeof *ids));
    for (int n = 0; n < shape->rows && ids != NULL; n++) {
        ids[n] = (int32_t)((int64_t)n * 7919 % SPEED_VOCABULARY);
    }
    struct rows rows = {.y = op_floats(bench, shape->rows, shape->columns),
                        .ids = op_integers(bench, 1, shape->rows, ids)};
    op_weights(bench, SPEED_VOCABULARY, shape->columns, 0);
    op_end(bench, "embedding", text, embed, &rows);
    clf__free(ids);
}

static clf_status choose(struct op_bench *bench, void *context)
{
    (void)bench;
    const struct rows *rows = context;
    return clf__top_k_forward(rows->values, rows->ids, rows->statistics, rows->x, rows->banned, rows->offsets,
                              0);
}

static void top_k(struct op_bench *bench, const struct rows_case *shape, const char *text)
{
    size_t count = (size_t)shape->rows * (SPEED_CANDIDATES + 1) + 1; /* zeros: no ids are banned */
    int32_t *zeros = NULL;
    OP_TRY(bench, clf__allocate(&zeros, count, sizeof *zeros));
    struct rows rows = {.x = op_floats(bench, shape->rows, shape->columns),
                        .values = op_floats(bench, shape->rows, SPEED_CANDIDATES),
                        .statistics = op_floats(bench, shape->rows, 4),
                        .ids = op_integers(bench, shape->rows, SPEED_CANDIDATES, zeros),
                        .banned = op_integers(bench, 1, 1, zeros),
                        .offsets = op_integers(bench, 1, shape->rows + 1, zeros)};
    op_end(bench, "top k", text, choose, &rows);
    clf__free(zeros);
}

static const struct {
    void (*run)(struct op_bench *bench, const struct rows_case *shape, const char *text);
    const struct rows_case *cases;
    const int *count;
} kinds[] = {
    {softmax, softmax_speed_cases, &softmax_speed_case_count},
    {layernorm, layernorm_speed_cases, &layernorm_speed_case_count},
    {embedding, embedding_speed_cases, &embedding_speed_case_count},
    {top_k, top_k_speed_cases, &top_k_speed_case_count},
};

void op_rows(struct op_bench *bench)
{
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        for (int i = 0; i < *kinds[kind].count && !bench->stopped; i++) {
            char text[64];
            const struct rows_case *shape = &kinds[kind].cases[i];
            snprintf(text, sizeof text, "%d rows of %d", shape->rows, shape->columns);
            bench->repeats = 1;
            kinds[kind].run(bench, shape, text);
        }
    }
}
