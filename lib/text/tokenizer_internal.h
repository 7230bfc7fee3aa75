/* What the files of the tokenizer share. */
#ifndef CLF_TEXT_TOKENIZER_INTERNAL_H
#define CLF_TEXT_TOKENIZER_INTERNAL_H

#include <jansson.h>

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

/* tokenizer_json.c: whether a folder's tokenizer is its tokenizer.json, because the files of the class are
 * not there; and reading it, or the folder's model as transformers does. `is_named`: the folder says that the
 * class is the tokenizer's. */
clf_status clf__tokenizer_has_json(int *out, const struct clf__tokenizer *tokenizer, const char *folder);
clf_status clf__tokenizer_load_json(struct clf__tokenizer *tokenizer,
                                    const struct clf__segmenter_folder *folder,
                                    const struct clf__class_settings *settings, const json_t *config,
                                    const char *unknown_token, int is_named);

/* The text of a tokenizer with nothing but its options, from one file. */
struct clf__pipeline_options;
clf_status clf__tokenizer_read_pipeline(struct clf__tokenizer *tokenizer,
                                        const struct clf__pipeline_options *options);

#endif
