#include <limits.h>

#include "base/minmax.h"
#include "model/infer/internal.h"

/* Returns the table length for sequences of this length; the session starts with CLF__FIRST_POSITIONS. */
static int round_positions(int length)
{
    int rounded = CLF__FIRST_POSITIONS;
    while (rounded < length && rounded <= INT_MAX / 2) {
        rounded *= 2;
    }
    return length <= CLF__FIRST_POSITIONS ? 1 : clf__max_int(rounded, length);
}

clf_status clf__session_ensure_positions(struct clf__session *session, int source_rows, int target_rows)
{
    return clf__max_int(source_rows, target_rows) <= CLF__FIRST_POSITIONS
               ? CLF_OK
               : clf__transformer_ensure_positions(session->transformer, round_positions(source_rows),
                                                   round_positions(target_rows));
}
