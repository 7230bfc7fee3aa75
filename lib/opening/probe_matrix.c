#include "opening/probe_matrix.h"

#include <stdio.h>
#include <string.h>

#include "base/half.h"
#include "base/log.h"
#include "device/buffer.h"
#include "device/device.h"
#include "program/launch.h"
#include "tuning/matrix_layout.h"

/* The largest tile of an instruction, and the inputs of a slice of int8. */
enum { ROWS = 16, COLUMNS = 8, INPUTS = 64, LANES = 32, SLICE_BYTES = 16 * CLF__SLICE_WORDS };

struct candidate {
    const char *define;
    int instructions;
    clf_instructions name;
};

/* Small whole numbers, no two rows or columns alike, so that an exchange of lanes or registers shows. */
static int number_of_a(int row, int k)
{
    return (row * 7 + k * 5 + row * k) % 11 - 5;
}

static int number_of_b(int column, int k)
{
    return (column * 3 + k * 7 + column * k * 2) % 13 - 6;
}

static void fill_row(char *bytes, clf_precision precision, int (*number)(int, int), int row)
{
    for (int k = 0; k < CLF__MATRIX_INPUTS(precision); k++) {
        int value = number(row, k);
        uint16_t half = precision == CLF_PRECISION_FP16 ? clf__fp16_of((float)value) : clf__bf16_of((float)value);
        if (precision == CLF_PRECISION_INT8) {
            bytes[k] = (char)value;
        } else {
            memcpy(bytes + 2 * k, &half, sizeof half);
        }
    }
}

static int is_right(const int32_t *sums, clf_precision precision)
{
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        int expected = 0;
        for (int k = 0; k < CLF__MATRIX_INPUTS(precision); k++) {
            expected += number_of_a(i / COLUMNS, k) * number_of_b(i % COLUMNS, k);
        }
        float sum;
        memcpy(&sum, sums + i, sizeof sum);
        if (precision == CLF_PRECISION_INT8 ? sums[i] != expected : sum != (float)expected) {
            return 0;
        }
    }
    return 1;
}

static clf_status run(struct clf_device *device, struct clf__buffer *const buffers[3],
                      const struct candidate *candidate, clf_precision precision, int32_t *sums)
{
    char a[ROWS * SLICE_BYTES], b[COLUMNS * SLICE_BYTES];
    for (int row = 0; row < ROWS; row++) {
        fill_row(a + row * SLICE_BYTES, precision, number_of_a, row);
    }
    for (int column = 0; column < COLUMNS; column++) {
        fill_row(b + column * SLICE_BYTES, precision, number_of_b, column);
    }
    memset(sums, 0x7f, ROWS * COLUMNS * sizeof *sums);
    CLF__TRY(clf__buffer_write(buffers[0], 0, ROWS * COLUMNS * sizeof *sums, sums));
    CLF__TRY(clf__buffer_write(buffers[1], 0, sizeof a, a));
    CLF__TRY(clf__buffer_write(buffers[2], 0, sizeof b, b));
    char defines[64];
    snprintf(defines, sizeof defines, "-DPRECISION=%d %s", (int)precision, candidate->define);
    const struct clf__argument arguments[] = {
        CLF__BUFFER(buffers[0]),
        CLF__BUFFER(buffers[1]),
        CLF__BUFFER(buffers[2]),
    };
    const struct clf__launch launch = {
        .program = "probe_matrix",
        .defines = defines,
        .gpu = {.kernel = "probe_matrix_gpu", .groups = {1}, .local = {LANES}},
        CLF__ARGUMENTS(arguments),
    };
    CLF__TRY(clf__launch(device, &launch));
    return clf__buffer_read(buffers[0], 0, ROWS * COLUMNS * sizeof *sums, sums);
}

/* Whether the candidate's products are right in every precision; what the compiler or the device refuses is
 * not there. */
static int has_candidate(struct clf_device *device, struct clf__buffer *const buffers[3],
                         const struct candidate *candidate)
{
    for (int precision = CLF_PRECISION_FP16; precision <= CLF_PRECISION_INT8; precision++) {
        int32_t sums[ROWS * COLUMNS];
        clf_status status = run(device, buffers, candidate, (clf_precision)precision, sums);
        if (status != CLF_OK || !is_right(sums, (clf_precision)precision)) {
            clf__log(CLF_LOG_INFO, "device %s: matrix instructions %s are not used: %s", device->label,
                     clf__level_words[candidate->name],
                     status != CLF_OK ? clf_last_error() : "their products are wrong");
            return 0;
        }
    }
    return 1;
}

clf_status clf__probe_matrix(int *instructions, struct clf_device *device,
                             const struct clf__listed_device *listed)
{
    static const size_t bytes[3] = {ROWS * COLUMNS * sizeof(int32_t), ROWS * SLICE_BYTES,
                                    COLUMNS * SLICE_BYTES};
    const struct candidate candidates[] = {
        {"-DMATRIX_NV80", listed->has_mma ? CLF__MATRIX_NV80 : 0, CLF_INSTRUCTIONS_NV80},
        {"-DMATRIX_EMULATED", CLF__MATRIX_EMULATED, CLF_INSTRUCTIONS_EMULATED},
    };
    clf_instructions asked = device->caps.instructions;
    *instructions = 0;
    for (size_t c = 0; c < sizeof candidates / sizeof *candidates; c++) {
        const struct candidate *candidate = &candidates[c];
        int is_meant = asked == candidate->name ||
                       (asked == CLF_INSTRUCTIONS_AUTO && candidate->name != CLF_INSTRUCTIONS_EMULATED);
        if (device->caps.form != CLF_FORM_GPU || candidate->instructions == 0 || !is_meant) {
            continue;
        }
        struct clf__buffer *buffers[3] = {NULL, NULL, NULL};
        clf_status status = CLF_OK;
        for (int i = 0; i < 3 && status == CLF_OK; i++) {
            status = clf__buffer_create(&buffers[i], device, bytes[i], "the check of matrix instructions");
        }
        if (status == CLF_OK && has_candidate(device, buffers, candidate)) {
            *instructions |= candidate->instructions;
        }
        for (int i = 0; i < 3; i++) {
            clf__buffer_free(buffers[i]);
        }
        CLF__TRY(status);
    }
    return CLF_OK;
}
