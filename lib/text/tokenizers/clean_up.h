/* White space, and the cleanup that transformers applies to joined text. */
#ifndef CLF_TEXT_CLEAN_UP_H
#define CLF_TEXT_CLEAN_UP_H

#include <stddef.h>

/* Returns the size in bytes of the white space character (Python's str.isspace()) at `text`, or 0. */
size_t clf__text_space(const char *text);
/* clf__text_space() for a text of at least one byte that need not be NUL-terminated. */
size_t clf__text_space_in(const char *text, size_t size);
/* Removes trailing white space in place. */
void clf__text_strip_end(char *text);

/* Replaces every U+2581, SentencePiece's space mark, with a space and strips white space at both ends, in
 * place. */
void clf__text_strip(char *text);

/* Removes spaces before punctuation and English contractions in place (clean_up_tokenization_spaces). */
void clf__text_clean_up(char *text);

/* Replaces every occurrence of `from` with `to`, left to right, in place. `to` must not be longer than
 * `from`. */
void clf__text_replace(char *text, const char *from, const char *to);

/* Applies the cleanup of the WordPiece decoder, which has an additional rule. */
void clf__text_clean_up_token(char *text);

#endif
