/* Splits lines into the words that BLEU and the word error rate count. */
#ifndef CLF_TRAIN_BLEU_WORDS_H
#define CLF_TRAIN_BLEU_WORDS_H

#include <clformer/bleu.h>

#include "base/status.h"

struct clf__words {
    char *text;
    const char **items; /* (count) NUL-terminated words, which point into `text` */
    int count;
};

/* Converts valid UTF-8 to lower case, like Python's str.lower(); the caller frees *out. */
clf_status clf__lower_case(char **out, const char *text);

/* Fails if a line is NULL or not UTF-8; the message contains the line number and `which`, the kind of lines.
 */
clf_status clf__words_check(const char *const *lines, int index, const char *which);

/* Splits a line of valid UTF-8. */
clf_status clf__words_cut(struct clf__words *out, const char *line, clf_bleu_words words, int lower_case);
void clf__words_free(struct clf__words *words);

#endif
