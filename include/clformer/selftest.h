/* Proving the kernels on the user's own device. */
#ifndef CLFORMER_SELFTEST_H
#define CLFORMER_SELFTEST_H

#include <clformer/device.h>
#include <clformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One check's outcome. */
struct clf_selftest_report {
    const char *name; /* "softmax", static */
    const char *form; /* "cpu" or "gpu", static */
    double error;     /* relative to the reference in double precision */
    double tolerance;
    clf_status status; /* CLF_OK where the kernel ran */
};

/**
 * Runs every op in the device's form against a reference in double precision.
 *
 * @param device   an opened device.
 * @param report   called after each check; error > tolerance or a status other than CLF_OK is a failed one.
 * @param user     passed to report.
 * @param failures receives the number of failed checks.
 */
clf_status clf_selftest(struct clf_device *device,
                        void (*report)(void *user, const struct clf_selftest_report *result), void *user,
                        int *failures);

#ifdef __cplusplus
}
#endif
#endif
