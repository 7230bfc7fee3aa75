/* Shared by the files of the tokenizer. */
#ifndef CLF_TEXT_TOKENIZER_INTERNAL_H
#define CLF_TEXT_TOKENIZER_INTERNAL_H

#include <jansson.h>

#include "text/tokenizers/added_tokens.h"
#include "text/tokenizers/classes/class.h"
#include "text/tokenizers/languages.h"
#include "text/tokenizers/segmenters/segmenter.h"
#include "text/tokenizers/token_finder.h"
#include "text/tokenizers/tokenizer.h"
#include "text/tokenizers/vocabulary.h"

/* One side: its segmenter and vocabulary. */
struct clf__tokenizer_side {
    const struct clf__segmenter *segmenter;
    void *state;                              /* state of the segmenter */
    const struct clf__vocabulary *vocabulary; /* NULL: this side is not text and has no segmenter */
    int32_t unknown_id;                       /* id of the unknown token, or -1 */
    int shows_unknown; /* the unknown token is part of decoded text; otherwise it is omitted */
};

struct clf__tokenizer {
    struct clf__tokenizer_options options;
    const struct clf__tokenizer_class *class; /* tokenizer class, or NULL */
    struct clf__vocabulary vocabulary,
        target_vocabulary;                     /* target_vocabulary: used if the vocabularies are separate */
    struct clf__tokenizer_side source, target; /* with one model, both share the state */
    struct clf__token_finder found;
    struct clf__languages languages;
    enum clf__language_place place;
    char *source_language, *target_language; /* default languages; may be NULL */
    struct clf__framing framing;             /* framing for the default languages */
    int has_own_framing; /* a file defines the framing of sources, used if no language is requested: */
    int32_t own_before[CLF__MOST_FRAMING], own_behind[CLF__MOST_FRAMING];
    int max_length;
};

struct clf__class_settings;

/* Fails with CLF_TEXT, naming the token, if the model has no row for an id. */
clf_status clf__tokenizer_check_row(const struct clf__vocabulary *vocabulary, int32_t id, int rows);

/* Appends advice about a missing file to the message of CLF_FILE. */
clf_status clf__tokenizer_needed(clf_status status);
/* Finds the id of the unknown token; returns CLF_FORMAT if the side needs one and has none. Whisper folders
 * name an empty token, but byte-level segmentation never needs one. */
clf_status clf__tokenizer_find_unknown(struct clf__tokenizer_side *side, const char *token);
/* Enables finding added tokens in unprocessed text. */
void clf__tokenizer_find_in_text(struct clf__tokenizer *tokenizer);

/* tokenizer_model.c: reads the files of the class, one of which is a model for both sides. */
clf_status clf__tokenizer_load_model(struct clf__tokenizer *tokenizer,
                                     const struct clf__segmenter_folder *folder,
                                     const struct clf__class_settings *settings, const char *unknown_token);
/* If a folder names no class, replaces the default class if the folder's SentencePiece model belongs to
 * another one. */
clf_status clf__tokenizer_class_of_model(struct clf__tokenizer *tokenizer, const char *folder);

/* tokenizer_json.c: clf__tokenizer_has_json() tests whether a folder uses its tokenizer.json because files of
 * the class are missing; clf__tokenizer_load_json() reads this file, or the folder's model as transformers
 * does. `is_named`: the folder names the tokenizer's class. */
clf_status clf__tokenizer_has_json(int *out, const struct clf__tokenizer *tokenizer, const char *folder);
clf_status clf__tokenizer_load_json(struct clf__tokenizer *tokenizer,
                                    const struct clf__segmenter_folder *folder,
                                    const struct clf__class_settings *settings, const char *unknown_token,
                                    int is_named);

/* Creates the text side of a tokenizer from one file, with default options. */
struct clf__pipeline_options;
clf_status clf__tokenizer_read_pipeline(struct clf__tokenizer *tokenizer,
                                        const struct clf__pipeline_options *options);

#endif
