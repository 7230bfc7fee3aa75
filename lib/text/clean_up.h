/* What transformers does to a text after its pieces are joined. */
#ifndef CLF_TEXT_CLEAN_UP_H
#define CLF_TEXT_CLEAN_UP_H

/* In place: every U+2581, with which SentencePiece marks a space, becomes a space, and white space at both
 * ends (Python's idea of it) goes. */
void clf__text_strip(char *text);

/* In place: no space before punctuation and English contractions (clean_up_tokenization_spaces). */
void clf__text_clean_up(char *text);

/* In place: every `from`, left to right, becomes a `to` that is not longer. */
void clf__text_replace(char *text, const char *from, const char *to);

#endif
