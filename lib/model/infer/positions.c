#include <limits.h>

#include "base/minmax.h"
#include "model/infer/internal.h"

int clf__grow_length(int length, int needed, int limit)
{
    while (length < needed && length < limit) {
        length = length > limit / 2 ? limit : 2 * length;
    }
    return length;
}

/* Rounds a table length up: tables start with CLF__FIRST_POSITIONS and double. */
static int table_length(int length)
{
    return length <= CLF__FIRST_POSITIONS ? 1 : clf__grow_length(CLF__FIRST_POSITIONS, length, INT_MAX);
}

clf_status clf__session_ensure_positions(struct clf__session *session, int source_rows, int target_rows)
{
    return clf__max_int(source_rows, target_rows) <= CLF__FIRST_POSITIONS
               ? CLF_OK
               : clf__transformer_ensure_positions(session->transformer, table_length(source_rows),
                                                   table_length(target_rows));
}
