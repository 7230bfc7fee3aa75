/* tokenizer.json as one segmenter: added tokens, normaliser, pre-tokeniser, model, decoder. */
#ifndef CLF_TEXT_JSON_PIPELINE_H
#define CLF_TEXT_JSON_PIPELINE_H

#include <jansson.h>

#include "text/json/template.h"
#include "text/segmenters/segmenter.h"
#include "text/vocabulary.h"

struct clf__class_settings;
struct clf__tokenizer_class;

/* What a pipeline is read from. */
enum clf__pipeline_source {
    CLF__PIPELINE_JSON,          /* tokenizer.json */
    CLF__PIPELINE_SENTENCEPIECE, /* a SentencePiece model, read as the class's */
    CLF__PIPELINE_TIKTOKEN,      /* a file of tokens and their ranks */
    CLF__PIPELINE_VOCABULARY,    /* Whisper's tokens, whose ids are ranks */
};

/* What the folder says beside the file. */
struct clf__pipeline_options {
    const char *folder;
    enum clf__pipeline_source source;
    const struct clf__vocabulary *vocabulary; /* of CLF__PIPELINE_VOCABULARY */
    const char *model;                        /* the file in it; of tokenizer.json NULL */
    const struct clf__tokenizer_class *class; /* whose special tokens and languages there are, or NULL */
    const struct clf__class_settings *settings;
    int is_rebuilt; /* transformers takes the class's sections in place of the file's */
    int adds_prefix_space, cleans_up;
    int rows; /* of the model */
    const char *unknown_token;
};

struct clf__pipeline_result {
    void *state; /* of the segmenter */
    const struct clf__segmenter *segmenter;
    struct clf__vocabulary vocabulary; /* with a row for each of the model's: others stand for nothing */
    int32_t unknown;                   /* or -1 */
    struct clf__template template;
};

/* Reads tokenizer.json, or the file in its place. What is damaged is CLF_FORMAT, and what is not supported
 * CLF_UNSUPPORTED; both name file, section and part. */
clf_status clf__pipeline_read(struct clf__pipeline_result *out, const struct clf__pipeline_options *options);

#endif
