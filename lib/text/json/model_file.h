/* A SentencePiece model as the tokenizer.json that transformers 5 makes of it in memory for a class
 * (SentencePieceExtractor and the class's convert_from_spm). */
#ifndef CLF_TEXT_JSON_MODEL_FILE_H
#define CLF_TEXT_JSON_MODEL_FILE_H

#include "text/json/pipeline.h"

/* Reads the file at `path`; the options' class, which has a pipeline, says what stands around its pieces. The
 * caller gives *out back with json_decref(). */
clf_status clf__model_file_read(json_t **out, const char *path, const struct clf__pipeline_options *options);

#endif
