/* A C interface to SentencePiece's C++ library. The library allocates its own memory. */
#ifndef CLF_TEXT_SEGMENTERS_SENTENCEPIECE_LIBRARY_H
#define CLF_TEXT_SEGMENTERS_SENTENCEPIECE_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "text/tokenizers/segmenters/segmenter.h"
#include "text/tokenizers/token_list.h"

struct clf__sentencepiece;

/* Loads the bytes of a .spm file; `path` is for error messages. Silences the library's log for the whole
   process. */
clf_status clf__sentencepiece_load(struct clf__sentencepiece **out, const void *bytes, size_t size,
                                   const char *path);
/* clf__sentencepiece_load() for a file. */
clf_status clf__sentencepiece_read(struct clf__sentencepiece **out, const char *path);
void clf__sentencepiece_free(struct clf__sentencepiece *model);

/* Iterates over the tokens that can occur in text, except the unknown token. */
clf_status clf__sentencepiece_pieces(const struct clf__sentencepiece *model, clf__token_function *function,
                                     void *user);
/* Adds all tokens except the first `skipped`, in order of id. Marks the tokens that transformers finds before
 * segmentation: control tokens, which are special, and user-defined ones. */
clf_status clf__sentencepiece_add_pieces(const struct clf__sentencepiece *model,
                                         struct clf__token_list *pieces, int skipped);

/* Sets *fit to the size of a prefix of a text, up to a character boundary, that the model can segment at
 * once: SentencePiece takes quadratic time on runs of unknown characters. Returns CLF_TEXT, naming the file,
 * if the size is too small to continue. */
clf_status clf__sentencepiece_fit(const struct clf__sentencepiece *model, size_t *fit, const char *text,
                                  size_t size);

/* Segments text into tokens. */
clf_status clf__sentencepiece_encode(const struct clf__sentencepiece *model, const char *text, size_t size,
                                     clf__token_function *function, void *user);

/* Joins tokens into text, which is valid UTF-8 without NUL bytes; the caller frees *text. */
clf_status clf__sentencepiece_decode(const struct clf__sentencepiece *model, char **text,
                                     const char *const *pieces, int count);

#endif
