/* bench_gemm [DEVICE]: how fast matrix products are, beside the device's own peaks measured in the same run.
 * CLFORMER_FORM and CLFORMER_GEMM choose the form and the provider. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <clformer/device.h>

#include "base/memory.h"
#include "cases/gemm.h"
#include "device/buffer.h"
#include "device/caps.h"
#include "device/gemm.h"
#include "device/launch.h"

/* Decoding steps meet weights that no cache holds: products of few rows go round weights of this size. */
enum { COLD_BYTES = 1 << 28 };

static void must(clf_status status)
{
    if (status != CLF_OK) {
        fprintf(stderr, "bench_gemm: %s\n", clf_last_error());
        exit(1);
    }
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* What is measured: enqueues one round of work. */
struct work {
    struct clf_device *device;
    void (*run)(const struct work *work);
    int repeats; /* of the unit in a round */
    struct clf__weight **weights;
    struct clf__matrix x, y;
    int rows;
    struct clf__batched_matrix a, b, c;
    struct clf__batched_shape shape;
};

/* Seconds a unit, the best of many rounds: other work on the machine only adds. */
static double measure(const struct work *work)
{
    double best = 1e9;
    work->run(work);
    must(clf__device_finish(work->device));
    double end = now() + 0.4;
    for (int round = 0; round < 5 || (round < 200 && now() < end); round++) {
        double start = now();
        work->run(work);
        must(clf__device_finish(work->device));
        double seconds = (now() - start) / work->repeats;
        best = seconds < best ? seconds : best;
    }
    return best;
}

static void run_weights(const struct work *work)
{
    struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    for (int i = 0; i < work->repeats; i++) {
        must(clf__gemm_weight(work->y, work->x, work->rows, work->weights[i], &epilogue));
    }
}

static void run_batched(const struct work *work)
{
    must(clf__gemm_batched(work->c, work->a, work->b, &work->shape));
}

static struct clf__matrix make_matrix(struct clf_device *device, size_t rows, int columns)
{
    struct clf__buffer *buffer = NULL;
    size_t bytes = rows * (size_t)columns * sizeof(float);
    must(clf__buffer_create(&buffer, device, bytes, "the bench's matrix"));
    must(clf__buffer_fill(buffer, 0, bytes, 0.01f));
    return (struct clf__matrix){.buffer = buffer, .stride = columns};
}

static void free_matrix(struct clf__matrix matrix)
{
    clf__buffer_free((struct clf__buffer *)matrix.buffer);
}

static void measure_weight(struct clf_device *device, struct gemm_case shape, double operations, double bytes)
{
    enum { FEW_ROWS = 8, MOST_COPIES = 256 };
    struct clf__weight *weights[MOST_COPIES];
    size_t size = clf__weight_bytes(CLF_PRECISION_FP32, shape.outputs, shape.inputs);
    int few = shape.rows <= FEW_ROWS;
    int copies = few ? (int)(COLD_BYTES / size) + 1 : 1;
    copies = copies > MOST_COPIES ? MOST_COPIES : copies;
    float *values = NULL;
    must(clf__allocate(&values, (size_t)shape.outputs * (size_t)shape.inputs, sizeof *values));
    struct clf__weight_part part = {values, shape.outputs};
    for (int i = 0; i < copies; i++) {
        must(clf__weight_create(
            &weights[i], device,
            &(struct clf__weight_source){
                .parts = &part, .part_count = 1, .inputs = shape.inputs, .what = "the bench's weight"}));
    }
    clf__free(values);
    struct work work = {.device = device, .run = run_weights, .repeats = copies, .weights = weights};
    work.rows = shape.rows;
    work.x = make_matrix(device, (size_t)shape.rows, shape.inputs);
    work.y = make_matrix(device, (size_t)shape.rows, shape.outputs);
    double seconds = measure(&work);
    double rate = 2.0 * shape.rows * shape.outputs * (double)shape.inputs / seconds;
    printf("%5d x %5d x %4d  %9.1f us %8.1f GF/s %5.1f %% of peak", shape.rows, shape.outputs, shape.inputs,
           1e6 * seconds, 1e-9 * rate, 100 * rate / operations);
    if (few) {
        printf(" %7.1f GB/s of weights %5.1f %% of reading", 1e-9 * (double)size / seconds,
               100 * (double)size / seconds / bytes);
    }
    printf("\n");
    fflush(stdout);
    for (int i = 0; i < copies; i++) {
        clf__weight_free(weights[i]);
    }
    free_matrix(work.x);
    free_matrix(work.y);
}

static void measure_batched(struct clf_device *device, struct gemm_batched_case shape, int transpose_b,
                            double operations)
{
    size_t batches = (size_t)shape.batches;
    struct work work = {.device = device, .run = run_batched, .repeats = 1};
    work.shape = (struct clf__batched_shape){shape.batches, shape.m, shape.n, shape.k, transpose_b, 1.0f};
    work.a.matrix = make_matrix(device, batches * (size_t)shape.m, shape.k);
    work.a.batch_stride = (size_t)shape.m * (size_t)shape.k;
    work.b.matrix = make_matrix(device, batches * (size_t)(transpose_b ? shape.n : shape.k),
                                transpose_b ? shape.k : shape.n);
    work.b.batch_stride = (size_t)shape.n * (size_t)shape.k;
    work.c.matrix = make_matrix(device, batches * (size_t)shape.m, shape.n);
    work.c.batch_stride = (size_t)shape.m * (size_t)shape.n;
    double seconds = measure(&work);
    double rate = 2.0 * shape.batches * shape.m * (double)shape.n * shape.k / seconds;
    printf("%3d of %3d x %3d x %3d%s  %9.1f us %8.1f GF/s %5.1f %% of peak\n", shape.batches, shape.m,
           shape.n, shape.k, transpose_b ? " transposed" : "           ", 1e6 * seconds, 1e-9 * rate,
           100 * rate / operations);
    fflush(stdout);
    free_matrix(work.a.matrix);
    free_matrix(work.b.matrix);
    free_matrix(work.c.matrix);
}

int main(int argc, char **argv)
{
    struct clf_device *device = NULL;
    must(clf_device_open(&device, argc > 1 ? argv[1] : NULL, NULL));
    const struct clf__caps *caps = clf__device_caps(device);
    struct clf_device_peaks peaks;
    must(clf_device_measure_peaks(device, &peaks));
    double operations = peaks.fma_operations, bytes = peaks.read_bytes;
    printf("%s, %s form, %s: %.1f GF/s of fma, %.1f GB/s read\n", clf_device_describe(device)->name,
           caps->form == CLF_FORM_GPU ? "GPU" : "CPU", caps->gemm == CLF_GEMM_CLBLAST ? "CLBlast" : "native",
           1e-9 * operations, 1e-9 * bytes);
    for (int i = 0; i < gemm_speed_case_count; i++) {
        measure_weight(device, gemm_speed_cases[i], operations, bytes);
    }
    for (int i = 0; i < gemm_batched_speed_case_count; i++) {
        measure_batched(device, gemm_batched_speed_cases[i], 0, operations);
        measure_batched(device, gemm_batched_speed_cases[i], 1, operations);
    }
    clf_device_close(device);
    return 0;
}
