/* The inline elements of texts. */
#ifndef CLF_TOOLS_SERVE_MARKS_H
#define CLF_TOOLS_SERVE_MARKS_H

#include <jansson.h>

#include "text/markup/markup.h"

/* For each text of an array its elements, which may be none; zero-initialise. */
struct marks {
    struct marked_text {
        struct clf_mark *elements; /* (count) owned */
        int count;
    } * texts; /* (count) owned */
    size_t count, capacity;
};

/* Appends a text and copies its elements; returns 0 if out of memory. */
int marks_add(struct marks *marks, const struct clf_mark *elements, int count);
/* Returns 0 if out of memory. */
int marks_copy(struct marks *out, const struct marks *marks);
void marks_free(struct marks *marks);

/* Moves the elements of a text to its translation; returns 0 if out of memory. */
int marks_move(struct marked_text *text, const struct clf__markup_pair *pair);

#endif
