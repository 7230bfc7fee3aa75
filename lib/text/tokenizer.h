/* Text to ids and back, as a model folder's files say. */
#ifndef CLF_TEXT_TOKENIZER_H
#define CLF_TEXT_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct clf__segmenter;
struct clf__tokenizer;

/* What the model's configuration fixes for its text. */
struct clf__tokenizer_options {
    int source_vocabulary; /* ids of the source side, 0: no source text (speech) */
    int target_vocabulary;
    int separate;                 /* target ids come from target_vocab.json */
    int source_start_id;          /* put before a source, or -1 */
    int source_end_id;            /* put after a source, or -1 */
    int pad_id, start_id, end_id; /* of the target: never part of a text; -1 for none */
};

/* Loads vocab.json, target_vocab.json, tokenizer_config.json and what the segmenter needs (text/segmenters/
 * segmenter.h says which one) of a folder. A vocabulary must hold the ids 0 .. size-1 once each; anything
 * else names the file. */
clf_status clf__tokenizer_load(struct clf__tokenizer **out, const char *folder,
                               const struct clf__tokenizer_options *options);
void clf__tokenizer_free(struct clf__tokenizer *tokenizer);

/* tokenizer_config.json's model_max_length, or 0 where it says none. */
int clf__tokenizer_max_length(const struct clf__tokenizer *tokenizer);
/* How the target's text is cut and joined. */
const struct clf__segmenter *clf__tokenizer_segmenter(const struct clf__tokenizer *tokenizer);

/* Ids of a growing list. */
struct clf__ids {
    int32_t *data;
    int count, capacity;
};
void clf__ids_free(struct clf__ids *ids);
clf_status clf__ids_append(struct clf__ids *ids, int32_t id);

/* A line's ids; replaces the contents of *ids. A source's are framed; a target's have the end token after
 * them and no start token: what a decoder should generate. Text is valid UTF-8 of size bytes (NUL bytes count
 * as white space); not valid is CLF_TEXT with the byte's offset. With source.spm a leading >>code<< is one
 * token, as in transformers: one that the vocabulary does not know is the unknown id. pieces: the line is
 * pieces between white space (--tokens), an unknown one the unknown id, as in text. */
clf_status clf__tokenizer_encode(const struct clf__tokenizer *tokenizer, struct clf__ids *ids,
                                 const char *text, size_t size, int target, int pieces);

/* The text of generated ids, start, end and pad left out; the caller frees *text. */
clf_status clf__tokenizer_decode(const struct clf__tokenizer *tokenizer, char **text, const int32_t *ids,
                                 int count);

/* One piece, borrowed; NULL for an id outside the vocabulary. */
const char *clf__tokenizer_source_piece(const struct clf__tokenizer *tokenizer, int32_t id);
const char *clf__tokenizer_target_piece(const struct clf__tokenizer *tokenizer, int32_t id);
/* The id of a target piece, or -1. */
int32_t clf__tokenizer_target_id(const struct clf__tokenizer *tokenizer, const char *piece);

#endif
