/* The languages of a model that has several, by its own codes and by short ones. */
#ifndef CLF_TEXT_LANGUAGES_H
#define CLF_TEXT_LANGUAGES_H

#include <stdint.h>

#include "base/status.h"

struct clf__tokenizer_class;
struct clf__vocabulary;

struct clf__language {
    char *code; /* owned */
    int32_t id; /* of its piece */
};
struct clf__languages {
    struct clf__language *items; /* in the order of their ids */
    int count, capacity;
};

enum { CLF__LANGUAGE_BYTES = 32 };

/* Those that a vocabulary holds by its class. */
clf_status clf__languages_collect(struct clf__languages *out, const struct clf__vocabulary *vocabulary,
                                  const struct clf__tokenizer_class *of);
void clf__languages_free(struct clf__languages *languages);

/* The language that is meant by the model's own code, in capitals or not, or by a short one (pt for por_Latn,
 * zh-Hant for zho_Hant) where it can only be one. CLF_BAD_ARGUMENT names those that are near. */
clf_status clf__languages_find(const struct clf__language **out, const struct clf__languages *languages,
                               const char *wanted);

#endif
