/* A pattern of tokenizer.json: a string, or a regular expression. Hugging Face's tokenizers match expressions
 * with Oniguruma, in the syntax of Ruby; PCRE2 matches them here. */
#ifndef CLF_TEXT_JSON_PATTERN_H
#define CLF_TEXT_JSON_PATTERN_H

#include <stddef.h>

#include "text/json/node.h"

struct clf__pattern {
    char *literal; /* (size) or NULL */
    size_t size;
    void *code;  /* PCRE2's, or NULL */
    char *where; /* the part, for the messages */
};

/* Reads {"String": ...} or {"Regex": ...} at a key, or compiles the text of an expression. One that PCRE2
 * does not know, or that means something else to it, is CLF_UNSUPPORTED. */
clf_status clf__pattern_read(struct clf__pattern *out, const struct clf__node *node, const char *key);
void clf__pattern_free(struct clf__pattern *pattern);

struct clf__pattern_match {
    size_t start, end;
};
/* Goes through the matches of a text, from the left. A match that takes too long is CLF_TEXT; but an
 * expression that looks ahead to the end of the line at every place, such as a(?=.*), takes time by the
 * square of it. */
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
