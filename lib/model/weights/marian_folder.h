/* Finds the files of a Marian model folder, as distributed by Bergamot and Firefox. */
#ifndef CLF_WEIGHTS_MARIAN_FOLDER_H
#define CLF_WEIGHTS_MARIAN_FOLDER_H

#include <jansson.h>

#include "base/status.h"

/* The weights file that `clformer convert` writes */
#define CLF__MARIAN_CONVERTED "model.marian.safetensors"

struct clf__marian_folder {
    char *model;                       /* paths; owned by this struct */
    char *source_words, *target_words; /* equal if source and target share the vocabulary */
    char *shortlist;                   /* or NULL */
    json_t *decoding; /* the folder's configuration: an object of strings and lists (base/yaml.h) */
};

/* Finds the files named in config*.yml or *decoder.yml, otherwise by name: model*.bin, *.npz or the file of
 * `clformer convert`; vocab*.spm (or srcvocab* and trgvocab*; .yml, .txt); lex*.bin, lex*.s2t or lex*.s2t.gz.
 * Sets *found to 0 if the folder does not contain a Marian model; fails if the files are unusable. */
clf_status clf__marian_folder_find(struct clf__marian_folder *out, int *found, const char *folder);
/* Returns 1 if `name` is the name of a configuration file. */
int clf__marian_is_configuration(const char *name);
void clf__marian_folder_free(struct clf__marian_folder *folder);

#endif
