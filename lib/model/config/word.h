/* Keys with enumerated values. */
#ifndef CLF_CONFIG_WORD_H
#define CLF_CONFIG_WORD_H

#include "base/json.h"

/* A word and its value. If several words have the same value, the first is shown. */
struct clf__key_word {
    const char *word;
    int value;
};

/* Reads a word from a list; *out is unchanged if the key is missing. */
clf_status clf__config_read_word(const struct clf__json *json, const char *name,
                                 const struct clf__key_word *words, int *out);

#endif
