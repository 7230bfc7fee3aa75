/* Byte-pair encoding (Sennrich et al. 2016, section 3.2): pairs of symbols that become one, and a word whose
 * symbols are merged so. */
#ifndef CLF_TEXT_SEGMENTERS_MERGES_H
#define CLF_TEXT_SEGMENTERS_MERGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Two symbols that become one. */
struct clf__merge {
    uint64_t pair; /* left << 32 | right; all ones: an empty slot */
    int32_t rank, result;
};

struct clf__merges {
    struct clf__merge *slots; /* a hash table with open addressing */
    uint32_t slot_count;      /* a power of two */
    /* All places of a pair are merged before the next pair is looked for, as Sennrich's own program has it:
     * what one place becomes takes nothing from the places that follow. */
    int at_once;
};

/* Room for `count` merges; of a pair that is added twice the first stays, or with `replaces` the last. */
clf_status clf__merges_create(struct clf__merges *out, int count);
void clf__merges_add(struct clf__merges *merges, int32_t left, int32_t right, int32_t rank, int32_t result,
                     int replaces);
void clf__merges_free(struct clf__merges *merges);

/* A symbol of the word; one that was merged into the symbol before it is -1. */
struct clf__merge_link {
    int32_t symbol;
    int before, next; /* -1: none */
};

/* What a word needs while it is cut; zeroed at first, and used for one word after the other. */
struct clf__merge_work {
    struct clf__merge_link *links; /* (count) from the first on by `next` */
    struct clf__merge_step *heap;
    int count, capacity;
};
void clf__merge_work_free(struct clf__merge_work *work);

/* Begins a word of at most so many symbols, which are then added one by one. */
clf_status clf__merge_begin(struct clf__merge_work *work, size_t most);
void clf__merge_symbol(struct clf__merge_work *work, int32_t symbol);
/* The pair of the lowest rank is merged first, the leftmost place where there are several; then what is there
 * by now is looked at again, with `at_once` when no place of the pair is left. */
void clf__merge_all(const struct clf__merges *merges, struct clf__merge_work *work);

#endif
