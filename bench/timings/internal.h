/* What the files of this folder share: one op while it is timed. */
#ifndef CLF_BENCH_TIMINGS_INTERNAL_H
#define CLF_BENCH_TIMINGS_INTERNAL_H

#include "tensor/tensor.h"
#include "timings/ops.h"

enum { OP_MOST_BUFFERS = 16, OP_MOST_WEIGHTS = 256 };

struct op_bench {
    struct clf_device *device;
    struct op_choice choice;
    op_report *report;
    void *user;
    int stopped;
    /* Of the case at hand, released with op_end(). The first failing call is kept in status. */
    clf_status status;
    struct clf__buffer *buffers[OP_MOST_BUFFERS];
    int buffer_count;
    struct clf__weight *weights[OP_MOST_WEIGHTS];
    int weight_count;
    int repeats; /* of the op in one call of its work */
};

/* Calls the library unless something of the case failed before. */
#define OP_TRY(bench, expression)                                                                            \
    do {                                                                                                     \
        if ((bench)->status == CLF_OK) {                                                                     \
            (bench)->status = (expression);                                                                  \
        }                                                                                                    \
    } while (0)

/* A tensor of small numbers, all kinds of them, or of these integers. */
struct clf__tensor op_floats(struct op_bench *bench, int rows, int columns);
struct clf__tensor op_integers(struct op_bench *bench, int rows, int columns, const int32_t *values);
/* A weight (outputs, inputs) in the bench's precision; copies of it until they take `bytes`. */
void op_weights(struct op_bench *bench, int outputs, int inputs, size_t bytes);

/* Enqueues the op bench->repeats times. */
typedef clf_status op_work(struct op_bench *bench, void *context);

/* Times the work that was prepared, reports it or what failed, and releases the case. */
void op_end(struct op_bench *bench, const char *op, const char *shape, op_work *work, void *context);

/* The cases of each kind. */
void op_products(struct op_bench *bench);
void op_attentions(struct op_bench *bench);
void op_rows(struct op_bench *bench);

#endif
