/* Writing a model's weights: as they are, as they begin before training, and as the mean of several models.
 */
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

/* The same for a new model, which a request to stop ends with CLF_INTERRUPTED. */
clf_status clf__parameters_save_new(const char *path, const struct clf__parameter_list *list,
                                    clf_precision precision, clf__parameter_reader *reader, void *user);

/* The same as the weights lie once they are loaded in a precision, int8 too: those of products in it, all
 * others in fp32. In int8 each has beside it, under its name and "_scale", what its rows are multiplied by;
 * what is int8 already stays as it is. NaN and infinities are refused there. `beside` is written too. */
clf_status clf__parameters_save_as_loaded(const char *path, struct clf__parameters *parameters,
                                          clf_precision precision, const struct clf__beside *beside);

/* Writes the model of a folder, or of a package of Argos Translate, to a new folder of the same format, its
 * weights as they are once loaded in a precision, so that it loads sooner and gives the same numbers, bit for
 * bit. It appears whole or not at all. */
clf_status clf__model_convert(const char *output, const char *path, clf_precision precision);

/* Writes model.safetensors into a folder that has its config.json: each parameter drawn as its system's
 * description says (config/README.md has the table), from the seed alone. `interrupted` (NULL: nobody asks)
 * is asked as it goes on: non-zero ends with CLF_INTERRUPTED, and no file. */
clf_status clf__model_initialise(const char *folder, uint64_t seed, int (*interrupted)(void *user),
                                 void *user);

/* Writes the mean of several folders' weights to a new model.safetensors in fp32, fp16 or bf16, with the
 * first one's other files beside it, checkpoint state left out. The folder appears whole or not at all. */
clf_status clf__model_average(const char *output, const char *const *folders, int count,
                              clf_precision precision);

#endif
