/* Keys whose values are words from a list. */
#ifndef CLF_CONFIG_WORD_H
#define CLF_CONFIG_WORD_H

#include "base/json.h"

/* A word and its value. The first word of a value is used for display. */
struct clf__key_word {
    const char *word;
    int value;
};

/* Reads one of several words; *out is unchanged if the key is missing. */
clf_status clf__config_read_word(const struct clf__json *json, const char *name,
                                 const struct clf__key_word *words, int *out);

#endif
