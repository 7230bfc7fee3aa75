/* The sets of characters that Moses' rules ask for. sacremoses has lists of them, made with a Perl of
 * Unicode 7, of the first 65,536 characters and without those of Chinese, Japanese and Korean; ICU makes the
 * same of their properties. */
#ifndef CLF_TEXT_MOSES_SETS_H
#define CLF_TEXT_MOSES_SETS_H

#include <stddef.h>

#include "base/status.h"
#include "text/moses/language.h"

struct USet;

enum clf__moses_set {
    CLF__MOSES_LETTERS,
    CLF__MOSES_ALPHA, /* letters, and signs below and above them */
    CLF__MOSES_WORD,  /* alpha, and the scripts of the language */
    CLF__MOSES_ALNUM, /* the same and digits: what no space is put around */
    CLF__MOSES_NUMBER,
    CLF__MOSES_LOWER,
    CLF__MOSES_CURRENCY,
    CLF__MOSES_ASIAN, /* of Chinese, Japanese and Korean */
    CLF__MOSES_SETS,
};

struct clf__moses_sets {
    struct USet *items[CLF__MOSES_SETS];
};
clf_status clf__moses_sets_open(struct clf__moses_sets *out, const struct clf__moses_language *language);
void clf__moses_sets_close(struct clf__moses_sets *sets);

/* Whether one has the first character of a text, which has a byte at least; *next is where the second one
 * begins. */
int clf__moses_has(const struct clf__moses_sets *sets, enum clf__moses_set set, const char *text, size_t size,
                   size_t *next);

/* The name of a set in patterns, and what stands in PCRE2's brackets for it; the caller frees *out. NULL:
 * there is no such set. */
const char *clf__moses_set_name(enum clf__moses_set set);
clf_status clf__moses_set_class(char **out, const struct clf__moses_sets *sets, enum clf__moses_set set);

#endif
