/* How fast each op is on a device, at the sizes of a Transformer-base: the cases are those of
 * the tests (bench/cases).
 *
 * The time is the device's own, from the events of its kernels; what they compute and move is what the
 * launches say of themselves. */
#ifndef CLF_BENCH_TIMINGS_OPS_H
#define CLF_BENCH_TIMINGS_OPS_H

#include <clformer/device.h>

#include "timings/timing.h"

/* One op at one size. */
struct op_result {
    const char *op;           /* "matrix product" */
    const char *shape;        /* "2048 x 512 x 512" */
    const char *kernel;       /* that took longest */
    clf_status status;        /* not CLF_OK: failed, with clf_last_error() as the reason and nothing below */
    struct timing timing;     /* of one call of the op */
    double operations, bytes; /* of one call */
    int by_weights;           /* which have the precision asked for */
    int cold;                 /* the weights went round so many that no cache held them */
};

/* Receives each result when it is there; what it points at is borrowed. Non-zero ends the work. */
typedef int op_report(void *user, const struct op_result *result);

enum op_group { OP_ALL, OP_PRODUCTS, OP_ATTENTION };

/* The sizes of an op that the caller names: of a product rows, outputs and inputs; of attention sequences,
 * tokens of each, heads and the width of a head. */
enum { OP_SHAPE_SIZES = 4 };
struct op_shape {
    int sizes[OP_SHAPE_SIZES];
};

/* The ops to time. */
struct op_choice {
    clf_precision precision; /* of the weights */
    enum op_group group;
    const struct op_shape *shapes; /* (shape_count) of the group, in place of its usual cases */
    int shape_count;
    int least;                       /* repeats of a case, */
    double seconds;                  /* and as many more as fit here */
    timing_interrupted *interrupted; /* asked after each case */
};

/* Times the cases on a device that was opened with options.profile. A case that fails is reported, and the
 * next one goes on. Returns CLF_INTERRUPTED where the user or `report` asked to stop. */
clf_status ops_measure(struct clf_device *device, const struct op_choice *choice, op_report *report,
                       void *user);

#endif
