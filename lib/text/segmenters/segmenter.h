/* What a segmenter is: it cuts text into the pieces of a vocabulary and joins them again. Each kind is a
 * table of functions in a file of its own, and choose.c says which kind a model folder has. */
#ifndef CLF_TEXT_SEGMENTERS_SEGMENTER_H
#define CLF_TEXT_SEGMENTERS_SEGMENTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct clf__json;
struct clf__pieces;
struct clf__vocabulary;

/* Called with each piece in turn; a failure ends the cutting and is its result. */
typedef clf_status clf__piece_function(void *user, const char *piece, size_t length);
/* The same with each piece's id, and of the unknown one's what is unknown: bytes of the normalised text. */
typedef clf_status clf__id_function(void *user, int32_t id, const char *text, size_t size);

/* A model folder, and what its tokenizer_config.json says to segmenters. */
struct clf__segmenter_folder {
    const char *path;
    int cleans_up;                        /* clean_up_tokenization_spaces */
    int splits_words;                     /* pre_tokenizer is WhitespaceSplit */
    int lowers_case;                      /* do_lower_case; only clf__segmenter_fsmt applies it */
    const char *word_delimiter;           /* word_delimiter_token, or NULL */
    const char *model;                    /* the file for both sides; NULL: source.spm and target.spm */
    int joins_plainly, adds_prefix_space; /* what clf__tokenizer_class says */
    const char *source_language, *target_language; /* codes, where text is cut by language; or NULL */
};

struct clf__segmenter {
    const char *name; /* as `clformer inspect` says it */
    /* Pieces come of a model: then the vocabulary must have one that stands for the unknown, and texts leave
     * it out. Words may all be known, and an unknown one is shown. */
    int has_model;

    /* Makes the state of one side, which the functions below get; NULL: there is none. A file that cannot be
     * read is CLF_FILE. */
    clf_status (*open)(void **state, const struct clf__segmenter_folder *folder, int target);
    void (*free)(void *state);
    /* Adds all pieces of the model but the first `skipped`, in the order of its own ids. NULL: it has none.
     */
    clf_status (*add_pieces)(const void *state, struct clf__pieces *pieces, int skipped);
    /* The pieces of valid UTF-8; NUL bytes are white space. One that knows ids has `number` in its place, and
     * finds special tokens itself. */
    clf_status (*segment)(const void *state, const char *text, size_t size, clf__piece_function *function,
                          void *user);
    clf_status (*number)(const void *state, const char *text, size_t size, clf__id_function *function,
                         void *user);
    /* The text of pieces; the caller frees *text. */
    clf_status (*join)(const void *state, char **text, const char *const *pieces, int count);
};

/* Words between white space. They have no state: segment takes NULL. */
extern const struct clf__segmenter clf__segmenter_words;
/* Characters, with a delimiter where white space was. Their state is the delimiter: segment takes a string.
 */
extern const struct clf__segmenter clf__segmenter_characters;
/* Pieces of SentencePiece's models. */
extern const struct clf__segmenter clf__segmenter_sentencepiece;

/* Bytes. They have no state. */
extern const struct clf__segmenter clf__segmenter_bytes;

/* None: text is CLF_FILE, with a sentence that asks for the folder's `model`. */
extern const struct clf__segmenter clf__segmenter_missing;

/* Byte pairs of merges.txt. */
extern const struct clf__segmenter clf__segmenter_byte_level;

/* Pairs of characters of merges.txt, in lower case: pieces that do not end a word end with @@. */
extern const struct clf__segmenter clf__segmenter_subwords;

/* The same of the words of Moses' tokenizer, by language. */
extern const struct clf__segmenter clf__segmenter_moses;
/* The same as FSMTTokenizer of transformers cuts: pieces that end a word end with </w>. */
extern const struct clf__segmenter clf__segmenter_fsmt;

/* Which one a folder has: choose.c. First what its tokenizer_config.json says, which the folder borrows. */
clf_status clf__segmenter_read_config(struct clf__segmenter_folder *folder, const struct clf__json *config);
/* With source.spm or target.spm, SentencePiece: either calls for the other, so that one that is missing is
 * named. Without, characters where there is a word delimiter, else words; but a target's vocabulary that
 * holds SentencePiece's or byte-level pieces says that its models are missing, unless the configuration tells
 * how text is cut. */
clf_status clf__segmenter_choose(const struct clf__segmenter **out,
                                 const struct clf__segmenter_folder *folder,
                                 const struct clf__vocabulary *target);
/* Whether a vocabulary has pieces with SentencePiece's mark of a space, or with that of byte-level pieces. */
int clf__segmenter_has_sentencepiece(const struct clf__vocabulary *vocabulary);
int clf__segmenter_has_byte_level(const struct clf__vocabulary *vocabulary);

#endif
