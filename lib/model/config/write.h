/* Writes config.json and generation_config.json for a new model. */
#ifndef CLF_CONFIG_WRITE_H
#define CLF_CONFIG_WRITE_H

#include <stddef.h>

#include "base/status.h"

/* The content of a new model's configuration files. */
struct clf__model_description {
    const char *preset; /* a word of CLF__ARCHITECTURE_LIST */
    int source_vocabulary, target_vocabulary;
    int separate_vocabularies;
    int pad_id, start_id, end_id; /* start_id -1: none */
    const char *const
        *sizes; /* KEY=VALUE for keys of config.json, replacing the preset's values; NULL-terminated */
    const char *const
        *choices; /* (choice_count) KEY=VALUE, replacing `sizes`; a value that is not JSON is a string */
    int choice_count;
};

/* Writes config.json and generation_config.json to a folder, and adds model_max_length to an existing
 * tokenizer_config.json that lacks it. */
clf_status clf__model_describe(const char *folder, const struct clf__model_description *description);
/* Checks a description without writing files. Messages use `name` as the file name. */
clf_status clf__model_check(const struct clf__model_description *description, const char *name);
/* Returns 1 if a key with this name of `length` bytes exists; a preset may still reject the key. */
int clf__model_has_key(const char *key, size_t length);

#endif
