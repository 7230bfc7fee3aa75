/* A segmenter splits text into the tokens of a vocabulary and joins tokens into text. Each kind is a table of
 * functions in one file; choose.c selects the kind for a model folder. */
#ifndef CLF_TEXT_SEGMENTERS_SEGMENTER_H
#define CLF_TEXT_SEGMENTERS_SEGMENTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct clf__json;
struct clf__token_list;
struct clf__vocabulary;

/* Called with each token in turn; an error stops segmentation and is returned. */
typedef clf_status clf__token_function(void *user, const char *token, size_t length);
/* Called with each id; for the unknown token, `text` is the unknown part of the normalised text. */
typedef clf_status clf__id_function(void *user, int32_t id, const char *text, size_t size);

/* A model folder and the settings of its tokenizer_config.json for segmenters. */
struct clf__segmenter_folder {
    const char *path;
    int cleans_up;                        /* clean_up_tokenization_spaces */
    int splits_words;                     /* pre_tokenizer is WhitespaceSplit */
    int lowers_case;                      /* do_lower_case; only clf__segmenter_fsmt uses it */
    const char *word_delimiter;           /* word_delimiter_token; may be NULL */
    const char *model;                    /* file for both sides; NULL: source.spm and target.spm */
    int joins_plainly, adds_prefix_space; /* settings of the tokenizer class */
    const char *source_language,
        *target_language; /* language codes if segmentation depends on the language; may be NULL */
};

struct clf__segmenter {
    const char *name; /* name shown by `clformer inspect` */
    /* Tokens come from a model: the vocabulary must have an unknown token, which is not part of text.
     * Otherwise an unknown token is optional, and unknown words are part of text. */
    int has_model;

    /* Creates the state of the source or target side; returns CLF_FILE for an unreadable file. NULL:
     * stateless. */
    clf_status (*open)(void **state, const struct clf__segmenter_folder *folder, int target);
    void (*free)(void *state);
    /* Adds all tokens of the model except the first `skipped`, in order of id. NULL: no model. */
    clf_status (*add_tokens)(const void *state, struct clf__token_list *tokens, int skipped);
    /* Segments valid UTF-8; NUL bytes are white space. A segmenter whose state has ids implements `number`
     * instead and finds special tokens itself. */
    clf_status (*segment)(const void *state, const char *text, size_t size, clf__token_function *function,
                          void *user);
    clf_status (*number)(const void *state, const char *text, size_t size, clf__id_function *function,
                         void *user);
    /* Joins tokens into text; the caller frees *text. */
    clf_status (*join)(const void *state, char **text, const char *const *tokens, int count);
};

/* Splits at white space. Stateless: segment() takes NULL. */
extern const struct clf__segmenter clf__segmenter_words;
/* Splits into characters, with a delimiter for white space. segment() takes the delimiter, a string. */
extern const struct clf__segmenter clf__segmenter_characters;
/* SentencePiece models. */
extern const struct clf__segmenter clf__segmenter_sentencepiece;

/* Bytes; stateless. */
extern const struct clf__segmenter clf__segmenter_bytes;

/* No segmenter: text fails with CLF_FILE and a message that asks for the folder's `model`. */
extern const struct clf__segmenter clf__segmenter_missing;

/* Byte-level BPE with merges.txt. */
extern const struct clf__segmenter clf__segmenter_byte_level;

/* Lower-case BPE with merges.txt: subwords that do not end a word end with @@. */
extern const struct clf__segmenter clf__segmenter_subwords;

/* BPE of words from the Moses tokenizer, with the language's rules. */
extern const struct clf__segmenter clf__segmenter_moses;
/* The same for transformers' FSMTTokenizer: tokens that end a word end with </w>. */
extern const struct clf__segmenter clf__segmenter_fsmt;

/* Reads the segmenter settings of tokenizer_config.json, which the folder borrows. */
clf_status clf__segmenter_read_config(struct clf__segmenter_folder *folder, const struct clf__json *config);
/* Selects the segmenter of a folder: SentencePiece if source.spm or target.spm exists (both are required),
 * characters if there is a word delimiter, otherwise words. Fails if the target vocabulary has SentencePiece
 * or byte-level tokens, unless the configuration defines the segmentation. */
clf_status clf__segmenter_choose(const struct clf__segmenter **out,
                                 const struct clf__segmenter_folder *folder,
                                 const struct clf__vocabulary *target);
/* Return whether a vocabulary contains tokens with SentencePiece's space mark, or with the byte-level one. */
int clf__segmenter_has_sentencepiece(const struct clf__vocabulary *vocabulary);
int clf__segmenter_has_byte_level(const struct clf__vocabulary *vocabulary);

#endif
