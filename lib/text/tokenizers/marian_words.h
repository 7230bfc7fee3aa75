/* Marian vocabularies: SentencePiece models with their own ids, YAML or JSON files of words and ids, and
 * lists with one word per line. */
#ifndef CLF_TEXT_MARIAN_WORDS_H
#define CLF_TEXT_MARIAN_WORDS_H

#include "text/tokenizers/tokenizer.h"

struct clf__word_ids {
    int count;
    int32_t end, unknown; /* ids; -1: there is none */
};

/* Reads the ids of the special words of a vocabulary. */
clf_status clf__marian_word_ids(struct clf__word_ids *out, const char *path);

/* Creates a tokenizer from two vocabularies, which may be one file. Returns CLF_FORMAT if the size of a
 * vocabulary differs from the options. */
clf_status clf__tokenizer_load_marian(struct clf__tokenizer **out, const char *source_words,
                                      const char *target_words, const struct clf__tokenizer_options *options);

#endif
