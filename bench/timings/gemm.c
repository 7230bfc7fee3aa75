/* Timings of GEMM: linear layers, with top-k of each row, and batched products of activations. */
#include <stdio.h>

#include "base/memory.h"
#include "cases/gemm.h"
#include "cases/rows.h"
#include "math/ops/projection.h"
#include "runtime/device/caps.h"
#include "timings/internal.h"

/* In decoding steps, weights are read from memory. To measure this, GEMMs with few rows use several copies of
 * the weight in turn, with this total size. */
enum { FEW_ROWS = 8, COLD_BYTES = 1 << 28 };

struct product {
    struct clf__tensor y, x;
};

static clf_status multiply(struct op_bench *bench, void *context)
{
    const struct product *product = context;
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    for (int i = 0; i < bench->weight_count; i++) {
        CLF__TRY(clf__gemm_weight(clf__tensor_matrix(product->y), clf__tensor_matrix(product->x),
                                  product->x.rows, bench->weights[i], &epilogue));
    }
    return CLF_OK;
}

static void product(struct op_bench *bench, const struct gemm_case *shape)
{
    char text[64];
    snprintf(text, sizeof text, "%d x %d x %d", shape->rows, shape->outputs, shape->inputs);
    struct product product = {op_floats(bench, shape->rows, shape->outputs),
                              op_floats(bench, shape->rows, shape->inputs)};
    op_weights(bench, shape->outputs, shape->inputs, shape->rows <= FEW_ROWS ? COLD_BYTES : 0);
    bench->repeats = bench->weight_count;
    op_end(bench, "matrix product", text, multiply, &product);
}

/* y (rows, outputs) and x (rows, inputs) are also used for their gradients. */
static clf_status differentiate_input(struct op_bench *bench, void *context)
{
    const struct product *product = context;
    const struct clf__matrix no_residual = {.buffer = NULL};
    return clf__gemm_input_gradient(clf__tensor_matrix(product->x), clf__tensor_matrix(product->y),
                                    product->x.rows, bench->weights[0], 1.0f, no_residual);
}

static clf_status differentiate_weight(struct op_bench *bench, void *context)
{
    const struct product *product = context;
    return clf__gemm_weight_gradient(bench->weights[0], clf__tensor_matrix(product->y),
                                     clf__tensor_matrix(product->x), product->x.rows, 1.0f);
}

static void gradient(struct op_bench *bench, const struct gemm_case *shape, const char *op, op_work *work)
{
    char text[64];
    snprintf(text, sizeof text, "%d x %d x %d", shape->rows, shape->outputs, shape->inputs);
    struct product product = {op_floats(bench, shape->rows, shape->outputs),
                              op_floats(bench, shape->rows, shape->inputs)};
    OP_TRY(bench, clf__weight_create_zero(&bench->weights[0], bench->device, shape->outputs, shape->inputs,
                                          "the bench"));
    bench->weight_count = bench->status == CLF_OK;
    OP_TRY(bench, clf__weight_multiply_in(bench->weights[0], bench->choice.precision));
    bench->repeats = 1;
    op_end(bench, op, text, work, &product);
}

/* In training, weights are fp32, and GEMM computes in fp32, or in bf16 with native kernels. */
static void gradients(struct op_bench *bench)
{
    enum clf__precision precision = bench->choice.precision;
    int is_native = clf__device_caps(bench->device)->gemm == CLF_GEMM_NATIVE;
    if (precision != CLF__PRECISION_FP32 && (precision != CLF__PRECISION_BF16 || !is_native)) {
        return;
    }
    for (int i = 0; i < gemm_gradient_speed_case_count; i++) {
        if (!bench->stopped) {
            gradient(bench, &gemm_gradient_speed_cases[i], "input gradient", differentiate_input);
        }
        if (!bench->stopped) {
            gradient(bench, &gemm_gradient_speed_cases[i], "weight gradient", differentiate_weight);
        }
    }
}

/* The output projection of a decoding step with top-k of each row, without banned ids. */
struct projection {
    struct clf__tensor x, values, ids, statistics, banned, offsets;
    struct clf__projection_scratch scratch;
};

static clf_status project(struct op_bench *bench, void *context)
{
    const struct projection *one = context;
    for (int i = 0; i < bench->weight_count; i++) {
        struct clf__projection projection = {.weight = bench->weights[i], .scale = 1.0f};
        CLF__TRY(clf__projection_top_k(one->values, one->ids, one->statistics, one->x, &projection,
                                       one->banned, one->offsets, 0, &one->scratch));
    }
    return CLF_OK;
}

static void projection(struct op_bench *bench, int rows)
{
    enum { INPUTS = 512 };
    char text[64];
    snprintf(text, sizeof text, "%d x %d x %d, %d best", rows, SPEED_VOCABULARY, INPUTS, SPEED_CANDIDATES);
    size_t count = (size_t)rows * SPEED_CANDIDATES + 1;
    int32_t *zeros = NULL;
    OP_TRY(bench, clf__allocate(&zeros, count, sizeof *zeros));
    struct projection one = {.x = op_floats(bench, rows, INPUTS),
                             .values = op_floats(bench, rows, SPEED_CANDIDATES),
                             .ids = op_integers(bench, rows, SPEED_CANDIDATES, zeros),
                             .statistics = op_floats(bench, rows, 4),
                             .banned = op_integers(bench, 1, 1, zeros),
                             .offsets = op_integers(bench, 1, rows + 1, zeros)};
    clf__free(zeros);
    op_weights(bench, SPEED_VOCABULARY, INPUTS, rows <= FEW_ROWS ? COLD_BYTES : 0);
    struct clf__arena arena;
    clf__arena_init(&arena, bench->device);
    struct clf__projection first = {.weight = bench->weights[0], .scale = 1.0f};
    OP_TRY(bench, clf__projection_scratch_reserve(&one.scratch, &arena, &first, rows, SPEED_CANDIDATES, 0));
    OP_TRY(bench, clf__arena_allocate(&arena));
    bench->repeats = bench->weight_count;
    op_end(bench, "projection, top k", text, project, &one);
    clf__arena_free(&arena);
}

struct batched_product {
    struct clf__batched_matrix c, a, b;
    struct clf__batched_shape shape;
};

static clf_status multiply_batch(struct op_bench *bench, void *context)
{
    (void)bench;
    const struct batched_product *product = context;
    return clf__gemm_batched(product->c, product->a, product->b, &product->shape);
}

static struct clf__batched_matrix batch(struct op_bench *bench, int batches, int rows, int columns)
{
    return (struct clf__batched_matrix){clf__tensor_matrix(op_floats(bench, batches * rows, columns)),
                                        (size_t)rows * (size_t)columns};
}

static void batched_product(struct op_bench *bench, const struct gemm_batched_case *one, int transpose_b)
{
    char text[64];
    snprintf(text, sizeof text, "%d of %d x %d x %d%s", one->batches, one->m, one->n, one->k,
             transpose_b ? ", transposed" : "");
    struct batched_product product = {
        .c = batch(bench, one->batches, one->m, one->n),
        .a = batch(bench, one->batches, one->m, one->k),
        .b = transpose_b ? batch(bench, one->batches, one->n, one->k)
                         : batch(bench, one->batches, one->k, one->n),
        .shape = {one->batches, one->m, one->n, one->k, transpose_b, 1.0f},
    };
    bench->repeats = 1;
    op_end(bench, "batched product", text, multiply_batch, &product);
}

static void usual_gemms(struct op_bench *bench)
{
    for (int i = 0; i < gemm_speed_case_count && !bench->stopped; i++) {
        product(bench, &gemm_speed_cases[i]);
    }
    gradients(bench);
    for (int i = 0; i < top_k_speed_case_count && !bench->stopped; i++) {
        projection(bench, top_k_speed_cases[i].rows);
    }
    /* Activations are fp32 in every precision. */
    int batched_count = bench->choice.precision == CLF__PRECISION_FP32 ? gemm_batched_speed_case_count : 0;
    for (int i = 0; i < batched_count && !bench->stopped; i++) {
        batched_product(bench, &gemm_batched_speed_cases[i], 0);
        batched_product(bench, &gemm_batched_speed_cases[i], 1);
    }
}

void op_gemm(struct op_bench *bench)
{
    const struct op_choice *choice = &bench->choice;
    if (choice->shape_count == 0) {
        usual_gemms(bench);
    }
    for (int i = 0; i < choice->shape_count && !bench->stopped; i++) {
        const int *sizes = choice->shapes[i].sizes;
        product(bench, &(struct gemm_case){sizes[0], sizes[1], sizes[2]});
    }
}
