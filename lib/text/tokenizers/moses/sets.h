/* The character sets used in Moses' rules. sacremoses lists the characters of Perl's sets in Unicode 7, up to
 * U+FFFF and without Chinese, Japanese and Korean; this file builds the same sets from ICU properties. */
#ifndef CLF_TEXT_MOSES_SETS_H
#define CLF_TEXT_MOSES_SETS_H

#include <stddef.h>

#include "base/status.h"
#include "text/tokenizers/moses/language.h"

struct USet;

enum clf__moses_set {
    CLF__MOSES_LETTERS,
    CLF__MOSES_ALPHA, /* letters and their combining marks */
    CLF__MOSES_WORD,  /* alpha, and the scripts of the language */
    CLF__MOSES_ALNUM, /* word characters and digits, which are not separated by spaces */
    CLF__MOSES_NUMBER,
    CLF__MOSES_LOWER,
    CLF__MOSES_CURRENCY,
    CLF__MOSES_ASIAN, /* Chinese, Japanese and Korean */
    CLF__MOSES_SETS,
};

struct clf__moses_sets {
    struct USet *items[CLF__MOSES_SETS];
};
clf_status clf__moses_sets_open(struct clf__moses_sets *out, const struct clf__moses_language *language);
void clf__moses_sets_close(struct clf__moses_sets *sets);

/* Tests whether a set contains the first character of a text of at least one byte; *next is set to the start
 * of the second character. */
int clf__moses_has(const struct clf__moses_sets *sets, enum clf__moses_set set, const char *text, size_t size,
                   size_t *next);

/* Returns the name of a set in patterns, and its PCRE2 bracket contents; the caller frees *out. NULL: no such
 * set. */
const char *clf__moses_set_name(enum clf__moses_set set);
clf_status clf__moses_set_class(char **out, const struct clf__moses_sets *sets, enum clf__moses_set set);

#endif
