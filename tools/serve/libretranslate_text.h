/* The changes that LibreTranslate makes to a translation, for --libretranslate-text. */
#ifndef CLF_TOOLS_SERVE_LIBRETRANSLATE_TEXT_H
#define CLF_TOOLS_SERVE_LIBRETRANSLATE_TEXT_H

#include <jansson.h>

/* Returns a new string for a translation of plain text: it ends with the punctuation mark of the source,
 * begins with the same letter case, is a single word if the source is one and the translation repeats a word,
 * and has no character references. NULL: out of memory. */
json_t *libretranslate_text(const json_t *source, const json_t *translation);

#endif
