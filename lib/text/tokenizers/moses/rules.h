/* Regular expressions with replacements, applied to a text in order. */
#ifndef CLF_TEXT_MOSES_RULES_H
#define CLF_TEXT_MOSES_RULES_H

#include <stddef.h>

#include "base/status.h"
#include "text/tokenizers/moses/sets.h"

struct clf__moses_rule {
    unsigned where; /* language flag CLF__MOSES_... that enables the rule; 0: all languages */
    /* PCRE2 pattern. {alpha}, {space} and so on insert a set of characters in brackets. Matching must take
     * linear time, so an attempted match must not contain the start of another one. */
    const char *pattern;
    const char *replacement; /* $1 is the first group */
};

/* A compiled table of rules. */
struct clf__moses_rules {
    struct clf__moses_compiled *items; /* (count) */
    int count;
};
clf_status clf__moses_rules_open(struct clf__moses_rules *out, const struct clf__moses_rule *table,
                                 size_t rows, const struct clf__moses_language *language,
                                 const struct clf__moses_sets *sets);
void clf__moses_rules_close(struct clf__moses_rules *rules);

/* A growing text; zero-initialise. */
struct clf__moses_text {
    char *bytes; /* (room) */
    size_t size, room;
};
clf_status clf__moses_put(struct clf__moses_text *text, const char *bytes, size_t size);

/* Scratch memory for one text. */
struct clf__moses_work {
    struct clf__moses_text text, other; /* current text and result */
    void *data;                         /* match data of PCRE2 */
};
clf_status clf__moses_work_begin(struct clf__moses_work *out, const char *text, size_t size);
/* Makes the contents of `other` the current text. */
void clf__moses_work_turn(struct clf__moses_work *work);
void clf__moses_work_end(struct clf__moses_work *work);

clf_status clf__moses_rules_run(const struct clf__moses_rules *rules, struct clf__moses_work *work);

#endif
