/* Creates the tokenizer files of a new model folder from the training text. */
#ifndef CLF_TRAIN_TOKENIZER_FILES_H
#define CLF_TRAIN_TOKENIZER_FILES_H

#include "model/config/write.h"
#include "train/recipe.h"

/* Writes the tokenizer files that the recipe needs (source.spm, target.spm, vocab.json, target_vocab.json,
 * tokenizer_config.json) and fills in the sizes and ids in the model's description, and whether the
 * vocabularies are separate. `interrupted` (NULL: never) is polled while subwords are learned; if it
 * returns nonzero the call fails with CLF_INTERRUPTED. */
clf_status clf__tokenizer_files_make(struct clf__model_description *out, const char *folder,
                                     const struct clf__settings *settings, int (*interrupted)(void *user),
                                     void *user);

#endif
