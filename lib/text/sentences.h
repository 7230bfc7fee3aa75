/* Where the sentences of a text begin and end. */
#ifndef CLF_TEXT_SENTENCES_H
#define CLF_TEXT_SENTENCES_H

#include <stddef.h>

#include "base/status.h"

/* A part of a text, without the white space around it. */
struct clf__part {
    size_t start, size;
};
struct clf__part_list {
    struct clf__part *items;
    int count, capacity;
};
clf_status clf__part_list_add(struct clf__part_list *list, struct clf__part part);
void clf__part_list_free(struct clf__part_list *list);

/* Adds the sentences of a text in any language, in their order; white space alone has none. */
clf_status clf__sentences_find(struct clf__part_list *out, const char *text, size_t size);

/* Whether a text holds more than one sentence. */
int clf__sentences_are_several(const char *text, size_t size);

/* A text's part [start, end) without the white space around it; size 0 where there is nothing else. */
struct clf__part clf__part_trim(const char *text, size_t start, size_t end);

#endif
