#include "shared/peaks.h"

#include <string.h>

#define RATE(name) offsetof(struct clf_device_peaks, name)

const struct peak_kind peak_kinds[PEAK_KINDS] = {
    [PEAK_FMA] = {"fma_operations_per_second", "fp32 FMA", "GFLOP/s", RATE(fma_operations)},
    [PEAK_INT8] = {"int8_operations_per_second", "int8 dot products", "GOP/s", RATE(int8_operations)},
    [PEAK_BF16] = {"bf16_operations_per_second", "bf16 dot products", "GFLOP/s", RATE(bf16_operations)},
    [PEAK_FP16] = {"fp16_operations_per_second", "fp16 dot products", "GFLOP/s", RATE(fp16_operations)},
    [PEAK_READ] = {"read_bytes_per_second", "reads", "GB/s", RATE(read_bytes)},
};

double peak_rate(const struct clf_device_peaks *peaks, int kind)
{
    double rate;
    memcpy(&rate, (const char *)peaks + peak_kinds[kind].offset, sizeof rate);
    return rate;
}

int peak_kind_of(clf_precision precision)
{
    return precision == CLF_PRECISION_INT8   ? PEAK_INT8
           : precision == CLF_PRECISION_BF16 ? PEAK_BF16
           : precision == CLF_PRECISION_FP16 ? PEAK_FP16
                                             : PEAK_FMA;
}

double peak_operations(const struct clf_device_peaks *peaks, clf_precision precision)
{
    double own = peak_rate(peaks, peak_kind_of(precision));
    return own > 0 ? own : peaks->fma_operations;
}

json_t *peaks_object(const struct clf_device_peaks *peaks)
{
    json_t *object = json_object();
    for (int i = 0; i < PEAK_KINDS && object != NULL; i++) {
        if (json_object_set_new(object, peak_kinds[i].key, json_real(peak_rate(peaks, i))) != 0) {
            json_decref(object);
            object = NULL;
        }
    }
    return object;
}
