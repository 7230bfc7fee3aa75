#include "math/gemm/backend.h"
#include "runtime/device/caps.h"

/* CPU variants: the maximum number of rows that share one pass over a panel, and the minimum, even if
 * packed rows are large. */
enum { MOST_ROWS = CLF__GROUP_ROWS, LEAST_ROWS = 32 };

size_t clf__cpu_rows_per_group(size_t rows, size_t row_bytes, size_t column_groups,
                               const struct clf__caps *caps)
{
    const int *tuned = caps->tuning.values;
    size_t groups_wanted = (size_t)tuned[CLF__TUNABLE_CPU_GROUPS] * caps->compute_units;
    size_t wanted = clf__ceil_divide(rows, clf__ceil_divide(groups_wanted, column_groups));
    /* The packed rows should stay in the second-level cache during the passes over all panels. */
    size_t bytes = (size_t)tuned[CLF__TUNABLE_CPU_OPERAND] << 10;
    size_t most = bytes / (row_bytes > 0 ? row_bytes : 1);
    most = most < LEAST_ROWS ? LEAST_ROWS : most > MOST_ROWS ? MOST_ROWS : most;
    wanted = wanted < most ? wanted : most;
    size_t block_rows = (size_t)caps->level->block_rows;
    size_t blocks = clf__ceil_divide(rows, block_rows);
    size_t groups = clf__ceil_divide(rows, clf__ceil_divide(wanted, block_rows) * block_rows);
    return clf__ceil_divide(blocks, groups) * block_rows;
}
