/* Cutting text without SentencePiece. */
#ifndef CLF_TEXT_SPLIT_H
#define CLF_TEXT_SPLIT_H

#include <stddef.h>

#include "base/status.h"

/* Called with each piece in turn; a failure ends the cutting and is its result. */
typedef clf_status clf__piece_function(void *user, const char *piece, size_t length);

/* The words between white space; NUL bytes count as such. */
clf_status clf__split_words(const char *text, size_t size, clf__piece_function *function, void *user);

/* The characters of valid UTF-8; between words, where white space was, the delimiter. */
clf_status clf__split_characters(const char *text, size_t size, const char *delimiter,
                                 clf__piece_function *function, void *user);

#endif
