/* Matrix products: by weights, and batched ones of activations. */
#include <stdio.h>

#include "cases/gemm.h"
#include "op_bench.h"

/* Decoding steps meet weights that no cache holds: products of few rows go round weights of this size. */
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

void op_products(struct op_bench *bench)
{
    for (int i = 0; i < gemm_speed_case_count && !bench->stopped; i++) {
        product(bench, &gemm_speed_cases[i]);
    }
    /* Activations are fp32 in every precision. */
    int batched_count = bench->choice.precision == CLF_PRECISION_FP32 ? gemm_batched_speed_case_count : 0;
    for (int i = 0; i < batched_count && !bench->stopped; i++) {
        batched_product(bench, &gemm_batched_speed_cases[i], 0);
        batched_product(bench, &gemm_batched_speed_cases[i], 1);
    }
}
