/* Attention problems for tests: random operands, masks and ragged ranges, on the host and on a device. */
#ifndef CLF_TESTS_SUPPORT_ATTENTION_PROBLEM_H
#define CLF_TESTS_SUPPORT_ATTENTION_PROBLEM_H

#include "math/ops/attention.h"
#include "reference/attention.h"
#include "support/support.h"

enum { MOST_SEQUENCES = 8 };

/* The shape and options of a problem. */
struct attention_shape {
    int heads, key_width, value_width;
    int sequences;
    int queries[MOST_SEQUENCES], keys[MOST_SEQUENCES];
    int causal, hidden, additive, relative; /* relative: maximum distance, 0 for none */
    int few_queries;
    int column_views; /* q, k and v are columns of wider matrices */
    float dropout;
    enum clf__type key_type; /* F32, or F16: keys and values are rounded to half precision */
};

/* Returns the combination of masks after `masks`, or 16 after the last one. In the short tier, only single
 * masks and all four together are used. */
int support_next_masks(int masks);

struct attention_problem {
    struct attention_shape shape;
    struct reference_attention reference;
    int query_rows, key_rows;
    const float *q, *k, *v; /* contiguous */
};

/* Creates a problem; support_free_all() frees it and the results of the functions below. `hidden` masks every
 * key of the first sequence, and `additive` masks every fifth row of the additive matrix. */
struct attention_problem support_attention_problem(const struct attention_shape *shape, uint64_t seed);

/* Copies values to a device, or fills the tensor with NaN if `values` is NULL. With `views`, the tensor
 * starts at column 3 of a wider tensor, whose other columns are NaN. */
struct clf__tensor support_attention_operand(struct clf_device *device, int views, int rows, int columns,
                                             const float *values);

/* Returns the arguments of an attention call for a problem, with memory for partial sums, but without scratch
 * memory and maps. */
struct clf__attention_call support_attention_call(struct clf_device *device,
                                                  const struct attention_problem *problem);

/* Copies the keys to a device, in key_type. */
struct clf__tensor support_attention_keys(struct clf_device *device, const struct attention_problem *problem);

/* Runs attention with the operands of the problem and returns the output. */
float *support_attention_run(struct clf_device *device, const struct attention_problem *problem,
                             const struct clf__attention_call *call);

#endif
