/* Text to ids and back, as a model folder's files say. */
#ifndef CLF_TEXT_TOKENIZER_H
#define CLF_TEXT_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct clf__pieces;
struct clf__segmenter;
struct clf__tokenizer;

/* As the end of a source: the model does not say how one is framed, and the tokenizer's class does. */
enum { CLF__FRAMED_BY_CLASS = -2 };

/* What the model's configuration fixes for its text. */
struct clf__tokenizer_options {
    int source_vocabulary; /* ids of the source side, 0: no source text (speech) */
    int target_vocabulary;
    int separate;                 /* target ids come from target_vocab.json */
    int source_start_id;          /* put before a source, or -1 */
    int source_end_id;            /* put after a source, or -1 or CLF__FRAMED_BY_CLASS */
    int pad_id, start_id, end_id; /* of the target: never part of a text; -1 for none */
    const char *class_name;       /* where the folder's files say none; NULL: none */
};

/* Loads tokenizer_config.json, and the files of the class that it names (text/classes/class.h); without a
 * class, or without its model, vocab.json, target_vocab.json and what the segmenter needs
 * (text/segmenters/segmenter.h says which one). A vocab.json must hold the ids 0 .. size-1 once each;
 * anything else names the file. The model may have more rows than there are tokens, or fewer: rows without a
 * token are specials, and a text that needs a token without a row is CLF_TEXT. */
clf_status clf__tokenizer_load(struct clf__tokenizer **out, const char *folder,
                               const struct clf__tokenizer_options *options);
/* The same from a file of openai/whisper's, whose name ends in .tiktoken (text/json/tiktoken.h). */
clf_status clf__tokenizer_load_tiktoken(struct clf__tokenizer **out, const char *folder, const char *name,
                                        const struct clf__tokenizer_options *options);
/* The same from a vocabulary of Whisper's (text/json/tiktoken.h) that a folder holds. */
struct clf__vocabulary;
clf_status clf__tokenizer_load_ranked(struct clf__tokenizer **out, const char *folder,
                                      const struct clf__vocabulary *vocabulary,
                                      const struct clf__tokenizer_options *options);
void clf__tokenizer_free(struct clf__tokenizer *tokenizer);

enum { CLF__MOST_FRAMING = 2 };

/* What languages do to a source and to the target's beginning. */
struct clf__framing {
    int32_t before[CLF__MOST_FRAMING], behind[CLF__MOST_FRAMING]; /* ids around a source; -1 for none */
    const char *word;      /* goes before a source's text, or NULL; the tokenizer's */
    int32_t forced_first;  /* id of the first generated token, or -1 */
    int32_t decoder_start; /* id that the decoder starts with, or -1: the model's */
};

/* For two languages by their codes or short ones, of which each may be NULL: the folder's source, and no
 * target. One that the model does not have, or is not told, is CLF_BAD_ARGUMENT. */
clf_status clf__tokenizer_frame(struct clf__framing *out, const struct clf__tokenizer *tokenizer,
                                const char *source_language, const char *target_language);
/* How many ids stand around a source: one that has no others is empty. */
int clf__framing_count(const struct clf__framing *framing);

/* How many languages there are, and the code of one. */
int clf__tokenizer_languages(const struct clf__tokenizer *tokenizer);
const char *clf__tokenizer_language(const struct clf__tokenizer *tokenizer, int index);
/* The folder's, or NULL. */
const char *clf__tokenizer_source_language(const struct clf__tokenizer *tokenizer);
const char *clf__tokenizer_target_language(const struct clf__tokenizer *tokenizer);
int clf__tokenizer_is_language(const struct clf__tokenizer *tokenizer, int32_t id);
/* Whether the target's beginning says its language. */
int clf__tokenizer_needs_target(const struct clf__tokenizer *tokenizer);
/* The name of its class, or NULL. */
const char *clf__tokenizer_class_name(const struct clf__tokenizer *tokenizer);

/* Ids of a growing list. */
struct clf__ids {
    int32_t *data;
    int count, capacity;
};
void clf__ids_free(struct clf__ids *ids);
clf_status clf__ids_append(struct clf__ids *ids, int32_t id);

/* tokenizer_config.json's model_max_length, or 0 where it says none. */
int clf__tokenizer_max_length(const struct clf__tokenizer *tokenizer);
/* Whether a source's ids are a target's: they are those of one vocabulary. */
int clf__tokenizer_shares_words(const struct clf__tokenizer *tokenizer);
/* Adds the ids of a target that no token has: rows that fill the model's vocabulary up. */
clf_status clf__tokenizer_spare(const struct clf__tokenizer *tokenizer, struct clf__ids *ids);
/* How many rows the model has for each side. */
void clf__tokenizer_sizes(const struct clf__tokenizer *tokenizer, int *source, int *target);
/* How the target's text is cut and joined. */
const struct clf__segmenter *clf__tokenizer_segmenter(const struct clf__tokenizer *tokenizer);

/* A line's ids; replaces the contents of *ids. A source's are framed; a target's have the end token after
 * them and no start token: what a decoder should generate. Text is valid UTF-8 of size bytes (NUL bytes count
 * as white space); not valid is CLF_TEXT with the byte's offset. With source.spm a leading >>code<< is one
 * token, as in transformers: one that the vocabulary does not know is the unknown id. pieces: the line is
 * pieces between white space (--tokens), an unknown one the unknown id, as in text. With a class's model,
 * special tokens and languages that are written in a text are those tokens, as in transformers. */
clf_status clf__tokenizer_encode(const struct clf__tokenizer *tokenizer, struct clf__ids *ids,
                                 const char *text, size_t size, int target, int pieces);
/* A source with a framing of this tokenizer. */
clf_status clf__tokenizer_encode_source(const struct clf__tokenizer *tokenizer,
                                        const struct clf__framing *framing, struct clf__ids *ids,
                                        const char *text, size_t size, int pieces);

/* The pieces of a source's text, one for each of its ids but those that frame it; what is unknown as it is
 * written there. They are added to a list that is zeroed at first, the caller's in any case. */
clf_status clf__tokenizer_source_tokens(const struct clf__tokenizer *tokenizer,
                                        const struct clf__framing *framing, struct clf__pieces *tokens,
                                        const char *text, size_t size, int pieces);

/* The id of a target that stands for what is unknown, or -1. */
int32_t clf__tokenizer_unknown(const struct clf__tokenizer *tokenizer);

/* Whether a generated id is a part of the text, or of the pieces. */
int clf__tokenizer_is_text(const struct clf__tokenizer *tokenizer, int32_t id, int pieces);

/* The text of generated ids, or their pieces with spaces between; start, end and pad left out. The caller
 * frees *text. */
clf_status clf__tokenizer_decode(const struct clf__tokenizer *tokenizer, char **text, const int32_t *ids,
                                 int count, int pieces);

/* The same where `given` (count; NULL: none) has pieces that stand in the place of some: NULL for the others.
 */
clf_status clf__tokenizer_decode_given(const struct clf__tokenizer *tokenizer, char **text,
                                       const int32_t *ids, int count, const char *const *given, int pieces);

/* One piece, borrowed; NULL for an id outside the vocabulary. */
const char *clf__tokenizer_source_piece(const struct clf__tokenizer *tokenizer, int32_t id);
const char *clf__tokenizer_target_piece(const struct clf__tokenizer *tokenizer, int32_t id);
/* The id of a target piece, or -1. */
int32_t clf__tokenizer_target_id(const struct clf__tokenizer *tokenizer, const char *piece);
/* The id of a piece of the target or the source; the unknown one's where it has none of its own, or -1. */
int32_t clf__tokenizer_piece_id(const struct clf__tokenizer *tokenizer, int is_target, const char *piece,
                                size_t length);

#endif
