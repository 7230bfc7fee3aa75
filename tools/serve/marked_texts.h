/* Translates texts with inline elements. */
#ifndef CLF_TOOLS_SERVE_MARKED_TEXTS_H
#define CLF_TOOLS_SERVE_MARKED_TEXTS_H

#include <jansson.h>

#include "serve/marks.h"
#include "serve/routes.h"

/* Translates texts of one line each like texts_translate(), and moves their elements to the translations by
 * the model's alignment.
 *
 * @param out receives a new array of strings.
 * @param array the texts with elements, in the order of `marks`.
 * @param marks its texts without elements are skipped.
 * @return CLF_TEXT if a text cannot be translated. */
clf_status marked_texts_translate(json_t **out, const json_t *array, const struct hop *hop,
                                  struct marks *marks);

#endif
