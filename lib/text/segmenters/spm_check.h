/* Whether a .spm file is safe to give to the SentencePiece library. */
#ifndef CLF_TEXT_SEGMENTERS_SPM_CHECK_H
#define CLF_TEXT_SEGMENTERS_SPM_CHECK_H

#include "base/status.h"
#include "text/segmenters/charsmap.h"
#include "text/segmenters/segmenter.h"

/* The longest text that SentencePiece cuts at once, normalised: its time grows with the square of a run of
 * unknown characters. */
enum { CLF__NORMALISED_BYTES = 1 << 16 };

/* The tables that the library will use, borrowed from the file's bytes. */
struct clf__spm_tables {
    struct clf__charsmap normaliser, denormaliser;
};

/* The library loads a damaged normaliser table without a word and then reads outside it while it encodes; it
 * recurses through a piece's bytes, has room for 64 symbols that begin alike, and cuts the texts of a
 * self-test while it loads, however long. So all that is proved to be in bounds first. `path` is for the
 * messages. */
clf_status clf__spm_check(struct clf__spm_tables *out, const uint8_t *bytes, size_t size, const char *path);

/* What a file says of a piece; its text is borrowed from the bytes. */
struct clf__spm_piece {
    const char *text;
    size_t size;
    float score;
    int is_user_defined, is_control;
};

/* Goes through the pieces of a file that was checked, in their order. */
typedef clf_status clf__spm_piece_function(void *user, const struct clf__spm_piece *piece);
clf_status clf__spm_pieces(const uint8_t *bytes, size_t size, clf__spm_piece_function *function, void *user);

#endif
