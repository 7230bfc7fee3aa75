/* Checks whether a .spm file is safe to load with the SentencePiece library. */
#ifndef CLF_TEXT_SEGMENTERS_SPM_CHECK_H
#define CLF_TEXT_SEGMENTERS_SPM_CHECK_H

#include "base/status.h"
#include "text/tokenizers/segmenters/charsmap.h"
#include "text/tokenizers/segmenters/segmenter.h"

/* Longest normalised text that SentencePiece segments at once, because it takes quadratic time on runs of
 * unknown characters. */
enum { CLF__NORMALISED_BYTES = 1 << 16 };

/* The tables that the library will use, borrowed from the file. */
struct clf__spm_tables {
    struct clf__charsmap normaliser, denormaliser;
};

/* Checks every limit that the library does not check: the library reads a damaged normalizer table out of
 * bounds, recurses for each byte of a token, supports 64 symbols with a common prefix, and segments self-test
 * texts of any length while loading. `path` is for error messages. */
clf_status clf__spm_check(struct clf__spm_tables *out, const uint8_t *bytes, size_t size, const char *path);

/* A token of a file; its text is borrowed from the bytes. */
struct clf__spm_piece {
    const char *text;
    size_t size;
    float score;
    int is_user_defined, is_control;
};

/* Iterates over the tokens of a checked file, in order. */
typedef clf_status clf__spm_piece_function(void *user, const struct clf__spm_piece *piece);
clf_status clf__spm_pieces(const uint8_t *bytes, size_t size, clf__spm_piece_function *function, void *user);

#endif
