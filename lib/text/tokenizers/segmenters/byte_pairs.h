/* Byte-level byte-pair encoding (Sennrich et al. 2016, section 3.2; Radford et al. 2019, section 2.2) with
 * the merges of merges.txt. */
#ifndef CLF_TEXT_SEGMENTERS_BYTE_PAIRS_H
#define CLF_TEXT_SEGMENTERS_BYTE_PAIRS_H

#include "text/tokenizers/segmenters/merges.h"
#include "text/tokenizers/segmenters/segmenter.h"
#include "text/tokenizers/vocabulary.h"

struct clf__byte_pairs {
    struct clf__vocabulary
        symbols; /* one symbol per byte, as printable characters, then the results of merges */
    struct clf__merges merges;
};

/* Reads merges.txt: one pair per line, in order of rank. */
clf_status clf__byte_pairs_read(struct clf__byte_pairs *out, const char *path);
void clf__byte_pairs_free(struct clf__byte_pairs *pairs);

/* Segments a word of `size` bytes by merging the pair with the lowest rank first, the leftmost on ties. */
clf_status clf__byte_pairs_cut(const struct clf__byte_pairs *pairs, struct clf__merge_work *work,
                               const char *word, size_t size, clf__token_function *function, void *user);

/* Writes the printable character of a byte; returns its size, 1 or 2. */
int clf__byte_pairs_character(char out[2], int byte);
/* Decodes the printable character at *text and advances *text; returns -1 if the character encodes no byte.
 */
int clf__byte_pairs_byte(const char **text);

#endif
