/* How the files of this room build a configuration: the preset, the choices that depend on sizes, the
 * decoding keys. */
#ifndef CLF_CONFIG_BUILD_H
#define CLF_CONFIG_BUILD_H

#include "base/json.h"
#include "config/config.h"
#include "text/vocabulary.h"

/* The tokens that transformers' generate() makes at most, the end token among them, where a folder of Hugging
 * Face's has neither "max_length" nor "max_new_tokens". */
enum { CLF__GENERATE_LENGTH = 20 };

/* Where sqrt(D) goes: the embeddings are multiplied by it, or the logits divided. */
enum clf__scale_place { CLF__SCALE_NONE, CLF__SCALE_EMBEDDING, CLF__SCALE_PROJECTION };

struct clf__config_choices {
    enum clf__scale_place scale;
    int key_width, value_width; /* of a head on both sides; 0: D / H of each side */
};

/* The preset's fields that depend on nothing else, and its choices. */
void clf__config_preset_start(struct clf__config *config, struct clf__config_choices *choices,
                              enum clf__system system);

/* Computes what depends on sizes and choices: head widths, scales, the ids that frame a source line. A head
 * width that does not divide is left 0. */
void clf__config_derive(struct clf__config *config, const struct clf__config_choices *choices);

/* Reads config.json over its preset; ids and widths are not checked against each other yet. */
clf_status clf__config_read(struct clf__config *config, const struct clf__json *json);

/* "clformer_precision": what `clformer convert` made the weights for. */
clf_status clf__config_read_precision(struct clf__config *config, const struct clf__json *json);

/* Both files as a whole, checked; on failure too the caller ends with clf__config_free(). Whether our own
 * systems have two vocabularies of one size only their folder says. `generation` without a root: the file is
 * not there. */
clf_status clf__config_parse(struct clf__config *config, const struct clf__json *json,
                             const struct clf__json *generation);

/* "eos_token_id", which may be an id or a list of one; *id stays as it is where the key is missing. */
clf_status clf__config_read_end_id(const struct clf__json *json, int *id);

/* What says so of recordings: a list of pairs under "alignment_heads", each inside the decoder. */
clf_status clf__config_read_word_heads(struct clf__config *config, const struct clf__json *json);

/* The ids that are never generated, and those that do not come first, under these keys; owned by the
 * configuration even on failure. */
clf_status clf__config_read_suppressed(struct clf__config *config, const struct clf__json *json,
                                       const char *key, const char *begin_key);

/* Reads the decoding keys of generation_config.json, or of config.json where a folder has only that, into
 * config->generation, whose preset values stand where a key is missing. */
clf_status clf__config_read_generation(struct clf__config *config, const struct clf__json *json);

/* CLF_UNSUPPORTED for a folder that holds a LoRA or PEFT adapter, alone or beside a model, or an archive of
 * NVIDIA NeMo and no config.json. */
clf_status clf__config_refuse_others(const char *folder);

#endif
