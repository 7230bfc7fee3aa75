/* Groups lines into batches under a token budget. */
#ifndef CLF_TEXT_BATCH_H
#define CLF_TEXT_BATCH_H

#include "base/status.h"

/* Fills `order` with the indices of non-empty lines, longest first, equal lengths in input order, and sets
 * `count`. */
clf_status clf__lines_sort(int *order, int *count, const int *lengths, int lines);

/* Batches of a window of lines: batch b holds lines order[first[b]] .. order[first[b + 1] - 1]. */
struct clf__batches {
    int *order; /* (lines) longest first, equal lengths in input order */
    int *first; /* (count + 1) */
    int count;
};

/* Plans batches that together contain every non-empty line exactly once. A batch holds at most max_lines
 * lines and max_tokens tokens, or a single longer line. */
clf_status clf__batches_plan(struct clf__batches *out, const int *lengths, int lines, int max_tokens,
                             int max_lines);
void clf__batches_free(struct clf__batches *batches);

#endif
