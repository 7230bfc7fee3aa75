/* Writes config.json and generation_config.json of a new model. */
#ifndef CLF_CONFIG_WRITE_H
#define CLF_CONFIG_WRITE_H

#include <stddef.h>

#include "base/status.h"

/* Contents of the configuration files of a new model. */
struct clf__model_description {
    const char *preset; /* a word of CLF__SYSTEM_LIST */
    int source_vocabulary, target_vocabulary;
    int separate_vocabularies;
    int pad_id, start_id, end_id; /* start_id -1: none */
    const char *const *sizes;     /* KEY=VALUE with keys of config.json, overriding the preset;
                                     NULL-terminated */
    const char *const
        *choices; /* (choice_count) KEY=VALUE, overriding `sizes`; a value that is not JSON is a string */
    int choice_count;
};

/* Writes config.json and generation_config.json into a folder, and the model's model_max_length into an
 * existing tokenizer_config.json that has none. */
clf_status clf__model_describe(const char *folder, const struct clf__model_description *description);
/* Checks a description without writing files. Error messages use `name` as the file name. */
clf_status clf__model_check(const struct clf__model_description *description, const char *name);
/* Returns whether a key of `length` bytes exists; a preset may still reject it. */
int clf__model_has_key(const char *key, size_t length);

#endif
