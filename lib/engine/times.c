#include "engine/times.h"

void clf__times_add(struct clf_stage_times *sum, const struct clf_stage_times *times)
{
    sum->tokenize += times->tokenize;
    sum->encode += times->encode;
    sum->decode += times->decode;
    sum->search += times->search;
    sum->detokenize += times->detokenize;
    sum->lines += times->lines;
    sum->source_tokens += times->source_tokens;
    sum->target_tokens += times->target_tokens;
    sum->steps += times->steps;
    sum->step_rows += times->step_rows;
    sum->batches += times->batches;
    sum->proposed += times->proposed;
    sum->accepted += times->accepted;
}
