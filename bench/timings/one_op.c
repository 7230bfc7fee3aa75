#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "runtime/device/queue.h"
#include "runtime/program/launch.h"
#include "timings/internal.h"

static void keep_buffer(struct op_bench *bench, struct clf__tensor *tensor, int rows, int columns)
{
    *tensor = (struct clf__tensor){.rows = rows, .columns = columns, .stride = columns};
    size_t count = (size_t)rows * (size_t)columns;
    if (bench->buffer_count == OP_MOST_BUFFERS) {
        abort(); /* a case needs more than OP_MOST_BUFFERS buffers */
    }
    OP_TRY(bench, clf__buffer_create(&tensor->buffer, bench->device, count * sizeof(float), "the bench"));
    if (bench->status == CLF_OK) {
        bench->buffers[bench->buffer_count++] = tensor->buffer;
    }
}

struct clf__tensor op_floats(struct op_bench *bench, int rows, int columns)
{
    struct clf__tensor tensor;
    keep_buffer(bench, &tensor, rows, columns);
    tensor.type = CLF__F32;
    size_t count = (size_t)rows * (size_t)columns;
    float *values = NULL;
    OP_TRY(bench, clf__allocate(&values, count, sizeof *values));
    for (size_t i = 0; i < count && bench->status == CLF_OK; i++) {
        values[i] = 1e-5f * (float)(i * 7919 % 2003);
    }
    OP_TRY(bench, clf__tensor_write(tensor, values));
    clf__free(values);
    return tensor;
}

struct clf__tensor op_integers(struct op_bench *bench, int rows, int columns, const int32_t *values)
{
    struct clf__tensor tensor;
    keep_buffer(bench, &tensor, rows, columns);
    tensor.type = CLF__I32;
    OP_TRY(bench, clf__tensor_write(tensor, values));
    return tensor;
}

void op_weights(struct op_bench *bench, int outputs, int inputs, size_t bytes)
{
    size_t count = (size_t)outputs * (size_t)inputs;
    float *values = NULL;
    OP_TRY(bench, clf__allocate(&values, count, sizeof *values));
    for (size_t i = 0; i < count && bench->status == CLF_OK; i++) {
        values[i] = 0.01f * (float)(i % 17) - 0.08f;
    }
    struct clf__weight_part part = {values, outputs};
    struct clf__weight_source source = {.parts = &part,
                                        .part_count = 1,
                                        .inputs = inputs,
                                        .precision = bench->choice.precision,
                                        .what = "the bench"};
    OP_TRY(bench, clf__weight_create(&bench->weights[0], bench->device, &source));
    clf__free(values);
    bench->weight_count = bench->status == CLF_OK;
    size_t size = clf__weight_bytes(bench->device, bench->choice.precision, outputs, inputs), held = size;
    while (bench->status == CLF_OK && held < bytes && bench->weight_count < OP_MOST_WEIGHTS) {
        OP_TRY(bench,
               clf__weight_create_copy(&bench->weights[bench->weight_count], bench->weights[0], "the bench"));
        bench->weight_count += bench->status == CLF_OK;
        held += size;
    }
}

static void release(struct op_bench *bench)
{
    while (bench->buffer_count > 0) {
        clf__buffer_free(bench->buffers[--bench->buffer_count]);
    }
    while (bench->weight_count > 0) {
        clf__weight_free(bench->weights[--bench->weight_count]);
    }
    bench->status = CLF_OK;
}

/* Measures one call with the device's clock, or with the host's clock if the device reports invalid times.
 * Returns the sums over all kernels, and the name of the slowest kernel. */
static clf_status run_once(struct op_bench *bench, struct clf_kernel_time *sum, op_work *work, void *context)
{
    const struct clf_kernel_time *kernels;
    int count;
    CLF__TRY(clf_device_profile_reset(bench->device));
    double begin = clf__seconds();
    CLF__TRY(work(bench, context));
    CLF__TRY(clf__device_finish(bench->device));
    double elapsed = clf__seconds() - begin;
    CLF__TRY(clf_device_profile(&kernels, &count, bench->device));
    int64_t discarded = 0;
    *sum = (struct clf_kernel_time){.name = count > 0 ? kernels[0].name : ""};
    for (int i = 0; i < count; i++) {
        sum->seconds += kernels[i].seconds / bench->repeats;
        sum->operations += kernels[i].operations / bench->repeats;
        sum->bytes += kernels[i].bytes / bench->repeats;
        discarded += kernels[i].discarded;
    }
    if (discarded > 0) {
        sum->seconds = elapsed / bench->repeats;
    }
    return CLF_OK;
}

static clf_status measure(struct op_bench *bench, struct op_result *result, char *kernel, size_t size,
                          op_work *work, void *context)
{
    double seconds[TIMING_MOST_REPEATS], end = 0;
    struct clf_kernel_time sum;
    int count = 0;
    CLF__TRY(run_once(bench, &sum, work, context)); /* compiles the kernels */
    for (end = clf__seconds() + bench->choice.seconds;
         count < bench->choice.least || (count < TIMING_MOST_REPEATS && clf__seconds() < end); count++) {
        CLF__TRY(run_once(bench, &sum, work, context));
        seconds[count] = sum.seconds;
    }
    timing_conclude(&result->timing, seconds, count);
    result->operations = sum.operations;
    result->bytes = sum.bytes;
    snprintf(kernel, size, "%s", sum.name);
    result->kernel = kernel;
    return CLF_OK;
}

void op_end(struct op_bench *bench, const char *op, const char *shape, op_work *work, void *context)
{
    char kernel[64] = "";
    struct op_result result = {
        .op = op, .shape = shape, .by_weights = bench->weight_count > 0, .cold = bench->weight_count > 1};
    if (!bench->stopped) {
        OP_TRY(bench, measure(bench, &result, kernel, sizeof kernel, work, context));
        result.status = bench->status;
        bench->stopped = bench->report(bench->user, &result) != 0 || bench->choice.interrupted(NULL);
    }
    release(bench);
}
