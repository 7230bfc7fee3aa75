/* Moves inline markup, such as HTML's <b> and <a>, from a text to its translation.
 *
 * A word of the translation is in an element if most of it is aligned with text in the element. An element
 * contains consecutive words: those for which the words that belong in it exceed the others the most, without
 * words that belong in an element beside it. An element with which nothing is aligned gets the free word
 * nearest to its relative position. Nesting stays, and no element is lost or doubled. */
#ifndef CLF_TEXT_MARKUP_H
#define CLF_TEXT_MARKUP_H

#include <clformer/document.h>

#include "base/status.h"

/* A text and its translation. */
struct clf__markup_pair {
    const char *source, *text;
    size_t source_size, text_size;
    const struct clf_alignment_link *links; /* (link_count) in the order of the translation */
    int link_count;
};

/* Moves elements to a translation. Without links, the tags stay in order around the text.
 *
 * @param out receives (count) elements with the same parents. Elements with the same parent have no common
 *     bytes, but their order may change.
 * @param elements (count) elements in the order of their start tags; elements with the same parent have no
 *     common bytes.
 * @return CLF_OUT_OF_MEMORY. */
clf_status clf__markup_move(struct clf_mark *out, const struct clf_mark *elements, int count,
                            const struct clf__markup_pair *pair);

enum clf__markup_event { CLF__MARKUP_TEXT, CLF__MARKUP_START, CLF__MARKUP_END };

/* Called with each part of a marked text in order: bytes [start, end) of the text, or the start or end of
 * elements[element]. Returns 0 to stop. */
typedef int clf__markup_take(void *user, enum clf__markup_event event, int element, size_t start, size_t end);

/* Emits a text of `size` bytes with its elements. Returns CLF_OUT_OF_MEMORY; CLF_INTERRUPTED if `take`
 * returned 0. */
clf_status clf__markup_write(const struct clf_mark *elements, int count, size_t size, clf__markup_take *take,
                             void *user);

#endif
