/* The languages of a multilingual model, found by the model's codes or by short codes. */
#ifndef CLF_TEXT_LANGUAGES_H
#define CLF_TEXT_LANGUAGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct clf__tokenizer_class;
struct clf__vocabulary;

struct clf__language {
    char *code; /* owned */
    int32_t id; /* id of the language token */
};
struct clf__languages {
    struct clf__language *items; /* in order of id */
    int count, capacity;
};

enum { CLF__LANGUAGE_BYTES = 32 };

/* Collects the languages of a vocabulary with the rules of its class. */
clf_status clf__languages_collect(struct clf__languages *out, const struct clf__vocabulary *vocabulary,
                                  const struct clf__tokenizer_class *of);
void clf__languages_free(struct clf__languages *languages);

/* Finds a language by the model's own code, ignoring case, or by a short code (pt for por_Latn, zh-Hant for
 * zho_Hant) if it is unambiguous. Returns CLF_BAD_ARGUMENT with a message that suggests similar codes. */
clf_status clf__languages_find(const struct clf__language **out, const struct clf__languages *languages,
                               const char *wanted);

/* Returns whether two codes name the same language, whatever their scripts and countries: "en", "en-US" and
 * "eng_Latn". */
int clf__languages_are_same(const char *code, size_t size, const char *other, size_t other_size);

#endif
