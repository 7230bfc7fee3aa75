/* Items of a list that are written in one line: "1. Open the lid 2. Fill in the water". */
#ifndef CLF_TEXT_SENTENCES_ITEMS_H
#define CLF_TEXT_SENTENCES_ITEMS_H

#include "text/sentences/marks.h"

/* The offset of the next item's marker if a sentence that starts at `start` is an item; the size of the
 * passage if not. */
size_t clf__item_end(const struct clf__passage *passage, size_t start);

#endif
