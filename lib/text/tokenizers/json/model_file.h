/* Converts a SentencePiece model to the tokenizer.json that transformers 5 builds from it in memory
 * (SentencePieceExtractor and convert_from_spm of the class). */
#ifndef CLF_TEXT_JSON_MODEL_FILE_H
#define CLF_TEXT_JSON_MODEL_FILE_H

#include "text/tokenizers/json/pipeline.h"

/* Reads the file at `path`. The class in `options` must have a pipeline and adds its own tokens. The caller
 * frees *out with json_decref(). */
clf_status clf__model_file_read(json_t **out, const char *path, const struct clf__pipeline_options *options);

#endif
