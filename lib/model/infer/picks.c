/* The logits of given ids, whether or not they are candidates. */
#include "model/infer/internal.h"

clf_status clf__session_pick_logits(const struct clf__step_results *results, const struct clf__step *step,
                                    const struct clf__step_views *views, struct clf__tensor logits,
                                    int first_row)
{
    int rows = logits.rows;
    return step->picks_each == 0
               ? CLF_OK
               : clf__top_k_ranges(clf__tensor_rows(results->pick_values, first_row, rows),
                                   clf__tensor_rows(results->pick_ids, first_row, rows),
                                   clf__tensor_rows(results->pick_statistics, first_row, rows), logits,
                                   clf__tensor_rows(views->picks, first_row, rows));
}
