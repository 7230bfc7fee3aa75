#include "open/check.h"

#include <math.h>

#include "base/memory.h"
#include "math/gemm/gemm.h"
#include "math/gemm/layout.h"
#include "math/ops/attention.h"
#include "runtime/device/device.h"

/* Rows of the tiled GEMM and of the GEMM for few rows, and the inputs of both. */
enum { TILE_ROWS = 65, FEW_ROWS = 3, INPUTS = 72 };
/* Sizes of the attention step, with enough keys for several sub-groups per work-group. */
enum { HEADS = 1, WIDTH = 64, KEYS = 128, COLUMNS = HEADS * WIDTH };

static clf_status differs(const struct clf_device *device, int *is_lasting, const char *what, int row,
                          int column, double actual, double expected)
{
    *is_lasting = 1;
    return clf__fail(CLF_DEVICE,
                     "device %s: wrong results: row %d, column %d of %s is %g instead of %g; update the "
                     "driver or choose another device from `clformer devices`",
                     device->label, row, column, what, actual, expected);
}

/* Small integers, whose products and sums are exact. */
static float weight_at(int output, int input)
{
    return (float)((7 * output + 3 * input) % 5 - 2);
}

static float operand_at(int row, int input)
{
    return (float)((3 * row + input) % 7 - 3);
}

/* The operands of a GEMM, freed by free_product(). */
struct product {
    struct clf__weight *weight;
    struct clf__buffer *x, *y;
    float *values; /* (outputs, INPUTS), then the result */
    int outputs;
};

static clf_status make_product(struct product *product, struct clf_device *device,
                               enum clf__precision precision)
{
    /* With fewer tiles than half the compute units, the kernel for few rows would be selected. */
    product->outputs = CLF__TILE * (int)(device->caps.compute_units / 2 + 1);
    size_t outputs = (size_t)product->outputs;
    float operand[TILE_ROWS * INPUTS];
    CLF__TRY(
        clf__allocate(&product->values, outputs * (INPUTS > TILE_ROWS ? INPUTS : TILE_ROWS), sizeof(float)));
    for (int i = 0; i < product->outputs * INPUTS; i++) {
        product->values[i] = weight_at(i / INPUTS, i % INPUTS);
    }
    for (int i = 0; i < TILE_ROWS * INPUTS; i++) {
        operand[i] = operand_at(i / INPUTS, i % INPUTS);
    }
    const struct clf__weight_part part = {product->values, product->outputs};
    const struct clf__weight_source source = {
        .parts = &part, .part_count = 1, .inputs = INPUTS, .precision = precision, .what = "the test weight"};
    CLF__TRY(clf__weight_create(&product->weight, device, &source));
    CLF__TRY(clf__buffer_create(&product->x, device, sizeof operand, "the test operand"));
    CLF__TRY(clf__buffer_create(&product->y, device, outputs * TILE_ROWS * sizeof(float), "the test result"));
    return clf__buffer_write(product->x, 0, sizeof operand, operand);
}

static void free_product(struct product *product)
{
    clf__weight_free(product->weight);
    clf__buffer_free(product->x);
    clf__buffer_free(product->y);
    clf__free(product->values);
}

static clf_status check_product(struct product *product, struct clf_device *device, int rows, int *is_lasting)
{
    int outputs = product->outputs;
    const struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    const struct clf__matrix y = {.buffer = product->y, .stride = outputs};
    const struct clf__matrix x = {.buffer = product->x, .stride = INPUTS};
    size_t bytes = (size_t)rows * (size_t)outputs * sizeof(float);
    CLF__TRY(clf__buffer_fill(product->y, 0, bytes, 0.5f)); /* not the result of an earlier GEMM */
    CLF__TRY(clf__gemm_weight(y, x, rows, product->weight, &epilogue));
    CLF__TRY(clf__buffer_read(product->y, 0, bytes, product->values));
    for (int i = 0; i < rows * outputs; i++) {
        float sum = 0.0f;
        for (int k = 0; k < INPUTS; k++) {
            sum += operand_at(i / outputs, k) * weight_at(i % outputs, k);
        }
        if (product->values[i] != sum) {
            return differs(device, is_lasting, "the test GEMM", i / outputs, i % outputs,
                           (double)product->values[i], (double)sum);
        }
    }
    return CLF_OK;
}

static clf_status check_products(struct clf_device *device, enum clf__precision precision, int *is_lasting)
{
    struct product product = {.weight = NULL};
    clf_status status = make_product(&product, device, precision);
    if (status == CLF_OK) {
        status = check_product(&product, device, TILE_ROWS, is_lasting);
    }
    if (status == CLF_OK) {
        status = check_product(&product, device, FEW_ROWS, is_lasting);
    }
    free_product(&product);
    return status;
}

/* All elements of key t are t % 2, so all odd keys have one score and all even keys another; element i of
 * value t is i + t. The query has WIDTH / 2 ones. */
static clf_status make_history(struct clf__attention_history *history, struct clf__tensor *q)
{
    float keys[KEYS * COLUMNS], values[KEYS * COLUMNS], query[COLUMNS];
    for (int i = 0; i < KEYS * COLUMNS; i++) {
        keys[i] = (float)(i / COLUMNS % 2);
        values[i] = (float)(i % COLUMNS + i / COLUMNS);
    }
    for (int i = 0; i < COLUMNS; i++) {
        query[i] = (float)(i % 2);
    }
    const int32_t table[KEYS] = {0}, row = 0, position = KEYS - 1;
    CLF__TRY(clf__tensor_write(history->keys, keys));
    CLF__TRY(clf__tensor_write(history->values, values));
    CLF__TRY(clf__tensor_write(history->table, table));
    CLF__TRY(clf__tensor_write(history->cache_rows, &row));
    CLF__TRY(clf__tensor_write(history->positions, &position));
    return clf__tensor_write(*q, query);
}

static clf_status check_step(struct clf_device *device, struct clf__tensor y, struct clf__tensor q,
                             const struct clf__attention_history *history, int *is_lasting)
{
    const struct clf__heads heads = {HEADS, WIDTH, WIDTH, 1.0f / WIDTH};
    float result[COLUMNS];
    CLF__TRY(clf__attention_step_forward(y, q, CLF__NO_TENSOR, CLF__NO_TENSOR, &heads, history));
    CLF__TRY(clf__tensor_read(y, result));
    double odd = exp(0.5), share = odd / (1.0 + odd); /* odd keys have score 1/2, even keys 0 */
    for (int i = 0; i < COLUMNS; i++) {
        double expected = i + (KEYS / 2 - 1) + share;
        if (!(fabs((double)result[i] - expected) < 1e-3)) {
            return differs(device, is_lasting, "the test attention", 0, i, (double)result[i], expected);
        }
    }
    return CLF_OK;
}

static clf_status check_attention(struct clf_device *device, int *is_lasting)
{
    struct clf__arena arena;
    struct clf__attention_history history = {.cache_rows_total = 1};
    struct clf__tensor q, y;
    clf__arena_init(&arena, device);
    const struct {
        struct clf__tensor *tensor;
        enum clf__type type;
        int rows, columns;
    } tensors[] = {{&q, CLF__F32, 1, COLUMNS},
                   {&y, CLF__F32, 1, COLUMNS},
                   {&history.keys, CLF__F32, KEYS, COLUMNS},
                   {&history.values, CLF__F32, KEYS, COLUMNS},
                   {&history.table, CLF__I32, 1, KEYS},
                   {&history.cache_rows, CLF__I32, 1, 1},
                   {&history.positions, CLF__I32, 1, 1}};
    clf_status status = CLF_OK;
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors && status == CLF_OK; i++) {
        status = clf__arena_reserve(&arena, tensors[i].tensor, tensors[i].type, tensors[i].rows,
                                    tensors[i].columns, "the test attention");
    }
    if (status == CLF_OK) {
        status = clf__arena_allocate(&arena);
    }
    if (status == CLF_OK) {
        status = make_history(&history, &q);
    }
    if (status == CLF_OK) {
        status = check_step(device, y, q, &history, is_lasting);
    }
    clf__arena_free(&arena);
    return status;
}

clf_status clf__check_kernels(struct clf_device *device, int *is_lasting)
{
    *is_lasting = 0;
    clf_status status = check_products(device, CLF__PRECISION_FP32, is_lasting);
    if (status == CLF_OK && clf__caps_have_matrix(&device->caps)) { /* separate GEMM kernels */
        status = check_products(device, CLF__PRECISION_FP16, is_lasting);
    }
    if (status == CLF_OK) {
        status = check_attention(device, is_lasting);
    }
    *is_lasting |= status == CLF_BUILD || status == CLF_UNSUPPORTED;
    return status;
}
