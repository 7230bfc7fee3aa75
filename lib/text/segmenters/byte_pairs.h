/* Byte-level byte-pair encoding (Sennrich et al. 2016, section 3.2; Radford et al. 2019, section 2.2):
 * merges.txt, and how it joins the bytes of a word. */
#ifndef CLF_TEXT_SEGMENTERS_BYTE_PAIRS_H
#define CLF_TEXT_SEGMENTERS_BYTE_PAIRS_H

#include "text/segmenters/merges.h"
#include "text/segmenters/segmenter.h"
#include "text/vocabulary.h"

struct clf__byte_pairs {
    struct clf__vocabulary
        symbols; /* first one for each byte, as printable characters; then what merges make */
    struct clf__merges merges;
};

/* Reads merges.txt: a pair a line, those to merge first at the top. */
clf_status clf__byte_pairs_read(struct clf__byte_pairs *out, const char *path);
void clf__byte_pairs_free(struct clf__byte_pairs *pairs);

/* The pieces of a word of `size` bytes: the pair of the lowest rank is merged first, the leftmost where there
 * are several. */
clf_status clf__byte_pairs_cut(const struct clf__byte_pairs *pairs, struct clf__merge_work *work,
                               const char *word, size_t size, clf__piece_function *function, void *user);

/* The printable character of a byte, and its length of 1 or 2. */
int clf__byte_pairs_character(char out[2], int byte);
/* The byte that a printable character at *text stands for; moves *text behind it. -1: it stands for none. */
int clf__byte_pairs_byte(const char **text);

#endif
