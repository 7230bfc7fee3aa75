/* Attention problems for the tests: random operands, masks and ragged ranges, on the host and on a device. */
#ifndef CLF_TESTS_SUPPORT_ATTENTION_PROBLEM_H
#define CLF_TESTS_SUPPORT_ATTENTION_PROBLEM_H

#include "ops/attention.h"
#include "reference/attention.h"
#include "support/support.h"

enum { MOST_SEQUENCES = 8 };

/* How to make one. */
struct attention_shape {
    int heads, key_width, value_width;
    int sequences;
    int queries[MOST_SEQUENCES], keys[MOST_SEQUENCES];
    int causal, hidden, additive, relative; /* relative: the reach, 0 for none */
    int few_queries;
    int column_views; /* q, k and v are columns of wider matrices */
    float dropout;
    enum clf__type key_type; /* of keys and values: F32, or F16, for which they are rounded */
};

/* The next of the masks' combinations 1 .. 15, 16 at the end; where tests are small each alone, then all. */
int support_next_masks(int masks);

struct attention_problem {
    struct attention_shape shape;
    struct reference_attention reference;
    int query_rows, key_rows;
    const float *q, *k, *v; /* packed */
};

/* Freed by support_free_all(), as all below. `hidden` hides every key of the first sequence; `additive`
 * blinds every fifth row of its matrix. */
struct attention_problem support_attention_problem(const struct attention_shape *shape, uint64_t seed);

/* The values on a device, as a tensor of its own or (`views`) as columns 3 .. of a wider one full of NaN;
 * values NULL: NaN. */
struct clf__tensor support_attention_operand(struct clf_device *device, int views, int rows, int columns,
                                             const float *values);

/* Everything of a problem but the operands, on a device; without scratch and maps, with partials. */
struct clf__attention_call support_attention_call(struct clf_device *device,
                                                  const struct attention_problem *problem);

/* Its keys on a device, of its type. */
struct clf__tensor support_attention_keys(struct clf_device *device, const struct attention_problem *problem);

/* The output for a problem. */
float *support_attention_run(struct clf_device *device, const struct attention_problem *problem,
                             const struct clf__attention_call *call);

#endif
