#include "math/ops/next_beams.h"

#include <assert.h>

#include "math/ops/operand.h"
#include "runtime/device/caps.h"

clf_status clf__next_beams(const struct clf__next_beams *next, const struct clf__previous_beams *previous,
                           struct clf__tensor choices, int pad, int pad_position)
{
    int rows = next->tokens.columns, from_rows = previous->values.rows;
    assert(next->positions.columns == rows && next->parents.columns == rows && next->scores.columns >= rows);
    assert(previous->ids.rows == from_rows && previous->statistics.rows == from_rows);
    assert(previous->scores.columns >= from_rows && previous->known.columns >= from_rows);
    if (choices.rows == 0) {
        return CLF_OK;
    }
    const struct clf__argument arguments[] = {
        CLF__VECTOR(next->tokens),
        CLF__VECTOR(next->positions),
        CLF__VECTOR(next->parents),
        CLF__VECTOR(next->scores),
        CLF__VECTOR(previous->scores),
        CLF__VECTOR(previous->known),
        CLF__OPERAND(previous->values),
        CLF__OPERAND(previous->ids),
        CLF__OPERAND(previous->statistics),
        CLF__VECTOR(choices),
        CLF__INT(choices.rows),
        CLF__INT(rows),
        CLF__INT(from_rows),
        CLF__INT(pad),
        CLF__INT(pad_position),
    };
    double candidates = (double)from_rows * previous->values.columns;
    const struct clf__launch launch = {
        .program = "next_beams",
        .cpu = CLF__GRID("next_beams_cpu", clf__groups((size_t)choices.rows)),
        .gpu = CLF__GRID("next_beams_gpu", clf__groups((size_t)choices.rows)),
        CLF__ARGUMENTS(arguments),
        .cost = {.operations = 3 * candidates, .bytes = 8 * candidates},
    };
    return clf__launch(clf__buffer_device(next->tokens.buffer), &launch);
}
