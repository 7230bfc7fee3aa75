/* Encodes text as ids and decodes ids to text with the files of a model folder. */
#ifndef CLF_TEXT_TOKENIZER_H
#define CLF_TEXT_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct clf__token_list;
struct clf__segmenter;
struct clf__tokenizer;

/* Value of source_end_id if the tokenizer class, not the model's configuration, frames sources. */
enum { CLF__FRAMED_BY_CLASS = -2 };

/* Tokenizer settings from the model's configuration. */
struct clf__tokenizer_options {
    int source_vocabulary; /* ids of the source side; 0: the source is not text (speech) */
    int target_vocabulary;
    int separate;                 /* target ids come from target_vocab.json */
    int source_start_id;          /* placed before a source, or -1 */
    int source_end_id;            /* placed after a source, or -1 or CLF__FRAMED_BY_CLASS */
    int pad_id, start_id, end_id; /* target ids that are never part of text; -1: none */
    const char *class_name;       /* default if the folder names no class; may be NULL */
};

/* Loads the files of the class in tokenizer_config.json (text/tokenizers/classes/class.h), or vocab.json,
 * target_vocab.json and the segmenter's files. A vocab.json must contain each of the ids 0 .. size-1 exactly
 * once. Rows without a token are special; encoding a token without a row fails with CLF_TEXT. */
clf_status clf__tokenizer_load(struct clf__tokenizer **out, const char *folder,
                               const struct clf__tokenizer_options *options);
/* clf__tokenizer_load() for a .tiktoken file of openai/whisper (text/tokenizers/json/tiktoken.h). */
clf_status clf__tokenizer_load_tiktoken(struct clf__tokenizer **out, const char *folder, const char *name,
                                        const struct clf__tokenizer_options *options);
/* clf__tokenizer_load() for a Whisper vocabulary in a folder (text/tokenizers/json/tiktoken.h). */
struct clf__vocabulary;
clf_status clf__tokenizer_load_ranked(struct clf__tokenizer **out, const char *folder,
                                      const struct clf__vocabulary *vocabulary,
                                      const struct clf__tokenizer_options *options);
void clf__tokenizer_free(struct clf__tokenizer *tokenizer);

enum { CLF__MOST_FRAMING = 2 };

/* Tokens around a source and at the start of a target, which depend on the languages. */
struct clf__framing {
    int32_t before[CLF__MOST_FRAMING], behind[CLF__MOST_FRAMING]; /* ids around a source, padded with -1 */
    const char *word;      /* prepended to the text of a source; may be NULL; owned by the tokenizer */
    int32_t forced_first;  /* first generated id, or -1 */
    int32_t decoder_start; /* decoder start id, or -1: the model's default */
};

/* Creates the framing for two languages by code or short code; NULL: the folder's source language, no target
 * language. Returns CLF_BAD_ARGUMENT if the model lacks the language or does not take one. */
clf_status clf__tokenizer_frame(struct clf__framing *out, const struct clf__tokenizer *tokenizer,
                                const char *source_language, const char *target_language);
/* Removes the tokens around sources and the word before them. */
void clf__framing_clear(struct clf__framing *framing);
/* Returns the number of ids around a source; a source with no other ids is empty. */
int clf__framing_count(const struct clf__framing *framing);

/* Return the number of languages, and a language code. */
int clf__tokenizer_languages(const struct clf__tokenizer *tokenizer);
const char *clf__tokenizer_language(const struct clf__tokenizer *tokenizer, int index);
/* Returns the source language of the folder, or NULL. */
const char *clf__tokenizer_source_language(const struct clf__tokenizer *tokenizer);
const char *clf__tokenizer_target_language(const struct clf__tokenizer *tokenizer);
int clf__tokenizer_is_language(const struct clf__tokenizer *tokenizer, int32_t id);
/* Returns whether a target must start with its language. */
int clf__tokenizer_needs_target(const struct clf__tokenizer *tokenizer);
/* Returns the name of the class, or NULL. */
const char *clf__tokenizer_class_name(const struct clf__tokenizer *tokenizer);

/* A growing list of ids. */
struct clf__ids {
    int32_t *data;
    int count, capacity;
};
void clf__ids_free(struct clf__ids *ids);
clf_status clf__ids_append(struct clf__ids *ids, int32_t id);
/* Sorts ids in ascending order and removes duplicates. */
void clf__ids_sort(struct clf__ids *ids);

/* Returns model_max_length of tokenizer_config.json, or 0 if not set. */
int clf__tokenizer_max_length(const struct clf__tokenizer *tokenizer);
/* Returns whether source and target share one vocabulary. */
int clf__tokenizer_shares_words(const struct clf__tokenizer *tokenizer);
/* Adds the target ids without a token: padding rows of the model's vocabulary. */
clf_status clf__tokenizer_spare(const struct clf__tokenizer *tokenizer, struct clf__ids *ids);
/* Returns the vocabulary rows of the model for each side. */
void clf__tokenizer_sizes(const struct clf__tokenizer *tokenizer, int *source, int *target);
/* Returns the segmenter of the target. */
const struct clf__segmenter *clf__tokenizer_segmenter(const struct clf__tokenizer *tokenizer);

/* Encodes a line; replaces *ids. A source is framed; a target gets only the end token. Returns CLF_TEXT if
 * the text is not valid UTF-8; NUL is white space. With source.spm, a leading >>code<< is one token. If
 * `is_tokenized` is set, the line consists of tokens separated by white space (--tokens). */
clf_status clf__tokenizer_encode(const struct clf__tokenizer *tokenizer, struct clf__ids *ids,
                                 const char *text, size_t size, int target, int is_tokenized);
/* Encodes a source with a framing created by clf__tokenizer_frame(). */
clf_status clf__tokenizer_encode_source(const struct clf__tokenizer *tokenizer,
                                        const struct clf__framing *framing, struct clf__ids *ids,
                                        const char *text, size_t size, int is_tokenized);

/* Appends the token texts of a source, one for each id except framing ids; unknown tokens are kept as
 * written. The list is zero-initialised and freed by the caller, also on failure. */
clf_status clf__tokenizer_source_tokens(const struct clf__tokenizer *tokenizer,
                                        const struct clf__framing *framing, struct clf__token_list *tokens,
                                        const char *text, size_t size, int is_tokenized);

/* Returns the unknown id of the target, or -1. */
int32_t clf__tokenizer_unknown(const struct clf__tokenizer *tokenizer);

/* Returns whether a generated id is part of the decoded text, or of the tokens if is_tokenized is set. */
int clf__tokenizer_is_text(const struct clf__tokenizer *tokenizer, int32_t id, int is_tokenized);

/* Decodes generated ids to text, or to tokens separated by spaces, without start, end and pad. The caller
 * frees *text. */
clf_status clf__tokenizer_decode(const struct clf__tokenizer *tokenizer, char **text, const int32_t *ids,
                                 int count, int is_tokenized);

/* clf__tokenizer_decode() with replacements: a non-NULL string in `given` (count; or NULL) replaces the token
 * at its position. */
clf_status clf__tokenizer_decode_given(const struct clf__tokenizer *tokenizer, char **text,
                                       const int32_t *ids, int count, const char *const *given,
                                       int is_tokenized);

/* Returns one token, borrowed; NULL for an id outside the vocabulary. */
const char *clf__tokenizer_source_token(const struct clf__tokenizer *tokenizer, int32_t id);
const char *clf__tokenizer_target_token(const struct clf__tokenizer *tokenizer, int32_t id);
/* Returns the id of a target token, or -1. */
int32_t clf__tokenizer_target_id(const struct clf__tokenizer *tokenizer, const char *token);
/* Returns the id of a target or source token; if it is not in the vocabulary, the unknown id or -1. */
int32_t clf__tokenizer_token_id(const struct clf__tokenizer *tokenizer, int is_target, const char *token,
                                size_t length);

#endif
