/* The peak rates of a device, for reports. */
#ifndef CLF_TOOLS_PEAKS_H
#define CLF_TOOLS_PEAKS_H

#include <jansson.h>

#include <clformer/clformer.h>

enum { PEAK_FMA, PEAK_INT8, PEAK_BF16, PEAK_FP16, PEAK_READ, PEAK_KINDS };

struct peak_kind {
    const char *key;   /* in JSON */
    const char *label; /* "fp32 FMA" */
    const char *unit;  /* "GFLOP/s" for billions per second */
    size_t offset;     /* offset of the rate in struct clf_device_peaks */
};

extern const struct peak_kind peak_kinds[PEAK_KINDS];

double peak_rate(const struct clf_device_peaks *peaks, int kind);
/* Returns the kind that limits GEMM in a precision, whether or not the device has it. */
int peak_kind_of(clf_precision precision);
/* Returns the operations per second that limit GEMM in a precision: those of FMA on a device without
 * instructions for the precision. */
double peak_operations(const struct clf_device_peaks *peaks, clf_precision precision);
/* All rates by their keys; NULL if out of memory. */
json_t *peaks_object(const struct clf_device_peaks *peaks);

#endif
