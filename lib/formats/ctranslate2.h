/* What the files of a CTranslate2 folder have in common. */
#ifndef CLF_FORMATS_CTRANSLATE2_H
#define CLF_FORMATS_CTRANSLATE2_H

#include "formats/format.h"
#include "text/segmenters/segmenter.h"
#include "text/vocabulary.h"

/* The weights of a folder that `clformer convert` wrote, in model.bin's place. */
#define CLF__CTRANSLATE2_CONVERTED "model.ctranslate2.safetensors"

/* Opens model.bin, or what was made of it, and gives its variables canonical names. Settings keep theirs.
 * Either can be left out. */
enum clf__ctranslate2_part { CLF__CTRANSLATE2_ALL, CLF__CTRANSLATE2_WEIGHTS, CLF__CTRANSLATE2_SETTINGS };
clf_status clf__ctranslate2_open_model(struct clf__checkpoint **out, const char *folder,
                                       enum clf__ctranslate2_part part);
/* What model.bin says of itself, kept in what was made of it too. */
struct clf__specification clf__ctranslate2_specification(const struct clf__checkpoint *weights);
int clf__ctranslate2_is_setting(const struct clf__stored_tensor *tensor);

int clf__ctranslate2_is_listed(const char *word, const char *const *list, size_t count);

/* Settings of the encoder (side 0) and of the decoder (1), which before revision 5 are the whole model's. */
extern const char *const clf__ctranslate2_sides[2];
/* Fails where one is set that is not known, naming it. */
clf_status clf__ctranslate2_check_settings(const struct clf__checkpoint *weights);
/* NULL: there is none. */
const struct clf__stored_tensor *clf__ctranslate2_find_setting(const struct clf__checkpoint *weights,
                                                               int side, const char *word);
/* One that is NaN or infinite is CLF_FORMAT. */
clf_status clf__ctranslate2_read_number(const struct clf__stored_tensor *setting, float *out);
clf_status clf__ctranslate2_read_setting(const struct clf__checkpoint *weights, int side, const char *word,
                                         float fallback, float *out);
/* *out is the fallback; CLF_FORMAT unless it is a whole number of low to high. */
clf_status clf__ctranslate2_read_int(const struct clf__checkpoint *weights, int side, const char *word,
                                     int low, int high, int *out);

/* What ends a text, and stands for unknown tokens, where sources are frames. */
#define CLF__CTRANSLATE2_FRAMES_END "<|endoftext|>"

/* Tokens of config.json, or of model.bin before version 6, and how a source is framed. */
struct clf__ctranslate2_tokens {
    char *unknown, *start, *end, *decoder_start; /* NULL: there is none */
    int adds_start, adds_end;                    /* around a source */
    float norm_epsilon;                          /* 0: it says none */
};
clf_status clf__ctranslate2_read_tokens(struct clf__ctranslate2_tokens *out, const char *folder,
                                        const struct clf__checkpoint *weights);
void clf__ctranslate2_free_tokens(struct clf__ctranslate2_tokens *tokens);

/* A folder's vocabulary, of one side or of both. */
struct clf__ctranslate2_vocabulary {
    struct clf__vocabulary source, target; /* target of size 0: the source's */
};
clf_status clf__ctranslate2_load_vocabulary(struct clf__ctranslate2_vocabulary *out, const char *folder,
                                            const char *unknown);
void clf__ctranslate2_free_vocabulary(struct clf__ctranslate2_vocabulary *vocabulary);
/* The id of a token of the target's; -1: it has none. */
clf_status clf__ctranslate2_find_target(int32_t *out, const char *folder, const char *token);

/* What struct clf__format asks for of a new folder. */
clf_status clf__ctranslate2_describe(struct clf__beside *out, const char *folder);
clf_status clf__ctranslate2_copy_files(const char *target, const char *folder,
                                       const struct clf__format_weights *weights);

/* Reads the configuration, as struct clf__format says. */
clf_status clf__ctranslate2_read_config(struct clf__config *out, const char *folder);

/* Where a tokenizer's files are, and what is known of its text. */
struct clf__ctranslate2_text {
    const char *vocabulary_folder, *model_folder;
    const char *language; /* of a source, or NULL */
    int32_t hidden;       /* the id of a token that a target's text does not show, or -1 */
    /* How text is cut, and by which model and to which language, where the format knows; NULL: by what lies
     * beside the weights. */
    const struct clf__segmenter *segmenter;
    const char *model, *target_language;
};
clf_status clf__ctranslate2_load_tokenizer(struct clf__tokenizer **out,
                                           const struct clf__ctranslate2_text *text,
                                           const struct clf__config *config);

#endif
