/* White space, and what transformers does to a text after its pieces are joined. */
#ifndef CLF_TEXT_CLEAN_UP_H
#define CLF_TEXT_CLEAN_UP_H

#include <stddef.h>

/* The bytes of the white space (Python's str.isspace()) at text, 0 where there is none. */
size_t clf__text_space(const char *text);
/* The same of a text of size bytes, 1 at least, that need not end in NUL. */
size_t clf__text_space_in(const char *text, size_t size);
/* In place: white space at the end goes. */
void clf__text_strip_end(char *text);

/* In place: every U+2581, with which SentencePiece marks a space, becomes a space, and white space at both
 * ends goes. */
void clf__text_strip(char *text);

/* In place: no space before punctuation and English contractions (clean_up_tokenization_spaces). */
void clf__text_clean_up(char *text);

/* In place: every `from`, left to right, becomes a `to` that is not longer. */
void clf__text_replace(char *text, const char *from, const char *to);

/* The rules of a decoder of WordPiece, which has one more. */
void clf__text_clean_up_piece(char *text);

#endif
