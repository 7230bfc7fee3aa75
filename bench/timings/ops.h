/* Measures the speed of each op on a device with the shapes of Transformer-base (bench/cases, shared with the
 * tests). Times come from kernel events, operations and bytes from the launches. */
#ifndef CLF_BENCH_TIMINGS_OPS_H
#define CLF_BENCH_TIMINGS_OPS_H

#include "base/precision.h"

#include "timings/timing.h"

/* One op at one size. */
struct op_result {
    const char *op;     /* "matrix product" */
    const char *shape;  /* "2048 x 512 x 512" */
    const char *kernel; /* the kernel that took longest */
    clf_status
        status; /* if not CLF_OK, clf_last_error() describes the failure and the fields below are unset */
    struct timing timing;     /* per execution of the op */
    double operations, bytes; /* per call */
    int by_weights;           /* 1: the op has weights, in the requested precision */
    int cold; /* 1: the weights were read from several copies in turn, too large for any cache */
};

/* Receives each result as soon as it is measured; its pointers are valid during the call. A non-zero return
 * value stops the measurement. */
typedef int op_report(void *user, const struct op_result *result);

enum op_group { OP_ALL, OP_GEMM, OP_ATTENTION };

/* Sizes chosen by the caller: rows, outputs and inputs of a GEMM; sequences, tokens per sequence, heads and
 * head width of attention. */
enum { OP_SHAPE_SIZES = 4 };
struct op_shape {
    int sizes[OP_SHAPE_SIZES];
};

/* The ops to time. */
struct op_choice {
    enum clf__precision precision; /* precision of the weights */
    enum op_group group;
    const struct op_shape *shapes; /* (shape_count) sizes to time instead of the group's own cases */
    int shape_count;
    int least;                       /* minimum repeats of a case */
    double seconds;                  /* time limit for further repeats */
    timing_interrupted *interrupted; /* polled after each case */
};

/* Times the cases on a device opened with options.profile. A failing case is reported, and the next case is
 * measured. Returns CLF_INTERRUPTED if the user or `report` stops the measurement. */
clf_status ops_measure(struct clf_device *device, const struct op_choice *choice, op_report *report,
                       void *user);

#endif
