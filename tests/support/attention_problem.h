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
    enum clf__type key_type; /* type of keys and values: F32, or F16, to which they are rounded */
};

/* Returns the next mask combination in 1 .. 15, or 16 at the end; with small tests only single masks and all
   together. */
int support_next_masks(int masks);

struct attention_problem {
    struct attention_shape shape;
    struct reference_attention reference;
    int query_rows, key_rows;
    const float *q, *k, *v; /* contiguous */
};

/* Creates a problem; like all memory below, it is freed by support_free_all(). `hidden` masks every key of
 * the first sequence; `additive` masks every fifth row of its matrix. */
struct attention_problem support_attention_problem(const struct attention_shape *shape, uint64_t seed);

/* Copies values to a device, as a separate tensor or (`views`) as columns 3 .. of a wider one filled with
 * NaN; values NULL: NaN. */
struct clf__tensor support_attention_operand(struct clf_device *device, int views, int rows, int columns,
                                             const float *values);

/* Creates the call for a problem on a device, without operands, scratch and maps, with partials. */
struct clf__attention_call support_attention_call(struct clf_device *device,
                                                  const struct attention_problem *problem);

/* Copies the keys to a device in their type. */
struct clf__tensor support_attention_keys(struct clf_device *device, const struct attention_problem *problem);

/* Returns the output for a problem. */
float *support_attention_run(struct clf_device *device, const struct attention_problem *problem,
                             const struct clf__attention_call *call);

#endif
