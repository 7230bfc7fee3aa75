/* Passes tensors and dropouts to kernels. */
#ifndef CLF_OPS_OPERAND_H
#define CLF_OPS_OPERAND_H

#include "math/ops/arguments.h"
#include "math/ops/dropout.h"
#include "math/tensor/tensor.h"
#include "runtime/program/launch.h"

/* clang-format off */
/* Three arguments: buffer, offset, stride. */
#define CLF__OPERAND(t) CLF__VECTOR(t), CLF__INT((t).stride)
/* Two arguments: buffer, offset. */
#define CLF__VECTOR(t)  CLF__BUFFER((t).buffer), CLF__INT((int32_t)(t).offset)
/* A member of an argument structure: offset, stride. */
#define CLF__PLACE(t)   { (int)(t).offset, (t).stride }
/* Six arguments: DROPOUT_ARGUMENTS of cl/include/philox.cl. */
#define CLF__DROPOUT(d)                                                                                      \
    CLF__INT((int32_t)(uint32_t)((double)(d).rate * 4294967296.0)), CLF__FLOAT(1.0f / (1.0f - (d).rate)),    \
        CLF__INT((int32_t)(uint32_t)(d).seed), CLF__INT((int32_t)(uint32_t)((d).seed >> 32)),                \
        CLF__INT((int32_t)(d).step), CLF__INT((int32_t)(d).site)
/* clang-format on */

/* Returns the number of work-groups for kernels that loop over `tasks` tasks: below 65536, because PoCL
 * recompiles a kernel for larger grids. */
static inline size_t clf__groups(size_t tasks)
{
    return tasks < 32768 ? tasks : 32768;
}

#endif
