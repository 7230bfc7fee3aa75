/* Items of a list within one line: "1. Open the lid 2. Fill in the water". */
#ifndef CLF_TEXT_SENTENCES_ITEMS_H
#define CLF_TEXT_SENTENCES_ITEMS_H

#include "text/sentences/marks.h"

/* Returns the offset of the next item's marker if the sentence at `start` is an item; otherwise the size of
 * the passage. */
size_t clf__item_end(const struct clf__passage *passage, size_t start);

#endif
