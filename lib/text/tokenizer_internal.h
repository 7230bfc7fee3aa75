/* What the files of the tokenizer share. */
#ifndef CLF_TEXT_TOKENIZER_INTERNAL_H
#define CLF_TEXT_TOKENIZER_INTERNAL_H

#include <jansson.h>

#include "text/added_tokens.h"
#include "text/classes/class.h"
#include "text/found.h"
#include "text/languages.h"
#include "text/segmenters/segmenter.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

/* One language: how its text is cut and which ids its pieces have. */
struct clf__tokenizer_side {
    const struct clf__segmenter *segmenter;
    void *state;                              /* the segmenter's */
    const struct clf__vocabulary *vocabulary; /* NULL: this side is not text, and has no segmenter */
    int32_t unknown_id;                       /* or -1 */
    int shows_unknown;                        /* it is a part of a text; else it is left out */
};

struct clf__tokenizer {
    struct clf__tokenizer_options options;
    const struct clf__tokenizer_class *class;             /* or NULL */
    struct clf__vocabulary vocabulary, target_vocabulary; /* the second where they are separate */
    struct clf__tokenizer_side source, target;            /* with one model, both have the same state */
    struct clf__found_pieces found;
    struct clf__languages languages;
    enum clf__language_place place;
    char *source_language, *target_language; /* where nothing else is said; NULL: none */
    struct clf__framing framing;             /* the same */
    int has_own_framing; /* where no language is asked for, a source is framed as a file says: */
    int32_t own_before[CLF__MOST_FRAMING], own_behind[CLF__MOST_FRAMING];
    int max_length;
};

struct clf__class_settings;

/* CLF_TEXT, naming the token, unless the model has a row for an id of a vocabulary. */
clf_status clf__tokenizer_check_row(const struct clf__vocabulary *vocabulary, int32_t id, int rows);

/* Adds to the sentence of CLF_FILE what to do about a file that the model needs. */
clf_status clf__tokenizer_needed(clf_status status);
/* Finds the id of the unknown piece; a side that needs one and has none is CLF_FORMAT. Whisper's folders
 * name an empty one, which byte-level pieces never need. */
clf_status clf__tokenizer_find_unknown(struct clf__tokenizer_side *side, const char *token);
/* Added tokens are found in the text as it is written. */
void clf__tokenizer_find_in_text(struct clf__tokenizer *tokenizer);

/* tokenizer_model.c: reads the files of the class, of which one is a model for both sides. */
clf_status clf__tokenizer_load_model(struct clf__tokenizer *tokenizer,
                                     const struct clf__segmenter_folder *folder,
                                     const struct clf__class_settings *settings, const char *unknown_token);
/* Changes the class of a folder that names none where its SentencePiece model is another's. */
clf_status clf__tokenizer_class_of_model(struct clf__tokenizer *tokenizer, const char *folder);

/* tokenizer_json.c: whether a folder's tokenizer is its tokenizer.json, because the files of the class are
 * not there; and reading it, or the folder's model as transformers does. `is_named`: the folder says that the
 * class is the tokenizer's. */
clf_status clf__tokenizer_has_json(int *out, const struct clf__tokenizer *tokenizer, const char *folder);
clf_status clf__tokenizer_load_json(struct clf__tokenizer *tokenizer,
                                    const struct clf__segmenter_folder *folder,
                                    const struct clf__class_settings *settings, const char *unknown_token,
                                    int is_named);

/* The text of a tokenizer with nothing but its options, from one file. */
struct clf__pipeline_options;
clf_status clf__tokenizer_read_pipeline(struct clf__tokenizer *tokenizer,
                                        const struct clf__pipeline_options *options);

#endif
