/* Trains SentencePiece models with the library. */
#ifndef CLF_TEXT_SEGMENTERS_TRAIN_SENTENCEPIECE_H
#define CLF_TEXT_SEGMENTERS_TRAIN_SENTENCEPIECE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Maximum size of a sentence passed to the library. */
enum { CLF__SENTENCE_BYTES = 4192 };

/* Sets *text to the next sentence, borrowed until the next call; returns 0 at the end. Invalid UTF-8 is
 * skipped. A sentence longer than CLF__SENTENCE_BYTES is split at spaces or, if there are none, between
 * characters.
 */
typedef int clf__sentence_function(void *user, const char **text, size_t *size);

struct clf__sentencepiece_training {
    clf__sentence_function *next;
    void (*rewind)(void *user); /* restarts at the first sentence */
    void *user;
    int pieces;         /* vocabulary size including the unknown token; no start, end or pad tokens */
    int others;         /* other tokens of the vocabulary, added to sizes in error messages */
    const char *output; /* the .spm file to write atomically */
    int (*interrupted)(void *user); /* may be NULL; called on the calling thread ten times a second */
    void *interrupted_user;
};

/* Trains a Unigram model (Kudo 2018) on NFKC-normalised text, deterministically, on another thread. Returns
 * CLF_TEXT if the text has too few words or too many characters for `pieces`. After an interruption, returns
 * CLF_INTERRUPTED at once; the thread continues, and exit() waits for it. */
clf_status clf__sentencepiece_train(struct clf__sentencepiece_training *training);

#endif
