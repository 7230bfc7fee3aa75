/* Declarations shared by the files of the self-test: memory, tensors and comparisons for one check. The
 * self-test calls internal functions of the library, as do `bench` and `tune`. Its references in double
 * precision (bench/reference) are shared with the tests. */
#ifndef CLF_TOOLS_SELFTEST_H
#define CLF_TOOLS_SELFTEST_H

#include <clformer/device.h>

#include "math/tensor/tensor.h"

/* State of a running check. The first failing call ends the check: see RUN(). */
struct trial {
    struct clf_device *device;
    enum clf__precision precision; /* precision of the weights of the check */
    clf_status status;
    double error; /* the largest relative error so far */
    uint64_t random;
    void *arrays[64];
    struct clf__buffer *buffers[64];
    struct clf__weight *weights[4];
    int array_count, buffer_count, weight_count;
};

/* Calls the library unless an earlier call has failed. */
#define RUN(trial, expression)                                                                               \
    do {                                                                                                     \
        if ((trial)->status == CLF_OK) {                                                                     \
            (trial)->status = (expression);                                                                  \
        }                                                                                                    \
    } while (0)

/* trial_release() frees the results of the following functions. */

/* Allocates zeroed host memory; exits if out of memory. */
void *trial_array(struct trial *trial, size_t count, size_t size);
/* Generate deterministic numbers in [-scale, scale), and integers in [0, bound). */
float *trial_uniform(struct trial *trial, size_t count, float scale);
int trial_integer(struct trial *trial, int bound);
/* Creates a device tensor with these values, or filled with NaN if NULL. */
struct clf__tensor trial_tensor(struct trial *trial, enum clf__type type, int rows, int columns,
                                const void *values);
struct clf__tensor trial_floats(struct trial *trial, int rows, int columns, const float *values);
/* Creates a weight in trial->precision with these values; NULL after a failure. */
struct clf__weight *trial_weight(struct trial *trial, int outputs, int inputs, const float *values);
/* Creates a zero weight for training, with GEMM in trial->precision. */
struct clf__weight *trial_zero_weight(struct trial *trial, int outputs, int inputs);
/* Updates the largest relative error with ||actual - expected|| / ||expected||; NaN counts as the largest
 * error. */
void trial_compare(struct trial *trial, struct clf__tensor actual, const double *expected);
/* Compares a tensor of I32; any difference is an infinite error. */
void trial_compare_ids(struct trial *trial, struct clf__tensor actual, const int32_t *expected);
void trial_release(struct trial *trial);

/* Settings that a check depends on in addition to the kernel variant. USES_PRECISION: weights other than
 * fp32, which always use native kernels. */
enum { USES_GEMM = 1, USES_ATTENTION = 2, USES_PRECISION = 4 };

struct check {
    const char *name;
    int uses;
    enum clf__precision precision; /* precision of the weights */
    double tolerance;
    void (*run)(struct trial *trial);
};
/* Runs a check and frees its resources; returns 1 if it passed. */
int check_run(struct trial *trial, struct clf_device *device, const struct check *check);

/* Each list ends with a check without a name. */
extern const struct check selftest_row_checks[];
extern const struct check selftest_product_checks[];
extern const struct check selftest_layer_checks[];
extern const struct check selftest_gradient_checks[];

#endif
