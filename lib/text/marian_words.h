/* Marian's vocabularies: SentencePiece models, whose own ids count, YAML or JSON files of words with their
 * ids, and lists of words, one a line. */
#ifndef CLF_TEXT_MARIAN_WORDS_H
#define CLF_TEXT_MARIAN_WORDS_H

#include "text/tokenizer.h"

struct clf__word_ids {
    int count;
    int32_t end, unknown; /* -1: there is none */
};

/* What a vocabulary says of its special words. */
clf_status clf__marian_word_ids(struct clf__word_ids *out, const char *path);

/* A tokenizer of two of them, which may be one file. A model of more or fewer words than the options say is
 * CLF_FORMAT. */
clf_status clf__tokenizer_load_marian(struct clf__tokenizer **out, const char *source_words,
                                      const char *target_words, const struct clf__tokenizer_options *options);

#endif
