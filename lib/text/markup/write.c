/* Emits a marked text. */
#include <stdlib.h>

#include "base/memory.h"
#include "text/markup/markup.h"

/* An element to sort. */
struct entry {
    const struct clf_mark *elements;
    int element;
};

/* Returns whether an element is another one or in it, at any depth. */
static int contains(const struct clf_mark *elements, int outer, int inner)
{
    while (inner > outer) {
        inner = elements[inner].parent;
    }
    return inner == outer;
}

/* Sorts elements in the order of their start tags: an outer element first. Otherwise the elements with the
 * same parent that contain the two decide: the one that starts first, or an empty one, or the earlier one. */
static int compare(const void *a, const void *b)
{
    const struct entry *entry = a;
    const struct clf_mark *elements = entry->elements;
    int one = entry->element, other = ((const struct entry *)b)->element;
    if (contains(elements, one, other) || contains(elements, other, one)) {
        return one - other;
    }
    while (elements[one].parent != elements[other].parent) {
        if (elements[one].parent > elements[other].parent) {
            one = elements[one].parent;
        } else {
            other = elements[other].parent;
        }
    }
    if (elements[one].start != elements[other].start) {
        return elements[one].start < elements[other].start ? -1 : 1;
    }
    int is_empty = elements[one].end == elements[one].start;
    int is_other_empty = elements[other].end == elements[other].start;
    return is_empty != is_other_empty ? is_other_empty - is_empty : one - other;
}

/* State of clf__markup_write(). */
struct writer {
    const struct clf_mark *elements;
    clf__markup_take *take;
    void *user;
    size_t at;
    int *open; /* (depth) elements whose end is not emitted */
    int depth;
};

static int write_text(struct writer *writer, size_t end)
{
    int is_ok = end <= writer->at || writer->take(writer->user, CLF__MARKUP_TEXT, -1, writer->at, end);
    writer->at = end > writer->at ? end : writer->at;
    return is_ok;
}

/* Ends the open elements that do not contain the next element; -1: all. */
static int end_elements(struct writer *writer, int next)
{
    int is_ok = 1;
    while (is_ok && writer->depth > 0 &&
           (next < 0 || !contains(writer->elements, writer->open[writer->depth - 1], next))) {
        int element = writer->open[--writer->depth];
        is_ok = write_text(writer, writer->elements[element].end) &&
                writer->take(writer->user, CLF__MARKUP_END, element, 0, 0);
    }
    return is_ok;
}

clf_status clf__markup_write(const struct clf_mark *elements, int count, size_t size, clf__markup_take *take,
                             void *user)
{
    struct writer writer = {.elements = elements, .take = take, .user = user};
    struct entry *entries = NULL;
    clf_status status = clf__allocate(&entries, (size_t)count, sizeof *entries);
    if (status == CLF_OK) {
        status = clf__allocate(&writer.open, (size_t)count, sizeof *writer.open);
    }
    for (int i = 0; status == CLF_OK && i < count; i++) {
        entries[i] = (struct entry){elements, i};
    }
    int is_ok = status == CLF_OK;
    if (is_ok && count > 0) {
        qsort(entries, (size_t)count, sizeof *entries, compare);
    }
    for (int i = 0; is_ok && i < count; i++) {
        int element = entries[i].element;
        is_ok = end_elements(&writer, element) && write_text(&writer, elements[element].start) &&
                take(user, CLF__MARKUP_START, element, 0, 0);
        writer.open[writer.depth++] = element;
    }
    is_ok = is_ok && end_elements(&writer, -1) && write_text(&writer, size);
    clf__free(entries);
    clf__free(writer.open);
    return status != CLF_OK ? status : is_ok ? CLF_OK : CLF_INTERRUPTED;
}
