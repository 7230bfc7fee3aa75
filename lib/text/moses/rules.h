/* Regular expressions and what takes their place, which a text goes through one after the other. */
#ifndef CLF_TEXT_MOSES_RULES_H
#define CLF_TEXT_MOSES_RULES_H

#include <stddef.h>

#include "base/status.h"
#include "text/moses/sets.h"

struct clf__moses_rule {
    unsigned where; /* a language does: one of CLF__MOSES_...; 0: all do */
    /* PCRE2's. {alpha}, and {space} likewise, stands for characters in brackets. It takes time by the length
     * of the text: one that begins within what it begins with would take time by the square. */
    const char *pattern;
    const char *replacement; /* $1 is the first group */
};

/* A table of rules, compiled. */
struct clf__moses_rules {
    struct clf__moses_compiled *items; /* (count) */
    int count;
};
clf_status clf__moses_rules_open(struct clf__moses_rules *out, const struct clf__moses_rule *table,
                                 size_t rows, const struct clf__moses_language *language,
                                 const struct clf__moses_sets *sets);
void clf__moses_rules_close(struct clf__moses_rules *rules);

/* A text that grows; zeroed at first. */
struct clf__moses_text {
    char *bytes; /* (room) */
    size_t size, room;
};
clf_status clf__moses_put(struct clf__moses_text *text, const char *bytes, size_t size);

/* What a text needs while it is worked on. */
struct clf__moses_work {
    struct clf__moses_text text, other; /* as it is now; what it becomes */
    void *data;                         /* PCRE2's */
};
clf_status clf__moses_work_begin(struct clf__moses_work *out, const char *text, size_t size);
/* What was put in `other` is the text now. */
void clf__moses_work_turn(struct clf__moses_work *work);
void clf__moses_work_end(struct clf__moses_work *work);

clf_status clf__moses_rules_run(const struct clf__moses_rules *rules, struct clf__moses_work *work);

#endif
