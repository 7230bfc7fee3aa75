/* Splits text into sentences. */
#ifndef CLF_TEXT_SENTENCES_H
#define CLF_TEXT_SENTENCES_H

#include <stddef.h>

#include "base/status.h"

/* A part of a text, without surrounding white space. */
struct clf__part {
    size_t start, size;
};
struct clf__part_list {
    struct clf__part *items;
    int count, capacity;
};
clf_status clf__part_list_add(struct clf__part_list *list, struct clf__part part);
void clf__part_list_free(struct clf__part_list *list);

/* Appends the sentences of a text in any language, in order. White space alone is not a sentence. */
clf_status clf__sentences_find(struct clf__part_list *out, const char *text, size_t size);

/* Returns whether a text contains more than one sentence. */
int clf__sentences_are_several(const char *text, size_t size);

/* Trims white space from the part [start, end) of a text; size 0 if nothing is left. */
struct clf__part clf__part_trim(const char *text, size_t start, size_t end);

#endif
