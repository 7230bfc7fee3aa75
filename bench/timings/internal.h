/* Declarations shared by this folder: the state while one op is timed. */
#ifndef CLF_BENCH_TIMINGS_INTERNAL_H
#define CLF_BENCH_TIMINGS_INTERNAL_H

#include "math/tensor/tensor.h"
#include "timings/ops.h"

enum { OP_MOST_BUFFERS = 16, OP_MOST_WEIGHTS = 256 };

struct op_bench {
    struct clf_device *device;
    struct op_choice choice;
    op_report *report;
    void *user;
    int stopped;
    /* Resources of the current case, released by op_end(). status is the first failure. */
    clf_status status;
    struct clf__buffer *buffers[OP_MOST_BUFFERS];
    int buffer_count;
    struct clf__weight *weights[OP_MOST_WEIGHTS];
    int weight_count;
    int repeats; /* executions of the op per timed call */
};

/* Calls the library unless the case has already failed. */
#define OP_TRY(bench, expression)                                                                            \
    do {                                                                                                     \
        if ((bench)->status == CLF_OK) {                                                                     \
            (bench)->status = (expression);                                                                  \
        }                                                                                                    \
    } while (0)

/* Make a tensor of small random numbers, or of the given integers. */
struct clf__tensor op_floats(struct op_bench *bench, int rows, int columns);
struct clf__tensor op_integers(struct op_bench *bench, int rows, int columns, const int32_t *values);
/* Makes a weight (outputs, inputs) in the benchmark's precision, in copies with a total size of `bytes`. */
void op_weights(struct op_bench *bench, int outputs, int inputs, size_t bytes);

/* Enqueues the op bench->repeats times. */
typedef clf_status op_work(struct op_bench *bench, void *context);

/* Times the prepared work, reports the result or the failure, and releases the case. */
void op_end(struct op_bench *bench, const char *op, const char *shape, op_work *work, void *context);

/* Time all cases of a kind. */
void op_gemm(struct op_bench *bench);
void op_attentions(struct op_bench *bench);
void op_rows(struct op_bench *bench);

#endif
