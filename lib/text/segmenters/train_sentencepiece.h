/* Learning SentencePiece models through its library. */
#ifndef CLF_TEXT_SEGMENTERS_TRAIN_SENTENCEPIECE_H
#define CLF_TEXT_SEGMENTERS_TRAIN_SENTENCEPIECE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* What the library gets at once. */
enum { CLF__SENTENCE_BYTES = 4192 };

/* Gives the next sentence, borrowed until the next call; 0 where there is none. One that is not valid UTF-8
 * teaches nothing; one of more than CLF__SENTENCE_BYTES is cut into several: at spaces, and where a stretch
 * has none (languages that write none are such lines), between characters. */
typedef int clf__sentence_function(void *user, const char **text, size_t *size);

struct clf__piece_training {
    clf__sentence_function *next;
    void (*rewind)(void *user); /* the next sentence is the first again */
    void *user;
    int pieces;         /* how many, the unknown one among them; there are no start, end and pad */
    int others;         /* what a vocabulary holds beside these pieces: messages speak of its size */
    const char *output; /* the .spm file to write; it appears whole or not at all */
    int (*interrupted)(void *user); /* NULL: never; asked on the calling thread, ten times a second */
    void *interrupted_user;
};

/* Unigram pieces (Kudo 2018) of text normalised by NFKC. The same text gives the same model. Text that is too
 * short for so many pieces is CLF_TEXT, saying how many there can be; so are fewer pieces than the text has
 * characters, saying how many there must be.
 *
 * It learns on a thread of its own, which alone calls next() and rewind(). An interruption is CLF_INTERRUPTED
 * at once, and nothing is written: SentencePiece cannot be stopped, so that the thread goes on with memory of
 * its own, and ends with the process at the latest. A process that calls exit() meanwhile waits for it. */
clf_status clf__sentencepiece_train(struct clf__piece_training *training);

#endif
