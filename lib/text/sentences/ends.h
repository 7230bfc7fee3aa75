/* Whether a sentence ends at a mark that may end one. */
#ifndef CLF_TEXT_SENTENCES_ENDS_H
#define CLF_TEXT_SENTENCES_ENDS_H

#include "text/sentences/marks.h"

/* Where the sentence that begins at `start` ends: behind its last mark, or where its line or the text ends.
 */
size_t clf__sentence_end(const struct clf__passage *passage, size_t start);

#endif
