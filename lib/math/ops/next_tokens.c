#include "math/ops/next_tokens.h"

#include <assert.h>

#include "math/ops/operand.h"
#include "runtime/device/caps.h"

clf_status clf__next_tokens(struct clf__tensor tokens, struct clf__tensor positions,
                            struct clf__tensor chosen, struct clf__tensor from, int pad, int pad_position)
{
    int rows = tokens.columns;
    assert(positions.columns == rows && from.columns == rows);
    if (rows == 0) {
        return CLF_OK;
    }
    const struct clf__argument arguments[] = {
        CLF__VECTOR(tokens), CLF__VECTOR(positions), CLF__OPERAND(chosen), CLF__VECTOR(from),
        CLF__INT(rows),      CLF__INT(chosen.rows),  CLF__INT(pad),        CLF__INT(pad_position),
    };
    const struct clf__launch launch = {
        .program = "next_tokens",
        .cpu = CLF__GRID("next_tokens_cpu", 1),
        .gpu = CLF__GRID("next_tokens_gpu", ((size_t)rows + CLF__GROUP - 1) / CLF__GROUP),
        CLF__ARGUMENTS(arguments),
        .cost = {.bytes = 3.0 * rows * sizeof(int32_t)},
    };
    return clf__launch(clf__buffer_device(tokens.buffer), &launch);
}
