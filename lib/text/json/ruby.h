/* Regular expressions in the syntax of Ruby, as Oniguruma reads them, written for PCRE2. */
#ifndef CLF_TEXT_JSON_RUBY_H
#define CLF_TEXT_JSON_RUBY_H

#include "text/json/node.h"

/* What an expression is in PCRE2's syntax; the caller frees *out. What cannot be said there is
 * CLF_UNSUPPORTED. */
clf_status clf__ruby_translate(char **out, const struct clf__node *node, const char *expression);

#endif
