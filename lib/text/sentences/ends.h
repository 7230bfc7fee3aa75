/* Decides whether a sentence ends at a mark. */
#ifndef CLF_TEXT_SENTENCES_ENDS_H
#define CLF_TEXT_SENTENCES_ENDS_H

#include "text/sentences/marks.h"

/* Returns the end of the sentence that begins at `start`: after its last mark, or at the end of its line or
 * of the text. */
size_t clf__sentence_end(const struct clf__passage *passage, size_t start);

#endif
