#include "math/ops/bias.h"

#include <assert.h>

#include "math/ops/chunks.h"
#include "math/ops/operand.h"
#include "runtime/device/caps.h"

enum { CHUNK_ROWS = 32, CPU_COLUMNS = 1024, GPU_COLUMNS = 4 * CLF__GROUP };

size_t clf__bias_backward_scratch(int rows, int columns)
{
    return (size_t)clf__chunks(rows, CHUNK_ROWS).count * (size_t)columns;
}

clf_status clf__bias_backward(struct clf__tensor dbias, struct clf__tensor dy, float scale,
                              struct clf__tensor scratch)
{
    assert(dbias.columns == dy.columns &&
           (size_t)scratch.columns >= clf__bias_backward_scratch(dy.rows, dy.columns));
    if (dy.rows <= 0) {
        return CLF_OK;
    }
    struct clf_device *device = clf__buffer_device(dbias.buffer);
    struct clf__chunks chunks = clf__chunks(dy.rows, CHUNK_ROWS);
    const struct clf__argument arguments[] = {CLF__VECTOR(scratch), CLF__OPERAND(dy), CLF__INT(dy.rows),
                                              CLF__INT(dy.columns), CLF__INT(chunks.rows)};
    double numbers = (double)dy.rows * dy.columns;
    struct clf__launch launch = {
        .program = "bias",
        .cpu = CLF__GRID("bias_backward_cpu", (size_t)((dy.columns - 1) / CPU_COLUMNS + 1),
                         (size_t)chunks.count),
        .gpu = CLF__GRID("bias_backward_gpu", (size_t)((dy.columns - 1) / GPU_COLUMNS + 1),
                         (size_t)chunks.count),
        CLF__ARGUMENTS(arguments),
        .cost = {.operations = numbers,
                 .bytes = sizeof(float) * (numbers + (double)chunks.count * dy.columns)},
    };
    CLF__TRY(clf__launch(device, &launch));
    return clf__chunks_add(dbias, clf__tensor_packed(scratch, chunks.count, dy.columns), scale);
}
