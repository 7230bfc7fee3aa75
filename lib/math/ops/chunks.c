#include "math/ops/chunks.h"

#include "math/ops/operand.h"
#include "runtime/device/caps.h"

enum { MOST_CHUNKS = 256, CPU_COLUMNS = 64, GPU_COLUMNS = 8 };

struct clf__chunks clf__chunks(int rows, int least_rows)
{
    int share = (rows - 1) / MOST_CHUNKS + 1;
    struct clf__chunks chunks = {.rows = share < least_rows ? least_rows : share};
    chunks.count = rows > 0 ? (rows - 1) / chunks.rows + 1 : 0;
    return chunks;
}

clf_status clf__chunks_add(struct clf__tensor target, struct clf__tensor sums, float scale)
{
    struct clf_device *device = clf__buffer_device(target.buffer);
    const struct clf__argument arguments[] = {CLF__VECTOR(target), CLF__OPERAND(sums), CLF__INT(sums.rows),
                                              CLF__INT(target.columns), CLF__FLOAT(scale)};
    double numbers = (double)sums.rows * target.columns;
    struct clf__launch launch = {
        .program = "chunks",
        .cpu = CLF__GRID("chunks_add_cpu",
                         clf__groups(((size_t)target.columns + CPU_COLUMNS - 1) / CPU_COLUMNS)),
        .gpu = CLF__GRID("chunks_add_gpu",
                         clf__groups(((size_t)target.columns + GPU_COLUMNS - 1) / GPU_COLUMNS)),
        CLF__ARGUMENTS(arguments),
        .cost = {.operations = numbers, .bytes = sizeof(float) * (numbers + 2.0 * target.columns)},
    };
    return clf__launch(device, &launch);
}
