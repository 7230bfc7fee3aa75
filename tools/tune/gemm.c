/* Measures GEMM with the shapes of a model. The results of native GEMM are bit-identical for all values of
 * the parameters. */
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

struct gemm_case {
    const struct shape *shape;
    int rows;
    float *expected; /* (rows, outputs) result of the first candidate */
};

struct tune_gemm {
    struct clf_device *device;
    enum clf__tunable tunable;
    enum clf__precision precision;
    struct shape shapes[MOST_SHAPES];
    struct gemm_case cases[TUNE_MOST_CASES];
    int shape_count, case_count;
    int widest_input, widest_output;
    float *x_values; /* (rows, inputs) of the largest case */
    struct clf__buffer *x, *y;
    float *result;
};

/* Maximum error relative to the norm, compared with GEMM in double precision on the same fp32 numbers. */
static const double tolerances[CLF__PRECISIONS] = {1e-5, 1e-3, 1e-2, 3e-2};

static void add_shape(struct tune_gemm *gemm, int outputs, int inputs)
{
    for (int i = 0; i < gemm->shape_count; i++) {
        if (gemm->shapes[i].outputs == outputs && gemm->shapes[i].inputs == inputs) {
            return;
        }
    }
    gemm->shapes[gemm->shape_count++] = (struct shape){.outputs = outputs, .inputs = inputs};
}

/* Adds the shapes of the encoder's or decoder's layers, with queries, keys and values in one GEMM. */
static void add_side(struct tune_gemm *gemm, const struct clf__config *config, int is_decoder)
{
    int heads = is_decoder ? config->decoder_heads : config->encoder_heads;
    int keys = heads * (is_decoder ? config->decoder_key_width : config->encoder_key_width);
    int values = heads * (is_decoder ? config->decoder_value_width : config->encoder_value_width);
    int width = is_decoder ? config->decoder_ffn : config->encoder_ffn;
    add_shape(gemm, 2 * keys + values, config->d_model);
    add_shape(gemm, config->d_model, values);
    add_shape(gemm, config->ffn_gated ? 2 * width : width, config->d_model);
    add_shape(gemm, config->d_model, width);
}

/* Returns the row counts for which the parameter makes a difference, terminated by 0. */
static const int *rows_of(enum clf__tunable tunable)
{
    static const int any[] = {1, 8, 64, 256, MOST_ROWS, 0};
    static const int few[] = {4, 8, 16, 32, 64, 128, 0};
    return tunable >= CLF__TUNABLE_ROW_MAJOR_ROWS ? few : any;
}

static void add_cases(struct tune_gemm *gemm, int vocabulary, int most_rows)
{
    for (int i = 0; i < gemm->shape_count; i++) {
        const struct shape *shape = &gemm->shapes[i];
        int most = shape->outputs == vocabulary && most_rows > VOCABULARY_ROWS ? VOCABULARY_ROWS : most_rows;
        for (const int *rows = rows_of(gemm->tunable); *rows > 0; rows++) {
            if (*rows <= most && gemm->case_count < TUNE_MOST_CASES) {
                gemm->cases[gemm->case_count++] = (struct gemm_case){.shape = shape, .rows = *rows};
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
    return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for the matrices to measure");
}

static clf_status make_weight(struct tune_gemm *gemm, struct shape *shape)
{
    shape->values = random_values((size_t)shape->outputs * (size_t)shape->inputs);
    if (shape->values == NULL) {
        return no_memory();
    }
    const struct clf__weight_part part = {.data = shape->values, .rows = shape->outputs};
    const struct clf__weight_source source = {.parts = &part,
                                              .part_count = 1,
                                              .inputs = shape->inputs,
                                              .precision = gemm->precision,
                                              .what = "a weight to measure"};
    return clf__weight_create(&shape->weight, gemm->device, &source);
}

/* Allocates operands and result for the largest case. */
static clf_status make_operands(struct tune_gemm *gemm)
{
    size_t inputs = 0, outputs = 0;
    for (int i = 0; i < gemm->case_count; i++) {
        const struct gemm_case *current = &gemm->cases[i];
        size_t in = (size_t)current->rows * (size_t)current->shape->inputs;
        size_t out = (size_t)current->rows * (size_t)current->shape->outputs;
        inputs = in > inputs ? in : inputs;
        outputs = out > outputs ? out : outputs;
    }
    gemm->x_values = random_values(inputs);
    gemm->result = calloc(outputs > 0 ? outputs : 1, sizeof *gemm->result);
    if (gemm->x_values == NULL || gemm->result == NULL) {
        return no_memory();
    }
    CLF__TRY(clf__buffer_create(&gemm->x, gemm->device, inputs * sizeof(float), "operands"));
    CLF__TRY(clf__buffer_create(&gemm->y, gemm->device, outputs * sizeof(float), "results"));
    return clf__buffer_write(gemm->x, 0, inputs * sizeof(float), gemm->x_values);
}

clf_status tune_gemm_create(struct tune_gemm **out, const struct clf_model *model, enum clf__tunable tunable,
                            int is_quick)
{
    struct tune_gemm *gemm = calloc(1, sizeof *gemm);
    if (gemm == NULL) {
        return no_memory();
    }
    const struct clf__transformer *transformer = model->transformer;
    gemm->device = transformer->device;
    gemm->precision = transformer->precision;
    gemm->tunable = tunable;
    add_side(gemm, &transformer->config, 0);
    add_side(gemm, &transformer->config, 1);
    add_shape(gemm, transformer->config.target_vocabulary, transformer->config.d_model);
    add_cases(gemm, transformer->config.target_vocabulary, is_quick ? VOCABULARY_ROWS : MOST_ROWS);
    clf_status status = CLF_OK;
    for (int i = 0; i < gemm->shape_count && status == CLF_OK; i++) {
        status = make_weight(gemm, &gemm->shapes[i]);
    }
    if (status == CLF_OK) {
        status = make_operands(gemm);
    }
    if (status != CLF_OK) {
        tune_gemm_free(gemm);
        return status;
    }
    *out = gemm;
    return CLF_OK;
}

void tune_gemm_free(struct tune_gemm *gemm)
{
    if (gemm == NULL) {
        return;
    }
    for (int i = 0; i < gemm->shape_count; i++) {
        clf__weight_free(gemm->shapes[i].weight);
        free(gemm->shapes[i].values);
    }
    for (int i = 0; i < gemm->case_count; i++) {
        free(gemm->cases[i].expected);
    }
    clf__buffer_free(gemm->x);
    clf__buffer_free(gemm->y);
    free(gemm->x_values);
    free(gemm->result);
    free(gemm);
}

static clf_status take_candidate(void *context, int value)
{
    struct tune_gemm *gemm = context;
    clf__device_set_tunable(gemm->device, gemm->tunable, value);
    return CLF_OK;
}

/* Most GEMM parameters are a maximum number of rows up to which a different kernel is used. */
static int is_alike(void *context, int index, int value, int other)
{
    const struct tune_gemm *gemm = context;
    int rows = gemm->cases[index].rows;
    return gemm->tunable >= CLF__TUNABLE_ROW_MAJOR_ROWS && (rows <= value) == (rows <= other);
}

static clf_status multiply(void *context, int index)
{
    struct tune_gemm *gemm = context;
    const struct gemm_case *current = &gemm->cases[index];
    struct clf__matrix x = {.buffer = gemm->x, .stride = current->shape->inputs};
    struct clf__matrix y = {.buffer = gemm->y, .stride = current->shape->outputs};
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    CLF__TRY(clf__gemm_weight(y, x, current->rows, current->shape->weight, &epilogue));
    return clf__device_finish(gemm->device);
}

/* Compares the first and the last row of a result with GEMM in double precision. */
static clf_status is_near_reference(int *is_right, const struct tune_gemm *gemm,
                                    const struct gemm_case *current)
{
    size_t outputs = (size_t)current->shape->outputs, inputs = (size_t)current->shape->inputs;
    double *expected = calloc(outputs, sizeof *expected);
    if (expected == NULL) {
        return no_memory();
    }
    double difference = 0, norm = 0;
    for (int i = 0; i < CHECKED_ROWS; i++) {
        size_t row = i == 0 ? 0 : (size_t)current->rows - 1;
        reference_gemm_row(expected, gemm->x_values + row * inputs, current->shape->values,
                           current->shape->outputs, current->shape->inputs, 1.0, NULL, CLF__IDENTITY, NULL);
        for (size_t n = 0; n < outputs; n++) {
            double d = (double)gemm->result[row * outputs + n] - expected[n];
            difference += d * d;
            norm += expected[n] * expected[n];
        }
    }
    free(expected);
    *is_right = sqrt(difference) <= tolerances[gemm->precision] * sqrt(norm);
    return CLF_OK;
}

static clf_status check_product(void *context, int index, int is_first, int *is_right)
{
    struct tune_gemm *gemm = context;
    struct gemm_case *current = &gemm->cases[index];
    size_t bytes = (size_t)current->rows * (size_t)current->shape->outputs * sizeof(float);
    CLF__TRY(clf__buffer_read(gemm->y, 0, bytes, gemm->result));
    CLF__TRY(clf__buffer_fill(gemm->y, 0, bytes, NAN)); /* the next candidate must overwrite all values */
    if (gemm->tunable == CLF__TUNABLE_ROW_MAJOR_ROWS) { /* CLBlast does not guarantee identical bits */
        return is_near_reference(is_right, gemm, current);
    }
    if (!is_first) {
        *is_right = memcmp(gemm->result, current->expected, bytes) == 0;
        return CLF_OK;
    }
    free(current->expected);
    current->expected = malloc(bytes);
    if (current->expected == NULL) {
        return no_memory();
    }
    memcpy(current->expected, gemm->result, bytes);
    return is_near_reference(is_right, gemm, current);
}

void tune_gemm_work(struct tune_work *out, struct tune_gemm *gemm)
{
    *out = (struct tune_work){.context = gemm,
                              .cases = gemm->case_count,
                              .select = take_candidate,
                              .is_alike = is_alike,
                              .run = multiply,
                              .check = check_product};
}
