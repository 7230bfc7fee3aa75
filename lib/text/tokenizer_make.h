/* A tokenizer of vocabularies that another engine's files hold. */
#ifndef CLF_TEXT_TOKENIZER_MAKE_H
#define CLF_TEXT_TOKENIZER_MAKE_H

#include "text/segmenters/segmenter.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

/* Pieces are looked up by their texts in the vocabulary, whatever ids the segmenter's model has. */
struct clf__tokenizer_material {
    struct clf__tokenizer_options options;
    struct clf__segmenter_folder folder;
    const struct clf__segmenter *segmenter;
    struct clf__vocabulary source, target; /* taken; the target's of size 0: one for both */
    const char *unknown;
    const char *source_language; /* of its text, where it is known; or NULL */
};
/* What is taken is zeroed. */
clf_status clf__tokenizer_make(struct clf__tokenizer **out, struct clf__tokenizer_material *material);

#endif
