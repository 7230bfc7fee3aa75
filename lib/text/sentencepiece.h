/* SentencePiece's C++ library behind C functions. Its own memory is C++'s. */
#ifndef CLF_TEXT_SENTENCEPIECE_H
#define CLF_TEXT_SENTENCEPIECE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "text/split.h"

struct clf__sentencepiece;

/* Loads the bytes of a .spm file; `path` is for the messages. Quietens the library's log, for the process. */
clf_status clf__sentencepiece_load(struct clf__sentencepiece **out, const void *bytes, size_t size,
                                   const char *path);
void clf__sentencepiece_free(struct clf__sentencepiece *model);

/* Goes through the pieces of text: not the unknown one, nor those that are none. */
clf_status clf__sentencepiece_pieces(const struct clf__sentencepiece *model, clf__piece_function *function,
                                     void *user);

/* Cuts text into pieces. */
clf_status clf__sentencepiece_encode(const struct clf__sentencepiece *model, const char *text, size_t size,
                                     clf__piece_function *function, void *user);

/* Joins pieces to text, valid UTF-8 without NUL bytes; the caller frees *text. */
clf_status clf__sentencepiece_decode(const struct clf__sentencepiece *model, char **text,
                                     const char *const *pieces, int count);

#endif
