/* Translates regular expressions from Ruby syntax, as Oniguruma reads it, to PCRE2. */
#ifndef CLF_TEXT_JSON_RUBY_H
#define CLF_TEXT_JSON_RUBY_H

#include "text/tokenizers/json/node.h"

/* Translates an expression to PCRE2 syntax; the caller frees *out. Returns CLF_UNSUPPORTED for features that
 * PCRE2 cannot express. */
clf_status clf__ruby_translate(char **out, const struct clf__node *node, const char *expression);

#endif
