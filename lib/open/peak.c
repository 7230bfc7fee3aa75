#include "open/peak.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "runtime/device/buffer.h"
#include "runtime/device/device.h"
#include "runtime/device/lock.h"
#include "runtime/device/queue.h"
#include "runtime/program/launch.h"
#include "runtime/tuning/matrix_layout.h"

/* The memory to read exceeds all caches. Each launch reads one of READ_SLICES slices, in groups of
 * READ_COUNT floats, because other load on the machine affects only some short launches but every long
 * one. */
enum { READ_BYTES = 1 << 28, READ_SLICES = 4, READ_COUNT = 1 << 13 };

/* A kernel of cl/device/peak.cl. */
struct measurement {
    struct clf_device *device;
    struct clf__launch launch;
    struct clf__argument arguments[4];
    double work;       /* operations or bytes of one launch */
    int32_t step, end; /* added to the last argument after each launch, until it reaches end; 0: constant */
};

static clf_status run(double *seconds, struct measurement *measurement)
{
    measurement->launch.arguments = measurement->arguments;
    double start = clf__seconds();
    CLF__TRY(clf__launch(measurement->device, &measurement->launch));
    CLF__TRY(clf__device_finish(measurement->device));
    *seconds = clf__seconds() - start;
    if (measurement->step > 0) {
        int32_t *last = &measurement->arguments[measurement->launch.argument_count - 1].integer;
        *last = *last + measurement->step < measurement->end ? *last + measurement->step : 0;
    }
    return CLF_OK;
}

/* Returns the highest rate of many runs, because other load on the machine can only add time. */
static clf_status best_rate(double *rate, struct measurement *measurement)
{
    double best = 0.0, seconds, end = clf__seconds() + 0.3;
    for (int round = 0; round < 3 || clf__seconds() < end; round++) {
        CLF__TRY(run(&seconds, measurement));
        best = round == 0 || seconds < best ? seconds : best;
    }
    *rate = measurement->work / best;
    return CLF_OK;
}

/* The inputs and outputs of the kernels. */
struct operands {
    struct clf__buffer *sums, *x;
    size_t groups;      /* groups of the arithmetic kernels */
    size_t read_groups; /* groups of the read kernel, limited by the size of x */
};

/* Measures an arithmetic kernel with enough iterations for a launch of 2 ms. operations: per group and
 * iteration. */
static clf_status measure_launch(double *rate, struct clf_device *device, const struct operands *operands,
                                 const struct clf__launch *launch, double operations)
{
    struct measurement measurement = {
        .device = device,
        .launch = *launch,
        .arguments = {CLF__BUFFER(operands->sums), CLF__INT(1), CLF__FLOAT(0.5f)},
    };
    measurement.launch.argument_count = 3;
    double seconds = 0.0;
    CLF__TRY(run(&seconds, &measurement)); /* some drivers compile in the first launch */
    for (int rounds = 16;; rounds *= 4) {
        measurement.arguments[1].integer = rounds;
        CLF__TRY(run(&seconds, &measurement));
        if (seconds > 0.002 || rounds >= 1 << 24) {
            measurement.work = operations * rounds * (double)operands->groups;
            return best_rate(rate, &measurement);
        }
    }
}

static clf_status measure_arithmetic(double *rate, struct clf_device *device, const struct operands *operands,
                                     const char *kernel, double operations)
{
    const struct clf__launch launch = {.program = "peak",
                                       .cpu = CLF__GRID(kernel, operands->groups),
                                       .gpu = CLF__GRID(kernel, operands->groups)};
    return measure_launch(rate, device, operands, &launch, operations);
}

/* Raises *rate to the rate of the matrix instructions of the device's level, if that is higher. */
static clf_status measure_matrix(double *rate, struct clf_device *device, const struct operands *operands,
                                 enum clf__precision precision)
{
    const struct clf__matrix_level *level = &device->caps.level->matrix;
    int tiles = level->has_few_registers ? 4 : 8; /* as in cl/device/peak_matrix.cl */
    char defines[64];
    double own;
    snprintf(defines, sizeof defines, "-DPRECISION=%d", (int)precision);
    const struct clf__launch launch = {
        .program = "peak_matrix",
        .defines = defines,
        .gpu = {.kernel = "peak_matrix_gpu", .groups = {operands->groups}, .local = {(size_t)level->lanes}}};
    CLF__TRY(measure_launch(&own, device, operands, &launch,
                            2.0 * tiles * level->rows * level->columns * CLF__MATRIX_INPUTS(precision)));
    *rate = own > *rate ? own : *rate;
    return CLF_OK;
}

static void set_groups(struct measurement *measurement, size_t groups)
{
    measurement->launch.cpu.groups[0] = measurement->launch.gpu.groups[0] = groups;
}

/* Prepares a launch that reads x, or only a part of x if the device is so slow that caches do not matter.
 * *groups: the work-groups of the launch. */
static clf_status prepare_read(struct measurement *out, size_t *groups, struct clf_device *device,
                               const struct operands *operands)
{
    *out = (struct measurement){
        .device = device,
        .launch = {.program = "peak",
                   .cpu = CLF__GRID("peak_read_cpu", 1),
                   .gpu = CLF__GRID("peak_read_gpu", 1),
                   .argument_count = 4},
        .arguments = {CLF__BUFFER(operands->sums), CLF__BUFFER(operands->x), CLF__INT(READ_COUNT),
                      CLF__INT(0)},
    };
    double seconds = 0.0;
    CLF__TRY(run(&seconds, out)); /* some drivers compile in the first launch */
    *groups = operands->read_groups;
    for (size_t part = 32; part < *groups; part *= 4) {
        set_groups(out, part);
        CLF__TRY(run(&seconds, out));
        if (seconds > 0.2) {
            *groups = part;
        }
    }
    set_groups(out, *groups);
    out->work = (double)*groups * READ_COUNT * sizeof(float);
    return CLF_OK;
}

static clf_status measure_read(double *rate, struct clf_device *device, const struct operands *operands)
{
    struct measurement measurement;
    size_t groups;
    CLF__TRY(prepare_read(&measurement, &groups, device, operands));
    size_t slice = groups < READ_SLICES ? groups : groups / READ_SLICES;
    set_groups(&measurement, slice);
    measurement.step = (int32_t)slice;
    measurement.end = (int32_t)(groups / slice * slice);
    measurement.work = (double)slice * READ_COUNT * sizeof(float);
    return best_rate(rate, &measurement);
}

/* Reads x repeatedly for at least least_seconds. */
static clf_status measure_long_read(double *rate, struct clf_device *device, const struct operands *operands,
                                    double least_seconds)
{
    struct measurement measurement;
    size_t groups;
    double bytes = 0.0, seconds = 0.0, one = 0.0;
    CLF__TRY(prepare_read(&measurement, &groups, device, operands));
    while (seconds < least_seconds) {
        CLF__TRY(run(&one, &measurement));
        seconds += one;
        bytes += measurement.work;
    }
    *rate = bytes / seconds;
    return CLF_OK;
}

/* The caller frees *out, even after a failure. */
static clf_status operands_create(struct operands *out, struct clf_device *device)
{
    *out = (struct operands){.groups = clf__min_size(64 * (size_t)device->caps.compute_units, 32768)};
    uint64_t most = clf__device_free_bytes(device) / 2;
    most = most < device->caps.max_buffer_bytes ? most : device->caps.max_buffer_bytes;
    most = most < READ_BYTES ? most : READ_BYTES;
    out->read_groups = (size_t)most / (READ_SLICES * READ_COUNT * sizeof(float)) * READ_SLICES;
    size_t read_bytes = out->read_groups * READ_COUNT * sizeof(float);
    size_t sums_bytes = clf__max_size(out->groups, out->read_groups) * CLF__GROUP * sizeof(float);
    CLF__TRY(clf__buffer_create(&out->sums, device, sums_bytes, "the results of the peak kernels"));
    CLF__TRY(clf__buffer_create_streamed(&out->x, device, read_bytes, "the input of the peak kernels"));
    return clf__buffer_fill(out->x, 0, read_bytes, 1.0f);
}

/* Returns the operations per iteration of the dot product kernels in cl/device/peak.cl (CPU variant): a
 * multiplication and an addition per input, in the lanes of twelve vectors, or in four 16 x 16 AMX tiles
 * with 16 groups of inputs. */
static double dot_operations(const struct clf__caps *caps, int inputs)
{
    double sums =
        caps->level->instructions & CLF__TILES ? 4.0 * 16.0 * 16.0 * 16.0 : 12.0 * caps->level->lanes;
    return 2.0 * sums * inputs;
}

static clf_status measure_peaks(struct clf_device *device, const struct operands *operands)
{
    struct clf_device_peaks *out = &device->peaks;
    int is_gpu = device->caps.variant == CLF_VARIANT_GPU;
    CLF__TRY(measure_read(&out->read_bytes, device, operands));
    const struct clf__caps *caps = &device->caps;
    CLF__TRY(measure_arithmetic(&out->fma_operations, device, operands,
                                is_gpu ? "peak_fma_gpu" : "peak_fma_cpu",
                                is_gpu ? 2.0 * 8.0 * CLF__GROUP : 2.0 * 12.0 * caps->level->lanes));
    if (is_gpu ? caps->has_integer_dot_product : caps->level->int8_bytes != CLF__INT8_FLOAT) {
        CLF__TRY(measure_arithmetic(
            &out->int8_operations, device, operands, is_gpu ? "peak_int8_gpu" : "peak_int8_cpu",
            is_gpu ? 2.0 * 8.0 * 4.0 * CLF__GROUP : dot_operations(caps, 4 / caps->level->int8_bytes)));
    }
    if (!is_gpu && caps->level->instructions & CLF__DOT_BF16) {
        CLF__TRY(measure_arithmetic(&out->bf16_operations, device, operands, "peak_bf16_cpu",
                                    dot_operations(caps, 2)));
    }
    if (caps->level->matrix.define != NULL) {
        CLF__TRY(measure_matrix(&out->fp16_operations, device, operands, CLF__PRECISION_FP16));
        if (caps->level->matrix.has_bf16) {
            CLF__TRY(measure_matrix(&out->bf16_operations, device, operands, CLF__PRECISION_BF16));
        }
        CLF__TRY(measure_matrix(&out->int8_operations, device, operands, CLF__PRECISION_INT8));
    }
    return CLF_OK;
}

/* Measures the peaks, or only the read rate if read_bytes is not NULL, without recording them in the
 * profile. */
static clf_status measure_unseen(struct clf_device *device, double *read_bytes, double least_seconds)
{
    struct operands operands;
    struct clf__profile *profile = device->profile;
    device->profile = NULL;
    clf_status status = operands_create(&operands, device);
    if (status == CLF_OK) {
        status = read_bytes ? measure_long_read(read_bytes, device, &operands, least_seconds)
                            : measure_peaks(device, &operands);
    }
    clf__buffer_free(operands.x);
    clf__buffer_free(operands.sums);
    device->profile = profile;
    return status;
}

clf_status clf_device_measure_peaks(const struct clf_device_peaks **out, struct clf_device *device)
{
    CLF__LOCK_DEVICE(device);
    device->peaks = (struct clf_device_peaks){.size = sizeof device->peaks};
    clf_status status = measure_unseen(device, NULL, 0.0);
    *out = status == CLF_OK ? &device->peaks : NULL;
    return status;
}

clf_status clf__device_measure_read(struct clf_device *device, double least_seconds, double *read_bytes)
{
    *read_bytes = 0.0;
    return measure_unseen(device, read_bytes, least_seconds);
}
