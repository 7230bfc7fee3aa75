/* Writes weights that are converted, initialised for training, or averaged. */
#ifndef CLF_MODEL_SAVE_H
#define CLF_MODEL_SAVE_H

#include "model/parameters.h"

/* Writes the values of the parameter with this list index (rows * columns floats) to target. */
typedef clf_status clf__parameter_reader(void *user, int index, float *target);

/* Writes all parameters to a safetensors file in fp32, fp16 or bf16 under canonical names plus `suffix`
 * (NULL: none), one at a time to save memory. Writes the file atomically and syncs it to disk. Fails if a
 * value is too large for fp16. */
clf_status clf__parameters_save(const char *path, const struct clf__parameter_list *list, const char *suffix,
                                enum clf__precision precision, clf__parameter_reader *reader, void *user);

/* clf__parameters_save() for a new model, without a suffix; can be interrupted (CLF_INTERRUPTED). */
clf_status clf__parameters_save_new(const char *path, const struct clf__parameter_list *list,
                                    enum clf__precision precision, clf__parameter_reader *reader, void *user);

/* Writes the weights as a model stores them in a precision: linear weights and embeddings in this precision,
 * others in fp32. In int8, tensors named with the suffix "_scale" hold row factors; NaN and infinities are
 * rejected; int8 weights are copied. Also writes `beside`. */
clf_status clf__parameters_save_as_loaded(const char *path, struct clf__parameters *parameters,
                                          enum clf__precision precision, const struct clf__beside *beside);

/* Converts a model folder or an Argos Translate package to a new folder in the same format with weights as a
 * model stores them in a precision. The new folder loads faster and gives bit-identical results. It is
 * written completely or not at all. */
clf_status clf__model_convert(const char *output, const char *path, clf_precision precision);

/* Writes model.safetensors to a folder with a config.json. Each parameter is drawn from the architecture's
 * distribution (model/config/KEYS.md) and depends only on the seed. Ends with CLF_INTERRUPTED and no file if
 * `interrupted` (may be NULL) returns non-zero. */
clf_status clf__model_initialise(const char *folder, uint64_t seed, int (*interrupted)(void *user),
                                 void *user);

/* Writes the mean of several models' weights to a new folder in fp32, fp16 or bf16, with the other files of
 * the first folder except training state. The new folder is written completely or not at all. */
clf_status clf__model_average(const char *output, const char *const *folders, int count,
                              enum clf__precision precision);

#endif
