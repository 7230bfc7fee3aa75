#include "open/speed.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/memory.h"
#include "math/gemm/gemm.h"
#include "open/kept.h"
#include "runtime/device/buffer.h"
#include "runtime/device/device.h"
#include "runtime/device/queue.h"
#include "runtime/tuning/device_key.h"

enum { ROWS = 256, SIZE = 512 };

clf_status clf__speed_read(double *rate, const struct clf_device_info *info)
{
    char *folder = NULL, *key = NULL, *text = NULL, *path = NULL;
    *rate = 0.0;
    clf_status status = clf__environment_cache_folder(&folder);
    if (status == CLF_FILE) {
        return CLF_OK; /* there is no cache folder */
    }
    if (status == CLF_OK) {
        status = clf__device_key(&key, info);
    }
    if (status == CLF_OK) {
        status = clf__kept_read(&text, &path, folder, "speed", key);
    }
    if (status == CLF_OK && text != NULL) {
        double kept = strtod(text, NULL);
        *rate = kept > 0.0 ? kept : 0.0;
    }
    clf__free(text);
    clf__free(path);
    clf__free(key);
    clf__free(folder);
    return status;
}

static clf_status keep(double rate, const struct clf_device_info *info)
{
    char *folder = NULL, *key = NULL, text[32];
    snprintf(text, sizeof text, "%.6g\n", rate);
    clf_status status = clf__environment_cache_folder(&folder);
    if (status == CLF_OK) {
        status = clf__device_key(&key, info);
    }
    if (status == CLF_OK) {
        status = clf__kept_write(folder, "speed", key, text);
    }
    clf__free(key);
    clf__free(folder);
    return status;
}

/* Returns the highest rate of several GEMMs, because other load on the machine can only add time. */
static clf_status run(double *rate, struct clf_device *device, const struct clf__weight *weight,
                      const struct clf__buffer *x, const struct clf__buffer *y)
{
    const struct clf__epilogue epilogue = CLF__EPILOGUE_NONE;
    double best = 0.0, end = 0.0;
    for (int i = 0; i < 4 || (i < 1000 && clf__seconds() < end); i++) {
        double begin = clf__seconds();
        CLF__TRY(clf__gemm_weight((struct clf__matrix){.buffer = y, .stride = SIZE},
                                  (struct clf__matrix){.buffer = x, .stride = SIZE}, ROWS, weight,
                                  &epilogue));
        CLF__TRY(clf__device_finish(device));
        double seconds = clf__seconds() - begin;
        end = i == 0 ? clf__seconds() + 0.1 : end; /* the first GEMM includes compilation */
        best = i == 1 || (i > 1 && seconds < best) ? seconds : best;
    }
    *rate = 2.0 * ROWS * SIZE * SIZE / best;
    return CLF_OK;
}

static clf_status measure(double *rate, struct clf_device *device, struct clf__weight **weight,
                          struct clf__buffer **x, struct clf__buffer **y)
{
    const size_t bytes = ROWS * SIZE * sizeof(float);
    float *values = NULL;
    CLF__TRY(clf__allocate(&values, (size_t)SIZE * SIZE, sizeof *values));
    const struct clf__weight_part part = {values, SIZE};
    const struct clf__weight_source source = {
        .parts = &part, .part_count = 1, .inputs = SIZE, .what = "the weight of a measurement"};
    clf_status status = clf__weight_create(weight, device, &source);
    clf__free(values);
    CLF__TRY(status);
    CLF__TRY(clf__buffer_create(x, device, bytes, "the operand of a measurement"));
    CLF__TRY(clf__buffer_create(y, device, bytes, "the product of a measurement"));
    CLF__TRY(clf__buffer_fill(*x, 0, bytes, 1.0f));
    return run(rate, device, *weight, *x, *y);
}

clf_status clf__speed_measure(double *rate, struct clf_device *device)
{
    struct clf__weight *weight = NULL;
    struct clf__buffer *x = NULL, *y = NULL;
    *rate = 0.0;
    clf_status status = measure(rate, device, &weight, &x, &y);
    clf__weight_free(weight);
    clf__buffer_free(x);
    clf__buffer_free(y);
    CLF__TRY(status);
    if (keep(*rate, device->info) != CLF_OK) {
        clf__log(CLF_LOG_DEBUG, "device %s: its measured speed is not saved: %s", device->label,
                 clf_last_error());
    }
    return CLF_OK;
}
