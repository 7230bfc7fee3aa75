/* Learning SentencePiece models through its library. */
#ifndef CLF_TEXT_TRAIN_SENTENCEPIECE_H
#define CLF_TEXT_TRAIN_SENTENCEPIECE_H

#include "base/status.h"

struct clf__piece_training {
    const char *const *paths; /* text files, one line a sentence */
    int path_count;
    int pieces;         /* how many, unknown, start and end among them */
    const char *output; /* the .spm file to write; it appears whole or not at all */
};

/* The same text gives the same model. Text that is too short for so many pieces is CLF_TEXT, saying how many
 * there can be. */
clf_status clf__sentencepiece_train(const struct clf__piece_training *training);

#endif
