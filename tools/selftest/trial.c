#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "selftest/selftest.h"
#include "shared/command.h"

void *trial_array(struct trial *trial, size_t count, size_t size)
{
    int capacity = (int)(sizeof trial->arrays / sizeof *trial->arrays);
    void *array = trial->array_count < capacity ? calloc(count > 0 ? count : 1, size) : NULL;
    if (array == NULL) {
        fprintf(stderr, "clformer: not enough host memory for the self-test\n");
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
    if (type == CLF__F16) {
        const float *floats = values;
        uint16_t *halves = trial_array(trial, count, sizeof *halves);
        for (size_t i = 0; i < count; i++) {
            halves[i] = clf__fp16_of(floats[i]);
        }
        values = halves;
    }
    RUN(trial, clf__tensor_write(tensor, values));
    return tensor;
}

struct clf__tensor trial_floats(struct trial *trial, int rows, int columns, const float *values)
{
    return trial_tensor(trial, CLF__F32, rows, columns, values);
}

struct clf__weight *trial_weight(struct trial *trial, int outputs, int inputs, const float *values)
{
    struct clf__weight *weight = NULL;
    struct clf__weight_part part = {values, outputs};
    struct clf__weight_source source = {&part, 1, inputs, trial->precision, "the self-test"};
    RUN(trial, clf__weight_create(&weight, trial->device, &source));
    trial->weights[trial->weight_count++] = weight;
    return weight;
}

struct clf__weight *trial_zero_weight(struct trial *trial, int outputs, int inputs)
{
    struct clf__weight *weight = NULL;
    RUN(trial, clf__weight_create_zero(&weight, trial->device, outputs, inputs, "the self-test"));
    RUN(trial, clf__weight_multiply_in(weight, trial->precision));
    trial->weights[trial->weight_count++] = weight;
    return weight;
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
    if (!(error <= trial->error)) { /* also for NaN */
        trial->error = error;
    }
}

void trial_compare_ids(struct trial *trial, struct clf__tensor actual, const int32_t *expected)
{
    size_t count = (size_t)actual.rows * (size_t)actual.columns;
    int32_t *ids = trial_array(trial, count, sizeof *ids);
    RUN(trial, clf__tensor_read(actual, ids));
    if (memcmp(ids, expected, count * sizeof *ids) != 0) {
        trial->error = INFINITY;
    }
}

void trial_release(struct trial *trial)
{
    while (trial->weight_count > 0) {
        clf__weight_free(trial->weights[--trial->weight_count]);
    }
    while (trial->array_count > 0) {
        free(trial->arrays[--trial->array_count]);
    }
    while (trial->buffer_count > 0) {
        clf__buffer_free(trial->buffers[--trial->buffer_count]);
    }
}

int check_run(struct trial *trial, struct clf_device *device, const struct check *check)
{
    *trial = (struct trial){.device = device, .precision = check->precision, .random = 1};
    check->run(trial);
    trial_release(trial);
    return trial->status == CLF_OK && trial->error <= check->tolerance; /* NaN fails */
}
