/* Writes weights: converted, initialised for training, and averaged over models. */
#ifndef CLF_MODEL_SAVE_H
#define CLF_MODEL_SAVE_H

#include "model/parameters.h"

/* Writes a parameter's values (rows * columns floats) into target; index as in the list. */
typedef clf_status clf__parameter_reader(void *user, int index, float *target);

/* Writes the list's parameters to a safetensors file in fp32, fp16 or bf16, under canonical names followed
 * by `suffix` (NULL: none; used for optimizer moments). Holds one parameter in memory at a time. The file
 * is written atomically and synced to disk. Fails if a value is too large for fp16. */
clf_status clf__parameters_save(const char *path, const struct clf__parameter_list *list, const char *suffix,
                                enum clf__precision precision, clf__parameter_reader *reader, void *user);

/* Like clf__parameters_save(), for a new model; can be interrupted (CLF_INTERRUPTED). */
clf_status clf__parameters_save_new(const char *path, const struct clf__parameter_list *list,
                                    enum clf__precision precision, clf__parameter_reader *reader, void *user);

/* Writes the weights as they are stored after loading in a precision, including int8: linear weights and
 * embeddings in the precision, others in fp32. An int8 tensor gets a tensor of row factors, named with the
 * suffix "_scale"; weights that are int8 already are copied. NaN and infinities are rejected in int8. Also
 * writes `beside`. */
clf_status clf__parameters_save_as_loaded(const char *path, struct clf__parameters *parameters,
                                          enum clf__precision precision, const struct clf__beside *beside);

/* Writes the model of a folder or an Argos Translate package to a new folder of the same format, with the
 * weights as they are stored after loading in a precision; the new model loads faster and computes
 * bit-identical results. Writes completely or not at all. */
clf_status clf__model_convert(const char *output, const char *path, clf_precision precision);

/* Writes model.safetensors into a folder with a config.json: each parameter is drawn as the architecture
 * specifies (model/config/README.md has the table), from the seed only. Polls `interrupted` (may be NULL):
 * non-zero ends with CLF_INTERRUPTED and no file. */
clf_status clf__model_initialise(const char *folder, uint64_t seed, int (*interrupted)(void *user),
                                 void *user);

/* Writes the mean weights of several folders to a new model.safetensors in fp32, fp16 or bf16, with the other
 * files of the first folder, except training state. The folder appears completely or not at all. */
clf_status clf__model_average(const char *output, const char *const *folders, int count,
                              enum clf__precision precision);

#endif
