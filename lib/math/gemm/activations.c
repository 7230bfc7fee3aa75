#include "math/gemm/activations.h"

#include <assert.h>
#include <limits.h>
#include <stdint.h>

#include "base/minmax.h"
#include "math/gemm/backend.h"
#include "runtime/device/buffer.h"
#include "runtime/device/device.h"
#include "runtime/program/launch.h"

enum { MOST_GROUPS = 4096 };

/* The kernels that convert activations to each precision, with the parameters (out, pitch, x, x_offset,
 * x_stride, rows, inputs). The CPU variant accepts any number of groups. The GPU variant needs one group
 * per row and, if it reduces rows, local memory of two floats per work-item as the last argument. */
struct conversion {
    const char *program, *cpu_kernel, *gpu_kernel, *defines;
    int reduces_rows;
    size_t element_bytes; /* size of an element; rows are padded to multiples of four elements */
    size_t tail_bytes;    /* extra data at the end of each row */
};

static struct conversion conversion_of(const struct clf__caps *caps, enum clf__precision precision)
{
    if (precision == CLF__PRECISION_INT8) {
        size_t element_bytes = caps->variant == CLF_VARIANT_CPU ? (size_t)caps->level->int8_bytes : 1;
        return (struct conversion){"quantize", "quantize_cpu", "quantize_gpu",    NULL,
                                   1,          element_bytes,  CLF__INT8_ROW_TAIL};
    }
    if (clf__caps_use_matrix(caps, precision)) {
        const char *defines = precision == CLF__PRECISION_FP16 ? "-DPRECISION=1" : "-DPRECISION=2";
        return (struct conversion){"round_operand",  NULL, "round_operand_gpu", defines, 0,
                                   sizeof(uint16_t), 0};
    }
    if (precision == CLF__PRECISION_BF16 && caps->level->instructions & CLF__DOT_BF16 &&
        caps->variant == CLF_VARIANT_CPU) {
        return (struct conversion){"round_bf16", "round_bf16_cpu", NULL, NULL, 0, sizeof(uint16_t), 0};
    }
    return (struct conversion){.program = NULL};
}

int clf__has_bf16_gemm(const struct clf_device *device)
{
    return device->caps.variant == CLF_VARIANT_GPU ||
           clf__activations_are_packed(device, CLF__PRECISION_BF16);
}

int clf__activations_are_packed(const struct clf_device *device, enum clf__precision precision)
{
    return conversion_of(&device->caps, precision).program != NULL;
}

static size_t pitch_of(const struct conversion *conversion, int inputs)
{
    return CLF__PACKED_PITCH((size_t)inputs, conversion->element_bytes, conversion->tail_bytes);
}

static clf_status reserve(struct clf__buffer **scratch, struct clf_device *device, size_t bytes,
                          const char *what)
{
    if (*scratch != NULL && clf__buffer_bytes(*scratch) >= bytes) {
        return CLF_OK;
    }
    /* Free the old buffer first, because both might not fit; enqueued kernels keep its memory alive. */
    clf__buffer_free(*scratch);
    *scratch = NULL;
    return clf__buffer_create_large(scratch, device, bytes, what);
}

clf_status clf__activations_reserve(struct clf_device *device, size_t bytes)
{
    return reserve(&device->packed, device, bytes, "the packed operands of GEMMs");
}

clf_status clf__transposed_reserve(struct clf_device *device, size_t bytes)
{
    return reserve(&device->transposed, device, bytes, "a transposed operand");
}

clf_status clf__gemm_reserve(struct clf_device *device, int rows, int inputs, enum clf__precision precision)
{
    struct conversion conversion = conversion_of(&device->caps, precision);
    if (conversion.program == NULL || rows < 1 || inputs < 1) {
        return CLF_OK;
    }
    return clf__activations_reserve(device, (size_t)rows * pitch_of(&conversion, inputs));
}

const struct clf__buffer *clf__gemm_scratch(const struct clf_device *device)
{
    return device->packed;
}

static clf_status convert(struct clf_device *device, const struct conversion *conversion,
                          const struct clf__buffer *out, size_t pitch, struct clf__matrix x, int rows,
                          int inputs)
{
    const struct clf__argument arguments[] = {
        CLF__BUFFER(out), CLF__INT((int)pitch), CLF__MATRIX(x),
        CLF__INT(rows),   CLF__INT(inputs),     CLF__LOCAL(2 * CLF__GROUP * sizeof(float)),
    };
    double values = (double)rows * inputs;
    struct clf__launch launch = {
        .program = conversion->program,
        .defines = conversion->defines,
        .cpu = CLF__GRID(conversion->cpu_kernel, clf__min_size((size_t)rows, MOST_GROUPS)),
        .gpu = CLF__GRID(conversion->gpu_kernel, (size_t)rows),
        .arguments = arguments,
        .argument_count = (int)(sizeof arguments / sizeof *arguments) - !conversion->reduces_rows,
        .cost = {.bytes = values * (double)(sizeof(float) + conversion->element_bytes)},
    };
    return clf__launch(device, &launch);
}

clf_status clf__activations_pack(struct clf__activations *out, struct clf_device *device,
                                 struct clf__matrix x, int rows, int inputs, enum clf__precision precision)
{
    struct conversion conversion = conversion_of(&device->caps, precision);
    size_t pitch = pitch_of(&conversion, inputs);
    if (pitch > INT_MAX) {
        return clf__fail(CLF_UNSUPPORTED, "GEMM activations: %d inputs in precision %d are not supported",
                         inputs, (int)precision);
    }
    CLF__TRY(clf__gemm_reserve(device, rows, inputs, precision));
    CLF__TRY(convert(device, &conversion, device->packed, pitch, x, rows, inputs));
    *out = (struct clf__activations){.buffer = device->packed, .pitch = (int)pitch};
    return CLF_OK;
}

clf_status clf__gemm_round(struct clf__matrix y, struct clf__matrix x, int rows, int columns)
{
    struct clf_device *device = clf__buffer_device(y.buffer);
    struct conversion conversion = conversion_of(&device->caps, y.precision);
    int is_int8 = y.precision == CLF__PRECISION_INT8;
    assert(conversion.program != NULL && y.offset == 0);
    assert(conversion.element_bytes == (is_int8 ? 1 : sizeof(uint16_t)) && (is_int8 || columns % 2 == 0));
    if (rows == 0) {
        return CLF_OK;
    }
    CLF__TRY(clf__gemm_check_matrix("rounded operand", y, 0, rows,
                                    is_int8 ? CLF__QUANTIZED_STRIDE(columns) : columns));
    CLF__TRY(clf__gemm_check_matrix("operand", x, 0, rows, columns));
    return convert(device, &conversion, y.buffer, (size_t)y.stride * sizeof(uint16_t), x, rows, columns);
}
