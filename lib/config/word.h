/* Values that are one of several words. */
#ifndef CLF_CONFIG_WORD_H
#define CLF_CONFIG_WORD_H

#include "base/json.h"

/* A word and what it stands for. The first word of a value is the one that is shown. */
struct clf__key_word {
    const char *word;
    int value;
};

/* One of several words; *out stays as it is where the key is missing. */
clf_status clf__config_read_word(const struct clf__json *json, const char *name,
                                 const struct clf__key_word *words, int *out);

#endif
