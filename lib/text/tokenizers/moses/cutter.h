/* Splits text into words as sacremoses does: MosesPunctNormalizer, then MosesTokenizer, which escapes
 * &|<>'"[] as in XML. */
#ifndef CLF_TEXT_MOSES_CUTTER_H
#define CLF_TEXT_MOSES_CUTTER_H

#include "text/tokenizers/moses/abbreviations.h"

struct clf__moses_cutter {
    struct clf__moses_sets sets;
    struct clf__moses_abbreviations abbreviations;
    struct clf__moses_rules marks, words, ends; /* applied in this order, with dots and full stops in
                                                   between */
};

/* Opens a cutter for a language code; its list of abbreviations may be in the model's folder. `also`: 0 or
 * CLF__MOSES_AS_FSMT. `warns`: log a warning if the list is missing. */
clf_status clf__moses_cutter_open(struct clf__moses_cutter *out, const char *code, unsigned also,
                                  const char *folder, int warns);
void clf__moses_cutter_close(struct clf__moses_cutter *cutter);

/* Replaces the text of `work`, which is valid UTF-8, with words separated by spaces. */
clf_status clf__moses_cut(const struct clf__moses_cutter *cutter, struct clf__moses_work *work);

#endif
