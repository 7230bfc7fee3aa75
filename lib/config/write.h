/* Writing config.json and generation_config.json of a new model. */
#ifndef CLF_CONFIG_WRITE_H
#define CLF_CONFIG_WRITE_H

#include <stddef.h>

#include "base/status.h"

/* A new model, as its configuration files are to say it. */
struct clf__model_description {
    const char *preset; /* a word of CLF__SYSTEM_LIST */
    int source_vocabulary, target_vocabulary;
    int separate_vocabularies;
    int pad_id, start_id, end_id; /* start -1: none */
    const char *const *keys;      /* further keys of config.json and their JSON values, over the preset's */
    const char *const *values;
    int key_count;
};

/* Writes config.json and generation_config.json into a folder; a tokenizer_config.json that is there gets the
 * model's model_max_length where it has none. */
clf_status clf__model_describe(const char *folder, const struct clf__model_description *description);
/* The same without a folder: fails where the files would not describe a model. `name` stands for them in the
 * sentence. */
clf_status clf__model_check(const struct clf__model_description *description, const char *name);
/* Whether there is such a key, of length bytes; not each fits each preset. */
int clf__model_has_key(const char *key, size_t length);

#endif
