/* The tokenizer's files of a new model folder, made from the text that it will be trained on. */
#ifndef CLF_TRAIN_TOKENIZER_FILES_H
#define CLF_TRAIN_TOKENIZER_FILES_H

#include "config/write.h"
#include "train/recipe.h"

/* Writes source.spm and target.spm, vocab.json, target_vocab.json and tokenizer_config.json, whichever there
 * must be, and fills in what the model's description has from them: sizes, ids, whether they are separate.
 * `interrupted` (NULL: never) is asked while pieces are learned, and ends that with CLF_INTERRUPTED. */
clf_status clf__tokenizer_files_make(struct clf__model_description *out, const char *folder,
                                     const struct clf__settings *settings, int (*interrupted)(void *user),
                                     void *user);

#endif
