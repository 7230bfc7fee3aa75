/* Creates a tokenizer from the vocabularies in another engine's files. */
#ifndef CLF_TEXT_TOKENIZER_MAKE_H
#define CLF_TEXT_TOKENIZER_MAKE_H

#include "text/tokenizers/segmenters/segmenter.h"
#include "text/tokenizers/tokenizer.h"
#include "text/tokenizers/vocabulary.h"

/* Tokens are looked up by text in the vocabulary; ids of the segmenter's model are ignored. */
struct clf__tokenizer_material {
    struct clf__tokenizer_options options;
    struct clf__segmenter_folder folder;
    const struct clf__segmenter *segmenter;
    struct clf__vocabulary source, target; /* moved into the tokenizer; target size 0: shared vocabulary */
    const char *unknown;
    const char *source_language, *target_language; /* NULL: unknown */
};
/* Creates a tokenizer and zeroes the vocabularies, which are moved into it. */
clf_status clf__tokenizer_make(struct clf__tokenizer **out, struct clf__tokenizer_material *material);

#endif
