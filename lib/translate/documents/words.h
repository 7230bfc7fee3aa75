/* Word boundaries and widths of text, for splitting text and breaking lines. */
#ifndef CLF_DOCUMENTS_WORDS_H
#define CLF_DOCUMENTS_WORDS_H

#include <stddef.h>

#include "base/status.h"

/* Finds the positions between two words of a text, after the white space between them (Unicode Standard
 * Annex 14), except after a hyphen or a slash.
 *
 * @param out receives (count) positions in order; the caller frees them with clf__free(). */
clf_status clf__words_breaks(size_t **out, int *count, const char *text, size_t size);

/* Returns whether a space belongs between two texts: 0 if both are in a script without spaces there. */
int clf__words_need_space(const char *text, size_t size, const char *next, size_t next_size);

/* Returns whether a position is within a word: between letters, digits or combining marks. In a script
 * without spaces, letters are not joined. */
int clf__words_are_joined(const char *text, size_t size, size_t at);

/* Returns the number of columns of a text: 2 for a wide character, 0 for a combining mark. */
size_t clf__words_columns(const char *text, size_t size);

#endif
