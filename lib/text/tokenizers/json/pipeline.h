/* tokenizer.json as one segmenter: added tokens, normalizer, pre-tokenizer, model, decoder. */
#ifndef CLF_TEXT_JSON_PIPELINE_H
#define CLF_TEXT_JSON_PIPELINE_H

#include <jansson.h>

#include "text/tokenizers/json/template.h"
#include "text/tokenizers/segmenters/segmenter.h"
#include "text/tokenizers/vocabulary.h"

struct clf__class_settings;
struct clf__tokenizer_class;

/* Input of a pipeline. */
enum clf__pipeline_source {
    CLF__PIPELINE_JSON,          /* tokenizer.json */
    CLF__PIPELINE_SENTENCEPIECE, /* a SentencePiece model, converted for its class */
    CLF__PIPELINE_TIKTOKEN,      /* a file of tokens and ranks */
    CLF__PIPELINE_VOCABULARY,    /* Whisper's tokens, whose ids are ranks */
};

/* Settings of the folder besides the file. */
struct clf__pipeline_options {
    const char *folder;
    enum clf__pipeline_source source;
    const struct clf__vocabulary *vocabulary; /* for CLF__PIPELINE_VOCABULARY */
    const char *model;                        /* file name of the model in the folder; NULL for
                                                 tokenizer.json */
    const struct clf__tokenizer_class *class; /* source of special tokens and languages; may be NULL */
    const struct clf__class_settings *settings;
    int is_rebuilt; /* replaces sections of the file with those of the class, as transformers does */
    int adds_prefix_space, cleans_up;
    int rows; /* vocabulary rows of the model */
    const char *unknown_token;
};

struct clf__pipeline_result {
    void *state; /* state of the segmenter */
    const struct clf__segmenter *segmenter;
    struct clf__vocabulary vocabulary; /* one entry for each model row; rows without a token are spare */
    int32_t unknown;                   /* id of the unknown token, or -1 */
    struct clf__template template;
};

/* Reads tokenizer.json or the file used instead. Returns CLF_FORMAT for damaged files and CLF_UNSUPPORTED for
 * unsupported features; both messages name the file, section and part. */
clf_status clf__pipeline_read(struct clf__pipeline_result *out, const struct clf__pipeline_options *options);

#endif
