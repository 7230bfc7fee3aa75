/* A folder of Marian's, as Bergamot and Firefox have them: which of its files is what. */
#ifndef CLF_CHECKPOINT_MARIAN_FOLDER_H
#define CLF_CHECKPOINT_MARIAN_FOLDER_H

#include <jansson.h>

#include "base/status.h"

/* The weights of a folder that `clformer convert` wrote. */
#define CLF__MARIAN_CONVERTED "model.marian.safetensors"

struct clf__marian_folder {
    char *model;                       /* paths, owned */
    char *source_words, *target_words; /* the same file where the sides share their vocabulary */
    char *shortlist;                   /* or NULL */
    json_t *decoding; /* what the folder's configuration says, an object of strings and lists (base/yaml.h) */
};

/* Reads config*.yml or *decoder.yml, which names the files; without one they are known by their names:
 * model*.bin or *.npz, or those of ours; vocab*.spm (or srcvocab* and trgvocab*; .yml, .txt); lex*.bin, or
 * else lex*.s2t, or else lex*.s2t.gz.
 * *found is 0 where the folder holds no model of Marian's; what is there and cannot be used is a failure. */
clf_status clf__marian_folder_find(struct clf__marian_folder *out, int *found, const char *folder);
/* Whether a file in it is a configuration by its name. */
int clf__marian_is_configuration(const char *name);
void clf__marian_folder_free(struct clf__marian_folder *folder);

#endif
