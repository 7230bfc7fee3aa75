/* Steps of building a configuration: the preset, values derived from sizes, the decoding keys. */
#ifndef CLF_CONFIG_BUILD_H
#define CLF_CONFIG_BUILD_H

#include "base/json.h"
#include "model/config/types.h"
#include "text/tokenizers/vocabulary.h"

/* Default of transformers' generate() for the length of an output, end token included, if a Hugging Face
 * folder has neither "max_length" nor "max_new_tokens". */
enum { CLF__GENERATE_LENGTH = 20 };

/* Where sqrt(D) is applied: the embeddings are multiplied by it, or the logits divided. */
enum clf__scale_place { CLF__SCALE_NONE, CLF__SCALE_EMBEDDING, CLF__SCALE_PROJECTION };

struct clf__config_choices {
    enum clf__scale_place scale;
    int key_width, value_width; /* width of a head on both sides; 0: D / H of the side */
};

/* Sets the preset's independent fields and choices. */
void clf__config_preset_start(struct clf__config *config, struct clf__config_choices *choices,
                              enum clf__system system);

/* Computes values that depend on sizes and choices: head widths, scales, the ids that frame a source. A head
 * width stays 0 if the number of heads does not divide D. */
void clf__config_derive(struct clf__config *config, const struct clf__config_choices *choices);

/* Reads config.json over the preset's values, without checking ids and widths against each other. */
clf_status clf__config_read(struct clf__config *config, const struct clf__json *json);

/* Reads "clformer_precision", the precision that `clformer convert` wrote the weights for. */
clf_status clf__config_read_precision(struct clf__config *config, const struct clf__json *json);

/* Parses and checks both files; the caller calls clf__config_free(), even on failure. In clformer folders,
 * only the files determine whether two vocabularies of equal size are separate. `generation` has no root if
 * there is no generation_config.json. */
clf_status clf__config_parse(struct clf__config *config, const struct clf__json *json,
                             const struct clf__json *generation);

/* Reads "eos_token_id", an id or a list of one; *id is unchanged if the key is missing. */
clf_status clf__config_read_end_id(const struct clf__json *json, int *id);

/* Reads "alignment_heads", a list of pairs of a decoder layer and head, used for word timestamps. */
clf_status clf__config_read_word_heads(struct clf__config *config, const struct clf__json *json);

/* Reads the ids that are never generated and those that are not allowed as the first token; the configuration
 * owns the lists even on failure. */
clf_status clf__config_read_suppressed(struct clf__config *config, const struct clf__json *json,
                                       const char *key, const char *begin_key);

/* Reads the decoding keys of generation_config.json, or of config.json if there is no such file, over the
 * preset's values in config->generation. */
clf_status clf__config_read_generation(struct clf__config *config, const struct clf__json *json);

/* Returns CLF_UNSUPPORTED for a folder with a LoRA or PEFT adapter, with or without a model, or with an
 * NVIDIA NeMo archive and no config.json. */
clf_status clf__config_refuse_others(const char *folder);

#endif
