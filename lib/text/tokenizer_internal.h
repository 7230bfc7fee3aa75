/* What the files of the tokenizer share. */
#ifndef CLF_TEXT_TOKENIZER_INTERNAL_H
#define CLF_TEXT_TOKENIZER_INTERNAL_H

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
    int max_length;
};

#endif
