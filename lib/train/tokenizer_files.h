/* The tokenizer's files of a new model folder, made from the text that it will be trained on. */
#ifndef CLF_TRAIN_TOKENIZER_FILES_H
#define CLF_TRAIN_TOKENIZER_FILES_H

#include "config/config.h"
#include "config/write.h"

struct clf__tokenizer_making {
    enum clf__system system;
    int frames;                            /* the source is frames; transcripts are cut into characters */
    const char *source_path, *target_path; /* as a dataset has them */
    int pieces;   /* lines are pieces between white space; else SentencePiece is trained */
    int size;     /* ids of each vocabulary, special tokens counted; 0: every piece (SentencePiece: 8,000) */
    int separate; /* a vocabulary for each side */
    const char *source_vocabulary, *target_vocabulary; /* given in place of built: a vocab.json, or a text
                                                        * file whose lines begin with a piece; NULL: built.
                                                        * One for both sides is the source's */
    int max_length; /* of a source, tokenizer_config.json's model_max_length; 0: clf__model_describe() fills
                       in the model's */
    const char *source_language, *target_language; /* NULL: unknown */
    int (*interrupted)(void *user);                /* NULL: never; CLF_INTERRUPTED while pieces are learned */
    void *user;
};

/* Writes source.spm and target.spm, vocab.json, target_vocab.json and tokenizer_config.json, whichever there
 * must be, and fills in what the model's description has from them: sizes, ids, whether they are separate. */
clf_status clf__tokenizer_files_make(struct clf__model_description *out, const char *folder,
                                     const struct clf__tokenizer_making *options);

#endif
