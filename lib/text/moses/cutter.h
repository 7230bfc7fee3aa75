/* Text to words as sacremoses cuts it: its MosesPunctNormalizer, then its MosesTokenizer, which escapes
 * &|<>'"[] as XML does. */
#ifndef CLF_TEXT_MOSES_CUTTER_H
#define CLF_TEXT_MOSES_CUTTER_H

#include "text/moses/abbreviations.h"

struct clf__moses_cutter {
    struct clf__moses_sets sets;
    struct clf__moses_abbreviations abbreviations;
    struct clf__moses_rules marks, words, ends; /* in this order, with dots and full stops between */
};

/* Opens the cutter of the language with a code. A model's folder may hold its list of abbreviations. `also`
 * is 0 or CLF__MOSES_AS_FSMT. With `warns`, the log names a list that is missing. */
clf_status clf__moses_cutter_open(struct clf__moses_cutter *out, const char *code, unsigned also,
                                  const char *folder, int warns);
void clf__moses_cutter_close(struct clf__moses_cutter *cutter);

/* The work's text, valid UTF-8, becomes words with a space between. */
clf_status clf__moses_cut(const struct clf__moses_cutter *cutter, struct clf__moses_work *work);

#endif
