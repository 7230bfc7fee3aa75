/* Words to text as sacremoses joins them: its MosesDetokenizer, which puts spaces where its language has them
 * and undoes what is escaped. */
#ifndef CLF_TEXT_MOSES_JOINER_H
#define CLF_TEXT_MOSES_JOINER_H

#include "base/status.h"
#include "text/moses/language.h"
#include "text/moses/sets.h"

/* The text of words with a space between, which change; the caller frees *out. */
clf_status clf__moses_join(char **out, char *words, const struct clf__moses_language *language,
                           const struct clf__moses_sets *sets);

#endif
