/* The words of a text, as the units that markup surrounds. */
#ifndef CLF_TEXT_MARKUP_WORDS_H
#define CLF_TEXT_MARKUP_WORDS_H

#include <stddef.h>

#include "base/status.h"

struct clf__markup_word {
    size_t start, end;
};

/* Splits UTF-8 text at white space, around punctuation marks other than those inside a word, and around each
 * character of scripts without spaces. The caller frees *out with clf__free(). */
clf_status clf__markup_words(struct clf__markup_word **out, int *count, const char *text, size_t size);

#endif
