/* Byte-level byte-pair encoding (Sennrich et al. 2016, section 3.2; Radford et al. 2019, section 2.2):
 * merges.txt, and how it joins the bytes of a word. */
#ifndef CLF_TEXT_SEGMENTERS_BYTE_PAIRS_H
#define CLF_TEXT_SEGMENTERS_BYTE_PAIRS_H

#include "text/segmenters/segmenter.h"
#include "text/vocabulary.h"

/* Two symbols that become one. */
struct clf__merge {
    uint64_t pair; /* left << 32 | right; all ones: an empty slot */
    int32_t rank, result;
};

struct clf__byte_pairs {
    struct clf__vocabulary
        symbols;              /* first one for each byte, as printable characters; then what merges make */
    struct clf__merge *slots; /* a hash table with open addressing */
    uint32_t slot_count;      /* a power of two */
};

/* What a word needs while it is cut; zeroed at first, and used for one word after the other. */
struct clf__byte_pairs_work {
    struct clf__byte_pairs_link *links; /* (capacity) */
    struct clf__byte_pairs_step *heap;  /* (heap_capacity) */
    int capacity, heap_capacity;
};
void clf__byte_pairs_work_free(struct clf__byte_pairs_work *work);

/* Reads merges.txt: a pair a line, those to merge first at the top. */
clf_status clf__byte_pairs_read(struct clf__byte_pairs *out, const char *path);
void clf__byte_pairs_free(struct clf__byte_pairs *pairs);

/* The pieces of a word of `size` bytes: the pair of the lowest rank is merged first, the leftmost where there
 * are several. */
clf_status clf__byte_pairs_cut(const struct clf__byte_pairs *pairs, struct clf__byte_pairs_work *work,
                               const char *word, size_t size, clf__piece_function *function, void *user);

/* The byte that a printable character at *text stands for; moves *text behind it. -1: it stands for none. */
int clf__byte_pairs_byte(const char **text);

#endif
