/* Steps of building a configuration: preset, values derived from sizes, decoding keys. */
#ifndef CLF_CONFIG_BUILD_H
#define CLF_CONFIG_BUILD_H

#include "base/json.h"
#include "model/config/types.h"
#include "text/tokenizers/vocabulary.h"

/* The output length of transformers' generate(), including the end token, if a Hugging Face folder sets
 * neither "max_length" nor "max_new_tokens". */
enum { CLF__GENERATE_LENGTH = 20 };

/* How sqrt(D) is applied: not at all, as a factor of the embeddings, or as a divisor of the logits. */
enum clf__scale_place { CLF__SCALE_NONE, CLF__SCALE_EMBEDDING, CLF__SCALE_PROJECTION };

struct clf__config_choices {
    enum clf__scale_place scale;
    int key_width, value_width; /* head width in both stacks; 0: D / H of the stack */
};

/* Sets the preset's independent fields and choices. */
void clf__config_preset_start(struct clf__config *config, struct clf__config_choices *choices,
                              enum clf__architecture_id id);

/* Computes values that depend on sizes and choices: head widths, scales and the ids that frame a source. A
 * head width is 0 if D is not divisible by the number of heads. */
void clf__config_derive(struct clf__config *config, const struct clf__config_choices *choices);

/* Reads config.json on top of the preset's values, without checking whether ids and widths are consistent. */
clf_status clf__config_read(struct clf__config *config, const struct clf__json *json);

/* Reads "clformer_precision", the precision for which `clformer convert` wrote the weights. */
clf_status clf__config_read_precision(struct clf__config *config, const struct clf__json *json);

/* Parses and checks both files; the caller frees the configuration, even on failure. `generation` has no root
 * if there is no generation_config.json. Does not detect separate vocabularies of equal size in clformer
 * folders.
 */
clf_status clf__config_parse(struct clf__config *config, const struct clf__json *json,
                             const struct clf__json *generation);

/* Reads "eos_token_id", an id or a list of ids; *id is unchanged if the key is missing. */
clf_status clf__config_read_end_id(const struct clf__json *json, int *id);

/* Reads "alignment_heads" for word timestamps: a list of pairs of decoder layer and head. */
clf_status clf__config_read_word_heads(struct clf__config *config, const struct clf__json *json);

/* Reads the ids to suppress at every position and at the first position; the configuration owns the lists,
 * even on failure. */
clf_status clf__config_read_suppressed(struct clf__config *config, const struct clf__json *json,
                                       const char *key, const char *begin_key);

/* Reads the decoding keys of generation_config.json or, if that file is missing, of config.json into
 * config->generation, which already holds the preset's values. */
clf_status clf__config_read_generation(struct clf__config *config, const struct clf__json *json);

/* Returns CLF_UNSUPPORTED for a folder that contains a LoRA or PEFT adapter, or an NVIDIA NeMo archive
 * without config.json. */
clf_status clf__config_refuse_others(const char *folder);

#endif
