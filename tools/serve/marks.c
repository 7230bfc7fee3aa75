#include "serve/marks.h"

#include <stdlib.h>
#include <string.h>

int marks_add(struct marks *marks, const struct clf_mark *elements, int count)
{
    if (marks->count == marks->capacity) {
        size_t capacity = marks->capacity * 2 + 16;
        struct marked_text *grown = realloc(marks->texts, capacity * sizeof *grown);
        if (grown == NULL) {
            return 0;
        }
        marks->texts = grown;
        marks->capacity = capacity;
    }
    struct marked_text text = {.count = count};
    if (count > 0) {
        text.elements = calloc((size_t)count, sizeof *text.elements);
        if (text.elements == NULL) {
            return 0;
        }
        memcpy(text.elements, elements, (size_t)count * sizeof *elements);
    }
    marks->texts[marks->count++] = text;
    return 1;
}

int marks_copy(struct marks *out, const struct marks *marks)
{
    *out = (struct marks){.count = 0};
    for (size_t i = 0; i < marks->count; i++) {
        if (!marks_add(out, marks->texts[i].elements, marks->texts[i].count)) {
            marks_free(out);
            return 0;
        }
    }
    return 1;
}

void marks_free(struct marks *marks)
{
    for (size_t i = 0; i < marks->count; i++) {
        free(marks->texts[i].elements);
    }
    free(marks->texts);
    *marks = (struct marks){.count = 0};
}

int marks_move(struct marked_text *text, const struct clf__markup_pair *pair)
{
    struct clf_mark *moved = text->count > 0 ? calloc((size_t)text->count, sizeof *moved) : NULL;
    if (text->count == 0) {
        return 1;
    }
    if (moved == NULL || clf__markup_move(moved, text->elements, text->count, pair) != CLF_OK) {
        free(moved);
        return 0;
    }
    free(text->elements);
    text->elements = moved;
    return 1;
}
