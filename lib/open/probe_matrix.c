#include "open/probe_matrix.h"

#include <stdio.h>
#include <string.h>

#include "base/half.h"
#include "runtime/device/buffer.h"
#include "runtime/device/device.h"
#include "runtime/program/launch.h"
#include "runtime/tuning/matrix_layout.h"

enum { SLICE_BYTES = 16 * CLF__SLICE_WORDS, MOST_TILE = 16 * 16 };

/* Small integers with no two equal rows or columns, to detect swapped lanes or registers. */
static int number_of_a(int row, int k)
{
    return (row * 7 + k * 5 + row * k) % 11 - 5;
}

static int number_of_b(int column, int k)
{
    return (column * 3 + k * 7 + column * k * 2) % 13 - 6;
}

static void fill_row(char *bytes, enum clf__precision precision, int (*number)(int, int), int row)
{
    for (int k = 0; k < CLF__MATRIX_INPUTS(precision); k++) {
        int value = number(row, k);
        uint16_t half =
            precision == CLF__PRECISION_FP16 ? clf__fp16_of((float)value) : clf__bf16_of((float)value);
        if (precision == CLF__PRECISION_INT8) {
            bytes[k] = (char)value;
        } else {
            memcpy(bytes + 2 * k, &half, sizeof half);
        }
    }
}

static int is_right(const int32_t *sums, const struct clf__matrix_level *level, enum clf__precision precision)
{
    for (int i = 0; i < level->rows * level->columns; i++) {
        int expected = 0;
        for (int k = 0; k < CLF__MATRIX_INPUTS(precision); k++) {
            expected += number_of_a(i / level->columns, k) * number_of_b(i % level->columns, k);
        }
        float sum;
        memcpy(&sum, sums + i, sizeof sum);
        if (precision == CLF__PRECISION_INT8 ? sums[i] != expected : sum != (float)expected) {
            return 0;
        }
    }
    return 1;
}

/* The operands and the result of one tile. */
struct buffers {
    struct clf__buffer *sums, *a, *b;
};

static clf_status run(struct clf_device *device, const struct buffers *buffers,
                      const struct clf__matrix_level *level, enum clf__precision precision, int32_t *sums)
{
    char a[MOST_TILE * SLICE_BYTES], b[MOST_TILE * SLICE_BYTES];
    size_t sums_bytes = (size_t)(level->rows * level->columns) * sizeof *sums;
    for (int row = 0; row < level->rows; row++) {
        fill_row(a + row * SLICE_BYTES, precision, number_of_a, row);
    }
    for (int column = 0; column < level->columns; column++) {
        fill_row(b + column * SLICE_BYTES, precision, number_of_b, column);
    }
    memset(sums, 0x7f, sums_bytes);
    CLF__TRY(clf__buffer_write(buffers->sums, 0, sums_bytes, sums));
    CLF__TRY(clf__buffer_write(buffers->a, 0, (size_t)level->rows * SLICE_BYTES, a));
    CLF__TRY(clf__buffer_write(buffers->b, 0, (size_t)level->columns * SLICE_BYTES, b));
    char defines[64];
    snprintf(defines, sizeof defines, "-DPRECISION=%d %s", (int)precision, level->define);
    const struct clf__argument arguments[] = {
        CLF__BUFFER(buffers->sums),
        CLF__BUFFER(buffers->a),
        CLF__BUFFER(buffers->b),
    };
    const struct clf__launch launch = {
        .program = "probe_matrix",
        .defines = defines,
        .gpu = {.kernel = "probe_matrix_gpu", .groups = {1}, .local = {(size_t)level->lanes}},
        CLF__ARGUMENTS(arguments),
    };
    CLF__TRY(clf__launch(device, &launch));
    return clf__buffer_read(buffers->sums, 0, sums_bytes, sums);
}

static clf_status create_buffers(struct buffers *out, struct clf_device *device,
                                 const struct clf__matrix_level *level)
{
    static const char what[] = "the check of matrix instructions";
    CLF__TRY(clf__buffer_create(&out->sums, device, (size_t)(level->rows * level->columns) * sizeof(int32_t),
                                what));
    CLF__TRY(clf__buffer_create(&out->a, device, (size_t)level->rows * SLICE_BYTES, what));
    return clf__buffer_create(&out->b, device, (size_t)level->columns * SLICE_BYTES, what);
}

static clf_status check_precision(struct clf_device *device, const struct buffers *buffers,
                                  const struct clf__level *level, enum clf__precision precision)
{
    int32_t sums[MOST_TILE];
    CLF__TRY(run(device, buffers, &level->matrix, precision, sums));
    return is_right(sums, &level->matrix, precision)
               ? CLF_OK
               : clf__fail(CLF_UNSUPPORTED, "device %s: matrix instructions %s give wrong results",
                           device->label, clf__level_words[level->name]);
}

clf_status clf__probe_matrix(struct clf_device *device, const struct clf__level *level)
{
    struct buffers buffers = {NULL, NULL, NULL};
    clf_status status = create_buffers(&buffers, device, &level->matrix);
    for (int precision = CLF__PRECISION_FP16; precision <= CLF__PRECISION_INT8 && status == CLF_OK;
         precision++) {
        if (precision == CLF__PRECISION_BF16 && !level->matrix.has_bf16) {
            continue;
        }
        status = check_precision(device, &buffers, level, (enum clf__precision)precision);
    }
    clf__buffer_free(buffers.b);
    clf__buffer_free(buffers.a);
    clf__buffer_free(buffers.sums);
    return status;
}
