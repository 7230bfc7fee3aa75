/* Full stops at the ends of words, and Moses' lists of abbreviations (nonbreaking_prefix.de), behind which
 * they stay. The lists are under the LGPL and are not ours: they are read where somebody has them. */
#ifndef CLF_TEXT_MOSES_ABBREVIATIONS_H
#define CLF_TEXT_MOSES_ABBREVIATIONS_H

#include "text/moses/rules.h"
#include "text/vocabulary.h"

struct clf__moses_abbreviations {
    struct clf__vocabulary always, numeric; /* the second ones before a number alone; none: of size 0 */
};

/* The list of a language, or English's where Moses has none of it: in the model's folder, or in
 * $CLFORMER_ABBREVIATIONS. Where neither has it there are no abbreviations, and with `warns` the log says so.
 */
clf_status clf__moses_abbreviations_open(struct clf__moses_abbreviations *out, const char *folder,
                                         const struct clf__moses_language *language, int warns);
void clf__moses_abbreviations_close(struct clf__moses_abbreviations *abbreviations);

/* Puts a space before the full stop of each word that ends with one, but of abbreviations and of what no word
 * in capitals follows. */
clf_status clf__moses_part_full_stops(struct clf__moses_work *work,
                                      const struct clf__moses_abbreviations *abbreviations,
                                      const struct clf__moses_sets *sets);

#endif
