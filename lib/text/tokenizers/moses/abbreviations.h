/* Full stops at word ends, and Moses' lists of abbreviations (nonbreaking_prefix.de), which keep their full
 * stops. The lists are LGPL-licensed, so they are not distributed here but read from where they are
 * installed. */
#ifndef CLF_TEXT_MOSES_ABBREVIATIONS_H
#define CLF_TEXT_MOSES_ABBREVIATIONS_H

#include "text/tokenizers/moses/rules.h"
#include "text/tokenizers/vocabulary.h"

struct clf__moses_abbreviations {
    struct clf__vocabulary always,
        numeric; /* `numeric`: abbreviations that apply only before a number; size 0: none */
};

/* Opens the list of a language, or the English list if Moses has none, from the model's folder or
 * $CLFORMER_ABBREVIATIONS. Without a list there are no abbreviations; a warning is logged if `warns` is set.
 */
clf_status clf__moses_abbreviations_open(struct clf__moses_abbreviations *out, const char *folder,
                                         const struct clf__moses_language *language, int warns);
void clf__moses_abbreviations_close(struct clf__moses_abbreviations *abbreviations);

/* Inserts a space before the full stop of each word, except abbreviations and words before a lower-case
 * word. */
clf_status clf__moses_part_full_stops(struct clf__moses_work *work,
                                      const struct clf__moses_abbreviations *abbreviations,
                                      const struct clf__moses_sets *sets);

#endif
