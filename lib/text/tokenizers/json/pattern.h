/* A pattern in tokenizer.json: a string or a regular expression. Hugging Face tokenizers match expressions
 * with Oniguruma in Ruby syntax; this file uses PCRE2. */
#ifndef CLF_TEXT_JSON_PATTERN_H
#define CLF_TEXT_JSON_PATTERN_H

#include <stddef.h>

#include "text/tokenizers/json/node.h"

struct clf__pattern {
    char *literal; /* (size) or NULL */
    size_t size;
    void *code;  /* compiled PCRE2 pattern, or NULL */
    char *where; /* location of the part for error messages */
};

/* Read a pattern from a key ({"String": ...} or {"Regex": ...}), or compile an expression. Return
 * CLF_UNSUPPORTED for expressions that PCRE2 rejects or interprets differently. */
clf_status clf__pattern_read(struct clf__pattern *out, const struct clf__node *node, const char *key);
void clf__pattern_free(struct clf__pattern *pattern);

struct clf__pattern_match {
    size_t start, end;
};
/* Iterates over the matches in a text, left to right. Returns CLF_TEXT if a match exceeds PCRE2's limits. An
 * expression that scans to the end of the line at every position, such as a(?=.*), takes quadratic time. */
struct clf__pattern_search {
    const struct clf__pattern *pattern;
    void *data, *context;
    const char *text;
    size_t size, at;
};
clf_status clf__pattern_begin(struct clf__pattern_search *out, const struct clf__pattern *pattern);
void clf__pattern_text(struct clf__pattern_search *search, const char *text, size_t size);
clf_status clf__pattern_next(struct clf__pattern_search *search, struct clf__pattern_match *match,
                             int *found);
void clf__pattern_end(struct clf__pattern_search *search);

#endif
