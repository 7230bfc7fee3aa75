/* Measures GEMM with the shapes of a model. Parameters never change the results of native GEMM, to the last
 * bit.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "reference/gemm.h"
#include "runtime/device/buffer.h"
#include "runtime/device/queue.h"
#include "runtime/program/launch.h"
#include "tune/tune.h"

enum { MOST_SHAPES = 10, MOST_ROWS = 2048, VOCABULARY_ROWS = 64, CHECKED_ROWS = 2 };

struct shape {
    int outputs, inputs;
    float *values; /* (outputs, inputs) */
    struct clf__weight *weight;
};

struct piece {
    const struct shape *shape;
    int rows;
    float *expected; /* (rows, outputs) result of the first candidate */
};

struct tune_products {
    struct clf_device *device;
    enum clf__tunable tunable;
    enum clf__precision precision;
    struct shape shapes[MOST_SHAPES];
    struct piece pieces[TUNE_MOST_CASES];
    int shape_count, piece_count;
    int widest_input, widest_output;
    float *x_values; /* (rows, inputs) of the largest case */
    struct clf__buffer *x, *y;
    float *result;
};

/* Maximum error relative to the norm, compared with GEMM in double precision on the same fp32 numbers. */
static const double tolerances[CLF__PRECISIONS] = {1e-5, 1e-3, 1e-2, 3e-2};

static void add_shape(struct tune_products *products, int outputs, int inputs)
{
    for (int i = 0; i < products->shape_count; i++) {
        if (products->shapes[i].outputs == outputs && products->shapes[i].inputs == inputs) {
            return;
        }
    }
    products->shapes[products->shape_count++] = (struct shape){.outputs = outputs, .inputs = inputs};
}

/* Adds the shapes of a side's layers, with queries, keys and values in one GEMM. */
static void add_side(struct tune_products *products, const struct clf__config *config, int is_decoder)
{
    int heads = is_decoder ? config->decoder_heads : config->encoder_heads;
    int keys = heads * (is_decoder ? config->decoder_key_width : config->encoder_key_width);
    int values = heads * (is_decoder ? config->decoder_value_width : config->encoder_value_width);
    int width = is_decoder ? config->decoder_ffn : config->encoder_ffn;
    add_shape(products, 2 * keys + values, config->d_model);
    add_shape(products, config->d_model, values);
    add_shape(products, config->ffn_gated ? 2 * width : width, config->d_model);
    add_shape(products, config->d_model, width);
}

/* Returns the numbers of rows for which the parameter makes a difference, terminated by 0. */
static const int *rows_of(enum clf__tunable tunable)
{
    static const int any[] = {1, 8, 64, 256, MOST_ROWS, 0};
    static const int few[] = {4, 8, 16, 32, 64, 128, 0};
    return tunable >= CLF__TUNABLE_ROW_MAJOR_ROWS ? few : any;
}

static void add_pieces(struct tune_products *products, int vocabulary, int most_rows)
{
    for (int i = 0; i < products->shape_count; i++) {
        const struct shape *shape = &products->shapes[i];
        int most = shape->outputs == vocabulary && most_rows > VOCABULARY_ROWS ? VOCABULARY_ROWS : most_rows;
        for (const int *rows = rows_of(products->tunable); *rows > 0; rows++) {
            if (*rows <= most && products->piece_count < TUNE_MOST_CASES) {
                products->pieces[products->piece_count++] = (struct piece){.shape = shape, .rows = *rows};
            }
        }
    }
}

static float *random_values(size_t count)
{
    float *values = calloc(count > 0 ? count : 1, sizeof *values);
    unsigned state = 1;
    for (size_t i = 0; values != NULL && i < count; i++) {
        state = state * 1664525u + 1013904223u; /* the linear congruential generator of Numerical Recipes */
        values[i] = (float)(state >> 8) / (float)(1 << 23) - 1.0f;
    }
    return values;
}

static clf_status no_memory(void)
{
    return clf__fail(CLF_OUT_OF_MEMORY, "out of memory for the matrices to measure");
}

static clf_status make_weight(struct tune_products *products, struct shape *shape)
{
    shape->values = random_values((size_t)shape->outputs * (size_t)shape->inputs);
    if (shape->values == NULL) {
        return no_memory();
    }
    const struct clf__weight_part part = {.data = shape->values, .rows = shape->outputs};
    const struct clf__weight_source source = {.parts = &part,
                                              .part_count = 1,
                                              .inputs = shape->inputs,
                                              .precision = products->precision,
                                              .what = "a weight to measure"};
    return clf__weight_create(&shape->weight, products->device, &source);
}

/* Allocates operands and result for the largest case. */
static clf_status make_operands(struct tune_products *products)
{
    size_t inputs = 0, outputs = 0;
    for (int i = 0; i < products->piece_count; i++) {
        const struct piece *piece = &products->pieces[i];
        size_t in = (size_t)piece->rows * (size_t)piece->shape->inputs;
        size_t out = (size_t)piece->rows * (size_t)piece->shape->outputs;
        inputs = in > inputs ? in : inputs;
        outputs = out > outputs ? out : outputs;
    }
    products->x_values = random_values(inputs);
    products->result = calloc(outputs > 0 ? outputs : 1, sizeof *products->result);
    if (products->x_values == NULL || products->result == NULL) {
        return no_memory();
    }
    CLF__TRY(clf__buffer_create(&products->x, products->device, inputs * sizeof(float), "operands"));
    CLF__TRY(clf__buffer_create(&products->y, products->device, outputs * sizeof(float), "products"));
    return clf__buffer_write(products->x, 0, inputs * sizeof(float), products->x_values);
}

clf_status tune_products_create(struct tune_products **out, const struct clf_model *model,
                                enum clf__tunable tunable, int is_quick)
{
    struct tune_products *products = calloc(1, sizeof *products);
    if (products == NULL) {
        return no_memory();
    }
    const struct clf__transformer *transformer = model->transformer;
    products->device = transformer->device;
    products->precision = transformer->precision;
    products->tunable = tunable;
    add_side(products, &transformer->config, 0);
    add_side(products, &transformer->config, 1);
    add_shape(products, transformer->config.target_vocabulary, transformer->config.d_model);
    add_pieces(products, transformer->config.target_vocabulary, is_quick ? VOCABULARY_ROWS : MOST_ROWS);
    clf_status status = CLF_OK;
    for (int i = 0; i < products->shape_count && status == CLF_OK; i++) {
        status = make_weight(products, &products->shapes[i]);
    }
    if (status == CLF_OK) {
        status = make_operands(products);
    }
    if (status != CLF_OK) {
        tune_products_free(products);
        return status;
    }
    *out = products;
    return CLF_OK;
}

void tune_products_free(struct tune_products *products)
{
    if (products == NULL) {
        return;
    }
    for (int i = 0; i < products->shape_count; i++) {
        clf__weight_free(products->shapes[i].weight);
        free(products->shapes[i].values);
    }
    for (int i = 0; i < products->piece_count; i++) {
        free(products->pieces[i].expected);
    }
    clf__buffer_free(products->x);
    clf__buffer_free(products->y);
    free(products->x_values);
    free(products->result);
    free(products);
}

static clf_status take_candidate(void *context, int value)
{
    struct tune_products *products = context;
    clf__device_set_tunable(products->device, products->tunable, value);
    return CLF_OK;
}

/* Most GEMM parameters are the maximum number of rows for which a different kernel is used. */
static int is_alike(void *context, int index, int value, int other)
{
    const struct tune_products *products = context;
    int rows = products->pieces[index].rows;
    return products->tunable >= CLF__TUNABLE_ROW_MAJOR_ROWS && (rows <= value) == (rows <= other);
}

static clf_status multiply(void *context, int index)
{
    struct tune_products *products = context;
    const struct piece *piece = &products->pieces[index];
    struct clf__matrix x = {.buffer = products->x, .stride = piece->shape->inputs};
    struct clf__matrix y = {.buffer = products->y, .stride = piece->shape->outputs};
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    CLF__TRY(clf__gemm_weight(y, x, piece->rows, piece->shape->weight, &epilogue));
    return clf__device_finish(products->device);
}

/* Compares the first and the last row of a result with GEMM in double precision. */
static clf_status is_near_reference(int *is_right, const struct tune_products *products,
                                    const struct piece *piece)
{
    size_t outputs = (size_t)piece->shape->outputs, inputs = (size_t)piece->shape->inputs;
    double *expected = calloc(outputs, sizeof *expected);
    if (expected == NULL) {
        return no_memory();
    }
    double difference = 0, norm = 0;
    for (int i = 0; i < CHECKED_ROWS; i++) {
        size_t row = i == 0 ? 0 : (size_t)piece->rows - 1;
        reference_gemm_row(expected, products->x_values + row * inputs, piece->shape->values,
                           piece->shape->outputs, piece->shape->inputs, 1.0, NULL, CLF__IDENTITY, NULL);
        for (size_t n = 0; n < outputs; n++) {
            double d = (double)products->result[row * outputs + n] - expected[n];
            difference += d * d;
            norm += expected[n] * expected[n];
        }
    }
    free(expected);
    *is_right = sqrt(difference) <= tolerances[products->precision] * sqrt(norm);
    return CLF_OK;
}

static clf_status check_product(void *context, int index, int is_first, int *is_right)
{
    struct tune_products *products = context;
    struct piece *piece = &products->pieces[index];
    size_t bytes = (size_t)piece->rows * (size_t)piece->shape->outputs * sizeof(float);
    CLF__TRY(clf__buffer_read(products->y, 0, bytes, products->result));
    CLF__TRY(clf__buffer_fill(products->y, 0, bytes, NAN)); /* the next candidate must overwrite all values */
    if (products->tunable == CLF__TUNABLE_ROW_MAJOR_ROWS) { /* CLBlast does not guarantee identical bits */
        return is_near_reference(is_right, products, piece);
    }
    if (!is_first) {
        *is_right = memcmp(products->result, piece->expected, bytes) == 0;
        return CLF_OK;
    }
    free(piece->expected);
    piece->expected = malloc(bytes);
    if (piece->expected == NULL) {
        return no_memory();
    }
    memcpy(piece->expected, products->result, bytes);
    return is_near_reference(is_right, products, piece);
}

void tune_products_work(struct tune_work *out, struct tune_products *products)
{
    *out = (struct tune_work){.context = products,
                              .cases = products->piece_count,
                              .select = take_candidate,
                              .is_alike = is_alike,
                              .run = multiply,
                              .check = check_product};
}
