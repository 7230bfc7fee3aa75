#include "text/batch.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/memory.h"

static int compare_keys(const void *a, const void *b)
{
    uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

clf_status clf__lines_sort(int *order, int *count, const int *lengths, int lines)
{
    uint64_t *keys = NULL;
    CLF__TRY(clf__allocate(&keys, (size_t)lines, sizeof *keys));
    *count = 0;
    for (int i = 0; i < lines; i++) {
        if (lengths[i] > 0) {
            /* The index in the low bits makes every key unique and the sort stable. */
            keys[(*count)++] = (uint64_t)(INT_MAX - lengths[i]) << 32 | (uint32_t)i;
        }
    }
    qsort(keys, (size_t)*count, sizeof *keys, compare_keys);
    for (int i = 0; i < *count; i++) {
        order[i] = (int)(uint32_t)keys[i];
    }
    clf__free(keys);
    return CLF_OK;
}

static clf_status fill(struct clf__batches *batches, const int *lengths, int lines, int max_tokens,
                       int max_lines)
{
    CLF__TRY(clf__allocate(&batches->order, (size_t)lines, sizeof *batches->order));
    CLF__TRY(clf__allocate(&batches->first, (size_t)lines + 1, sizeof *batches->first));
    int sorted;
    CLF__TRY(clf__lines_sort(batches->order, &sorted, lengths, lines));
    int64_t tokens = 0;
    int in_batch = 0;
    for (int i = 0; i < sorted; i++) {
        int length = lengths[batches->order[i]];
        if (i == 0 || in_batch == max_lines || tokens + length > max_tokens) {
            batches->first[batches->count++] = i;
            tokens = 0;
            in_batch = 0;
        }
        tokens += length;
        in_batch++;
    }
    batches->first[batches->count] = sorted;
    return CLF_OK;
}

clf_status clf__batches_plan(struct clf__batches *out, const int *lengths, int lines, int max_tokens,
                             int max_lines)
{
    *out = (struct clf__batches){0};
    if (lines < 0 || max_tokens < 1 || max_lines < 1) {
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "%d lines cannot be divided into batches of %d tokens and %d lines; use positive limits", lines,
            max_tokens, max_lines);
    }
    struct clf__batches batches = {0};
    clf_status status = fill(&batches, lengths, lines, max_tokens, max_lines);
    if (status != CLF_OK) {
        clf__batches_free(&batches);
        return status;
    }
    *out = batches;
    return CLF_OK;
}

void clf__batches_free(struct clf__batches *batches)
{
    clf__free(batches->order);
    clf__free(batches->first);
    *batches = (struct clf__batches){0};
}
