#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "selftest/selftest.h"
#include "shared/command.h"

void *trial_array(struct trial *trial, size_t count, size_t size)
{
    int capacity = (int)(sizeof trial->arrays / sizeof *trial->arrays);
    void *array = trial->array_count < capacity ? calloc(count > 0 ? count : 1, size) : NULL;
    if (array == NULL) {
        fprintf(stderr, "clformer: no memory left for the self-test\n");
        exit(EXIT_FAILED);
    }
    trial->arrays[trial->array_count++] = array;
    return array;
}

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t next_random(struct trial *trial)
{
    uint64_t z = (trial->random += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

float *trial_uniform(struct trial *trial, size_t count, float scale)
{
    float *values = trial_array(trial, count, sizeof *values);
    for (size_t i = 0; i < count; i++) {
        values[i] = scale * ((float)(next_random(trial) >> 40) / (float)(1 << 23) - 1.0f);
    }
    return values;
}

int trial_integer(struct trial *trial, int bound)
{
    return (int)(next_random(trial) % (uint64_t)bound);
}

struct clf__tensor trial_tensor(struct trial *trial, enum clf__type type, int rows, int columns,
                                const void *values)
{
    struct clf__tensor tensor = {.type = type, .rows = rows, .columns = columns, .stride = columns};
    size_t count = (size_t)rows * (size_t)columns;
    RUN(trial, clf__buffer_create(&tensor.buffer, trial->device, count * sizeof(float), "the self-test"));
    if (trial->status != CLF_OK) {
        return tensor;
    }
    trial->buffers[trial->buffer_count++] = tensor.buffer;
    if (values == NULL) {
        float *poison = trial_array(trial, count, sizeof *poison);
        for (size_t i = 0; i < count; i++) {
            poison[i] = NAN;
        }
        values = poison;
    }
    RUN(trial, clf__tensor_write(tensor, values));
    return tensor;
}

void trial_compare(struct trial *trial, struct clf__tensor actual, const double *expected)
{
    size_t count = (size_t)actual.rows * (size_t)actual.columns;
    float *values = trial_array(trial, count, sizeof *values);
    RUN(trial, clf__tensor_read(actual, values));
    double difference = 0, norm = 0;
    for (size_t i = 0; i < count; i++) {
        double d = (double)values[i] - expected[i];
        difference += d * d;
        norm += expected[i] * expected[i];
    }
    double error = sqrt(difference) / (norm > 0 ? sqrt(norm) : 1);
    if (!(error <= trial->error)) { /* NaN too */
        trial->error = error;
    }
}

void trial_release(struct trial *trial)
{
    while (trial->array_count > 0) {
        free(trial->arrays[--trial->array_count]);
    }
    while (trial->buffer_count > 0) {
        clf__buffer_free(trial->buffers[--trial->buffer_count]);
    }
}
