/* What the files of the self-test share: memory, tensors and the comparison of one check.
 *
 * The self-test proves the library's kernels, not its interface, so it calls lib/'s own functions, as `bench`
 * and `tune` do. The references in double are those of the tests (bench/reference). */
#ifndef CLF_TOOLS_SELFTEST_H
#define CLF_TOOLS_SELFTEST_H

#include <clformer/device.h>

#include "tensor/tensor.h"

/* One check while it runs. The first failing call ends it: see RUN(). */
struct trial {
    struct clf_device *device;
    clf_precision precision; /* that the check is of */
    clf_status status;
    double error; /* the largest relative error so far */
    uint64_t random;
    void *arrays[64];
    struct clf__buffer *buffers[64];
    struct clf__weight *weights[4];
    int array_count, buffer_count, weight_count;
};

/* Calls the library unless something failed before. */
#define RUN(trial, expression)                                                                               \
    do {                                                                                                     \
        if ((trial)->status == CLF_OK) {                                                                     \
            (trial)->status = (expression);                                                                  \
        }                                                                                                    \
    } while (0)

/* All of these are freed by trial_release(). */

/* Zeroed host memory. The process ends where there is none. */
void *trial_array(struct trial *trial, size_t count, size_t size);
/* Deterministic numbers in [-scale, scale), and whole ones in [0, bound). */
float *trial_uniform(struct trial *trial, size_t count, float scale);
int trial_integer(struct trial *trial, int bound);
/* A tensor on the device with these values, or full of NaN where NULL. */
struct clf__tensor trial_tensor(struct trial *trial, enum clf__type type, int rows, int columns,
                                const void *values);
struct clf__tensor trial_floats(struct trial *trial, int rows, int columns, const float *values);
/* A weight of trial->precision with these values; NULL after a failure. */
struct clf__weight *trial_weight(struct trial *trial, int outputs, int inputs, const float *values);
/* One of zeros that training changes and multiplies by in trial->precision. */
struct clf__weight *trial_zero_weight(struct trial *trial, int outputs, int inputs);
/* Takes the relative error ||actual - expected|| / ||expected|| into account; NaN is the largest. */
void trial_compare(struct trial *trial, struct clf__tensor actual, const double *expected);
/* Whether a tensor of I32 holds exactly these; the error is infinite where it does not. */
void trial_compare_ids(struct trial *trial, struct clf__tensor actual, const int32_t *expected);
void trial_release(struct trial *trial);

/* What a check depends on beside the form. USES_PRECISION: weights that are not fp32, which are the native
 * kernels' whoever serves fp32. */
enum { USES_GEMM = 1, USES_ATTENTION = 2, USES_PRECISION = 4 };

struct check {
    const char *name;
    int uses;
    clf_precision precision; /* of its weights */
    double tolerance;
    void (*run)(struct trial *trial);
};
/* Runs a check from the beginning, and frees what it made; returns whether it passed. */
int check_run(struct trial *trial, struct clf_device *device, const struct check *check);

/* Each ends with a check without a name. */
extern const struct check selftest_row_checks[];
extern const struct check selftest_product_checks[];
extern const struct check selftest_layer_checks[];
extern const struct check selftest_gradient_checks[];

#endif
