/* Shared by the files that launch attention kernels. */
#ifndef CLF_OPS_ATTENTION_LAUNCH_H
#define CLF_OPS_ATTENTION_LAUNCH_H

#include "math/ops/attention.h"
#include "math/ops/operand.h"
#include "runtime/device/caps.h"

/* clang-format off */
/* Four arguments: the operands of an attention. */
#define CLF__ATTENTION_BUFFERS(o)                                                                            \
    CLF__BUFFER((o).y.buffer), CLF__BUFFER((o).q.buffer), CLF__BUFFER((o).k.buffer), CLF__BUFFER((o).v.buffer)
/* Four arguments: the ranges and the mask of a call. */
#define CLF__ATTENTION_MASKS(call)                                                                           \
    CLF__BUFFER((call)->ranges.table.buffer), CLF__BUFFER((call)->mask.hidden_keys.buffer),                  \
        CLF__BUFFER((call)->mask.additive.buffer), CLF__BUFFER((call)->mask.relative.buffer)
/* The members y, q, k and v of an argument structure. */
#define CLF__ATTENTION_PLACES(o)                                                                             \
    .y = CLF__PLACE((o).y), .q = CLF__PLACE((o).q), .k = CLF__PLACE((o).k), .v = CLF__PLACE((o).v)
/* clang-format on */

struct clf__attention_operands {
    struct clf__tensor y, q, k, v; /* as in clf__attention_forward() */
};

/* Returns whether attention_rows of cl/attention/attention_step.cl computes the call, instead of
 * cl/attention/attention.cl. */
int clf__attention_takes_rows(const struct clf__attention_call *call);

/* Returns the arguments of a kernel without splitting keys. */
struct clf__attention_sizes clf__attention_sizes_of(const struct clf__attention_operands *operands,
                                                    const struct clf__attention_call *call);

/* Returns the cost of a call. */
struct clf__cost clf__attention_call_cost(const struct clf__attention_operands *operands,
                                          const struct clf__attention_call *call);

/* Returns whether every head of a tensor starts and ends at a multiple of `unit` elements. */
int clf__attention_is_aligned(struct clf__tensor x, int width, int unit);
/* Returns whether kernels can read four elements of every head at once. */
int clf__attention_has_quads(const struct clf__heads *heads, struct clf__tensor q, struct clf__tensor k,
                             struct clf__tensor v);

/* Functions of attention_matrix.c. */

/* Returns whether cl/attention/attention_matrix.cl computes the call; it needs heads small enough for
 * registers. This depends on the model and the device, never on the batch. */
int clf__attention_takes_matrix(const struct clf__attention_call *call, const struct clf__caps *caps);
/* Returns the type to which matrix instructions round the operands, bf16 or f16. */
enum clf__type clf__attention_operand_type(const struct clf__attention_call *call);
/* Computes attention with matrix instructions. */
clf_status clf__attention_matrix_forward(const struct clf__attention_operands *operands,
                                         const struct clf__attention_call *call);

#endif
