/* Joins words into text like sacremoses' MosesDetokenizer, with the spacing of the language, and undoes the
 * escapes. */
#ifndef CLF_TEXT_MOSES_JOINER_H
#define CLF_TEXT_MOSES_JOINER_H

#include "base/status.h"
#include "text/tokenizers/moses/language.h"
#include "text/tokenizers/moses/sets.h"

/* Joins words separated by spaces; modifies `words`. The caller frees *out. */
clf_status clf__moses_join(char **out, char *words, const struct clf__moses_language *language,
                           const struct clf__moses_sets *sets);

#endif
