/* Shared by the files of the CTranslate2 format. */
#ifndef CLF_FORMATS_CTRANSLATE2_H
#define CLF_FORMATS_CTRANSLATE2_H

#include "model/formats/format.h"
#include "text/tokenizers/segmenters/segmenter.h"
#include "text/tokenizers/vocabulary.h"

/* Weights written by `clformer convert` in place of model.bin. */
#define CLF__CTRANSLATE2_CONVERTED "model.ctranslate2.safetensors"

/* Opens model.bin or its converted form, and gives variables canonical names. Settings keep their names.
 * Either part can be opened alone. */
enum clf__ctranslate2_part { CLF__CTRANSLATE2_ALL, CLF__CTRANSLATE2_WEIGHTS, CLF__CTRANSLATE2_SETTINGS };
clf_status clf__ctranslate2_open_model(struct clf__weights **out, const char *folder,
                                       enum clf__ctranslate2_part part);
/* Returns the specification of model.bin, which converted files keep. */
struct clf__specification clf__ctranslate2_specification(const struct clf__weights *weights);
int clf__ctranslate2_is_setting(const struct clf__stored_tensor *tensor);

int clf__ctranslate2_is_listed(const char *word, const char *const *list, size_t count);

/* Prefixes of the settings of the encoder (side 0) and the decoder (1); before revision 5, settings apply to
 * the whole model. */
extern const char *const clf__ctranslate2_sides[2];
/* Fails, naming the setting, if the file has an unknown setting. */
clf_status clf__ctranslate2_check_settings(const struct clf__weights *weights);
/* Finds a setting; NULL: there is none. */
const struct clf__stored_tensor *clf__ctranslate2_find_setting(const struct clf__weights *weights, int side,
                                                               const char *word);
/* Reads a number; NaN and infinity are CLF_FORMAT. */
clf_status clf__ctranslate2_read_number(const struct clf__stored_tensor *setting, float *out);
clf_status clf__ctranslate2_read_setting(const struct clf__weights *weights, int side, const char *word,
                                         float fallback, float *out);
/* Reads an integer; *out is the default. CLF_FORMAT unless the value is an integer from low to high. */
clf_status clf__ctranslate2_read_int(const struct clf__weights *weights, int side, const char *word, int low,
                                     int high, int *out);

/* End token and unknown token if sources are frames. */
#define CLF__CTRANSLATE2_FRAMES_END "<|endoftext|>"

/* Tokens in config.json, or in model.bin before version 6, and the framing of sources. */
struct clf__ctranslate2_tokens {
    char *unknown, *start, *end, *decoder_start; /* NULL: there is none */
    int adds_start, adds_end;                    /* whether a source has start and end token */
    float norm_epsilon;                          /* 0: not stored */
};
clf_status clf__ctranslate2_read_tokens(struct clf__ctranslate2_tokens *out, const char *folder,
                                        const struct clf__weights *weights);
void clf__ctranslate2_free_tokens(struct clf__ctranslate2_tokens *tokens);

/* The vocabularies of a folder. */
struct clf__ctranslate2_vocabulary {
    struct clf__vocabulary source, target; /* target of size 0: shared */
};
clf_status clf__ctranslate2_load_vocabulary(struct clf__ctranslate2_vocabulary *out, const char *folder,
                                            const char *unknown);
void clf__ctranslate2_free_vocabulary(struct clf__ctranslate2_vocabulary *vocabulary);
/* Finds the id of a target token; -1: not found. */
clf_status clf__ctranslate2_find_target(int32_t *out, const char *folder, const char *token);

/* Functions for struct clf__format. */
clf_status clf__ctranslate2_describe(struct clf__beside *out, const char *folder);
clf_status clf__ctranslate2_copy_files(const char *target, const char *folder,
                                       const struct clf__format_weights *weights);

/* Reads the configuration, as defined by struct clf__format. */
clf_status clf__ctranslate2_read_config(struct clf__config *out, const char *folder);

/* Location of a tokenizer's files, and known text settings. */
struct clf__ctranslate2_text {
    const char *vocabulary_folder, *model_folder;
    const char *language; /* language of the source, or NULL */
    int32_t hidden;       /* id of a token that text omits, or -1 */
    /* Segmenter, model and target language if known; NULL: determined from the files beside the weights. */
    const struct clf__segmenter *segmenter;
    const char *model, *target_language;
};
clf_status clf__ctranslate2_load_tokenizer(struct clf__tokenizer **out,
                                           const struct clf__ctranslate2_text *text,
                                           const struct clf__config *config);

#endif
