/* Unicode data as in Hugging Face tokenizers, some of whose tables are older than ICU's and lack newer
 * characters. White space, letter case and regular expressions are up to date there, so ICU and PCRE2 are
 * used. */
#ifndef CLF_TEXT_JSON_UNICODE_H
#define CLF_TEXT_JSON_UNICODE_H

#include <stdint.h>

#include "text/tokenizers/json/words.h"

/* Unicode version of each table. */
enum { CLF__UNICODE_OF_CATEGORIES = 8, CLF__UNICODE_OF_MARKS = 9 };

/* Returns the general category as a bit of ICU's U_GC_..._MASK; 0 for a character newer than `version`. */
uint32_t clf__category_of(int version, int32_t character);

enum clf__form { CLF__FORM_NFC, CLF__FORM_NFD, CLF__FORM_NFKC, CLF__FORM_NFKD };
/* Opens a normalization form (Unicode Annex 15) as the state of a part. */
clf_status clf__form_open(void **state, enum clf__form form);
void clf__form_close(void *state);
clf_status clf__form_run(const void *state, struct clf__word_list *out, const struct clf__word_list *in);

#endif
