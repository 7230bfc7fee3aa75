/* Decides whether a sentence ends at a single full stop, by the words around it. */
#ifndef CLF_TEXT_SENTENCES_STOPS_H
#define CLF_TEXT_SENTENCES_STOPS_H

#include "text/sentences/following.h"

/* Returns whether the sentence that begins at `start` ends at a single full stop without a quotation mark
 * after it. */
int clf__stop_ends(const struct clf__passage *passage, size_t start, const struct clf__ending *ending,
                   const struct clf__following *following);

#endif
