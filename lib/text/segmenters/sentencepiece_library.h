/* SentencePiece's C++ library behind C functions. Its own memory is C++'s. */
#ifndef CLF_TEXT_SEGMENTERS_SENTENCEPIECE_LIBRARY_H
#define CLF_TEXT_SEGMENTERS_SENTENCEPIECE_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "text/pieces.h"
#include "text/segmenters/segmenter.h"

struct clf__sentencepiece;

/* Loads the bytes of a .spm file; `path` is for the messages. Quietens the library's log, for the process. */
clf_status clf__sentencepiece_load(struct clf__sentencepiece **out, const void *bytes, size_t size,
                                   const char *path);
/* The same of a file. */
clf_status clf__sentencepiece_read(struct clf__sentencepiece **out, const char *path);
void clf__sentencepiece_free(struct clf__sentencepiece *model);

/* Goes through the pieces of text: not the unknown one, nor those that are none. */
clf_status clf__sentencepiece_pieces(const struct clf__sentencepiece *model, clf__piece_function *function,
                                     void *user);
/* Adds all pieces but the first `skipped`, in the order of their ids. What transformers finds in a text
 * before it cuts is marked so: control pieces, which are special, and user-defined ones. */
clf_status clf__sentencepiece_add_pieces(const struct clf__sentencepiece *model, struct clf__pieces *pieces,
                                         int skipped);

/* How much of a text, cut between characters, the model normalises to so little that it can be cut at once:
 * SentencePiece's time grows with the square of a run of unknown characters. Where that is next to nothing of
 * it, CLF_TEXT, naming the file. */
clf_status clf__sentencepiece_fit(const struct clf__sentencepiece *model, size_t *fit, const char *text,
                                  size_t size);

/* Cuts text into pieces. */
clf_status clf__sentencepiece_encode(const struct clf__sentencepiece *model, const char *text, size_t size,
                                     clf__piece_function *function, void *user);

/* Joins pieces to text, valid UTF-8 without NUL bytes; the caller frees *text. */
clf_status clf__sentencepiece_decode(const struct clf__sentencepiece *model, char **text,
                                     const char *const *pieces, int count);

#endif
