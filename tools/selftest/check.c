#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "selftest/selftest.h"
#include "shared/command.h"

void *bench_array(struct bench *bench, size_t count, size_t size)
{
    int capacity = (int)(sizeof bench->arrays / sizeof *bench->arrays);
    void *array = bench->array_count < capacity ? calloc(count > 0 ? count : 1, size) : NULL;
    if (array == NULL) {
        fprintf(stderr, "clformer: no memory left for the self-test\n");
        exit(EXIT_FAILED);
    }
    bench->arrays[bench->array_count++] = array;
    return array;
}

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t next_random(struct bench *bench)
{
    uint64_t z = (bench->random += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

float *bench_uniform(struct bench *bench, size_t count, float scale)
{
    float *values = bench_array(bench, count, sizeof *values);
    for (size_t i = 0; i < count; i++) {
        values[i] = scale * ((float)(next_random(bench) >> 40) / (float)(1 << 23) - 1.0f);
    }
    return values;
}

int bench_integer(struct bench *bench, int bound)
{
    return (int)(next_random(bench) % (uint64_t)bound);
}

struct clf__tensor bench_tensor(struct bench *bench, enum clf__type type, int rows, int columns,
                                const void *values)
{
    struct clf__tensor tensor = {.type = type, .rows = rows, .columns = columns, .stride = columns};
    size_t count = (size_t)rows * (size_t)columns;
    RUN(bench, clf__buffer_create(&tensor.buffer, bench->device, count * sizeof(float), "the self-test"));
    if (bench->status != CLF_OK) {
        return tensor;
    }
    bench->buffers[bench->buffer_count++] = tensor.buffer;
    if (values == NULL) {
        float *poison = bench_array(bench, count, sizeof *poison);
        for (size_t i = 0; i < count; i++) {
            poison[i] = NAN;
        }
        values = poison;
    }
    RUN(bench, clf__tensor_write(tensor, values));
    return tensor;
}

void bench_compare(struct bench *bench, struct clf__tensor actual, const double *expected)
{
    size_t count = (size_t)actual.rows * (size_t)actual.columns;
    float *values = bench_array(bench, count, sizeof *values);
    RUN(bench, clf__tensor_read(actual, values));
    double difference = 0, norm = 0;
    for (size_t i = 0; i < count; i++) {
        double d = (double)values[i] - expected[i];
        difference += d * d;
        norm += expected[i] * expected[i];
    }
    double error = sqrt(difference) / (norm > 0 ? sqrt(norm) : 1);
    if (!(error <= bench->error)) { /* NaN too */
        bench->error = error;
    }
}

void bench_release(struct bench *bench)
{
    while (bench->array_count > 0) {
        free(bench->arrays[--bench->array_count]);
    }
    while (bench->buffer_count > 0) {
        clf__buffer_free(bench->buffers[--bench->buffer_count]);
    }
}
