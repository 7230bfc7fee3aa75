/* Writing model folders: config.json, model.safetensors, and the first weights of a model that is to be
 * trained. */
#ifndef CLF_MODEL_SAVE_H
#define CLF_MODEL_SAVE_H

#include "model/parameters.h"

/* Gives one parameter's values (rows * columns floats); index as in the list. */
typedef clf_status clf__parameter_reader(void *user, int index, float *target);

/* Writes the list's parameters to a safetensors file in fp32, fp16 or bf16, under canonical names with
 * `suffix` after each name (NULL: none; an optimizer's moments have one), one parameter in memory at a time;
 * the file appears whole or not at all, and is on the disk when it does. Fails where a value is too large for
 * fp16. */
clf_status clf__parameters_save(const char *path, const struct clf__parameter_list *list, const char *suffix,
                                clf_precision precision, clf__parameter_reader *reader, void *user);

/* Writes model.safetensors into a folder that has its config.json: each parameter drawn as its system's
 * description says (README.md has the table), from the seed alone. `interrupted` (NULL: nobody asks) is asked
 * as it goes on: non-zero ends with CLF_INTERRUPTED, and no file. */
clf_status clf__model_initialise(const char *folder, uint64_t seed, int (*interrupted)(void *user),
                                 void *user);

/* Writes config.json and generation_config.json of a new model; a tokenizer_config.json that is there gets
 * the model's model_max_length where it has none. */
struct clf__model_description {
    const char *preset; /* "marian", "paper", ... */
    int source_vocabulary, target_vocabulary;
    int separate_vocabularies;
    int pad_id, start_id, end_id; /* start -1: none */
    const char *const *keys;      /* further keys of config.json and their JSON values, over the preset's */
    const char *const *values;
    int key_count;
};
clf_status clf__model_describe(const char *folder, const struct clf__model_description *description);
/* The same without a folder: fails where the files would not describe a model. `name` stands for them in the
 * sentence. */
clf_status clf__model_check(const struct clf__model_description *description, const char *name);
/* Whether there is such a key, of length bytes; not each fits each preset. */
int clf__model_has_key(const char *key, size_t length);

/* Writes the mean of several folders' weights to a new model.safetensors in fp32, fp16 or bf16, with the
 * first one's other files beside it, checkpoint state left out. The folder appears whole or not at all. */
clf_status clf__model_average(const char *output, const char *const *folders, int count,
                              clf_precision precision);

#endif
