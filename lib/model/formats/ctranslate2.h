/* Shared by the files of the CTranslate2 format. */
#ifndef CLF_FORMATS_CTRANSLATE2_H
#define CLF_FORMATS_CTRANSLATE2_H

#include "model/formats/format.h"
#include "text/tokenizers/segmenters/segmenter.h"
#include "text/tokenizers/vocabulary.h"

/* The weights that `clformer convert` writes instead of model.bin */
#define CLF__CTRANSLATE2_CONVERTED "model.ctranslate2.safetensors"

/* Opens model.bin or converted weights with canonical names for the variables. Settings keep their names;
 * weights or settings can also be opened alone. */
enum clf__ctranslate2_part { CLF__CTRANSLATE2_ALL, CLF__CTRANSLATE2_WEIGHTS, CLF__CTRANSLATE2_SETTINGS };
clf_status clf__ctranslate2_open_model(struct clf__weights **out, const char *folder,
                                       enum clf__ctranslate2_part part);
/* Returns the specification of model.bin, which converted weights keep. */
struct clf__specification clf__ctranslate2_specification(const struct clf__weights *weights);
int clf__ctranslate2_is_setting(const struct clf__stored_tensor *tensor);

int clf__ctranslate2_is_listed(const char *word, const char *const *list, size_t count);

/* Setting prefixes of the encoder (0) and the decoder (1). Before revision 5, settings apply to the whole
 * model. */
extern const char *const clf__ctranslate2_sides[2];
/* Fails if a setting is unknown; the message names the setting. */
clf_status clf__ctranslate2_check_settings(const struct clf__weights *weights);
/* Returns NULL if there is no such setting. */
const struct clf__stored_tensor *clf__ctranslate2_find_setting(const struct clf__weights *weights, int side,
                                                               const char *word);
/* Reads a number. Returns CLF_FORMAT for NaN and infinity. */
clf_status clf__ctranslate2_read_number(const struct clf__stored_tensor *setting, float *out);
clf_status clf__ctranslate2_read_setting(const struct clf__weights *weights, int side, const char *word,
                                         float fallback, float *out);
/* Reads an integer into *out, which the caller sets to the default. Returns CLF_FORMAT if the value is not an
 * integer from `low` to `high`. */
clf_status clf__ctranslate2_read_int(const struct clf__weights *weights, int side, const char *word, int low,
                                     int high, int *out);

/* The end and unknown token of models whose input is frames */
#define CLF__CTRANSLATE2_FRAMES_END "<|endoftext|>"

/* Tokens stored in config.json (model.bin before version 6), and the framing of sources. */
struct clf__ctranslate2_tokens {
    char *unknown, *start, *end, *decoder_start; /* NULL: no such token */
    int adds_start, adds_end; /* 1: sources start with the start token; sources end with the end token */
    float norm_epsilon;       /* 0: not stored */
};
clf_status clf__ctranslate2_read_tokens(struct clf__ctranslate2_tokens *out, const char *folder,
                                        const struct clf__weights *weights);
void clf__ctranslate2_free_tokens(struct clf__ctranslate2_tokens *tokens);

/* The vocabularies in a folder. */
struct clf__ctranslate2_vocabulary {
    struct clf__vocabulary source, target; /* target: size 0 if shared */
};
clf_status clf__ctranslate2_load_vocabulary(struct clf__ctranslate2_vocabulary *out, const char *folder,
                                            const char *unknown);
void clf__ctranslate2_free_vocabulary(struct clf__ctranslate2_vocabulary *vocabulary);
/* Finds the id of a target token; *out is -1 if there is none. */
clf_status clf__ctranslate2_find_target(int32_t *out, const char *folder, const char *token);

/* Implementations of members of struct clf__format */
clf_status clf__ctranslate2_describe(struct clf__beside *out, const char *folder);
clf_status clf__ctranslate2_copy_files(const char *target, const char *folder,
                                       const struct clf__format_weights *weights);

/* Reads the configuration (read_config of struct clf__format). */
clf_status clf__ctranslate2_read_config(struct clf__config *out, const char *folder);

/* The folder of the tokenizer's files, and known text settings. */
struct clf__ctranslate2_text {
    const char *vocabulary_folder, *model_folder;
    const char *language; /* source language, or NULL */
    int32_t hidden;       /* id of a token to omit from text, or -1 */
    /* Segmenter, model file and target language; NULL: determined from the files in the folder. */
    const struct clf__segmenter *segmenter;
    const char *model, *target_language;
};
clf_status clf__ctranslate2_load_tokenizer(struct clf__tokenizer **out,
                                           const struct clf__ctranslate2_text *text,
                                           const struct clf__config *config);

#endif
