/* Translates texts of several lines. */
#ifndef CLF_TOOLS_SERVE_TEXTS_H
#define CLF_TOOLS_SERVE_TEXTS_H

#include <jansson.h>

#include "serve/marks.h"
#include "serve/routes.h"

/* Texts to translate: an array of strings that contain no NUL. */
struct texts {
    const json_t *array;
    const struct route *route;
    struct marks *marks; /* inline elements, which are moved to the translations; NULL: none */
};

enum { TEXTS_MOST_LINES = 100000 };
/* Returns the number of lines that are not empty. */
size_t texts_count_lines(const json_t *array);

/* Returns the priority of a request with these texts. */
clf_priority texts_priority(const json_t *array);

/* Estimates the number of tokens in the texts. */
int64_t texts_estimate_tokens(const json_t *array);

/* Returns the index of the text of each line that is not empty; the caller frees them. NULL: out of memory.
 */
int *texts_line_owners(const json_t *array);

/* Translates texts line by line with one translator; its lines are those of texts_line_owners(). Line breaks
 * and blank lines are kept.
 *
 * @param out receives a new array of strings.
 * @return CLF_TEXT if a line cannot be translated. */
clf_status texts_translate_by(json_t **out, const json_t *array, struct clf_translator *translator);

/* Translates the texts line by line, and the lines sentence by sentence. Line breaks and blank lines are
 * kept.
 *
 * @param out receives a new array of strings.
 * @param before receives a new array: the texts that the last hop of the route translates; NULL: not needed.
 * @return CLF_TEXT if a line cannot be translated. */
clf_status texts_translate(json_t **out, json_t **before, const struct texts *texts);

/* Finds up to `wanted` other translations of each text that consists of one sentence.
 *
 * @param out receives a new array with an array of strings for each text.
 * @param before the texts that the last hop translates.
 * @param hop the last hop.
 * @param best the result of texts_translate(), which is not repeated. */
clf_status texts_alternatives(json_t **out, const json_t *before, const struct hop *hop, int wanted,
                              const json_t *best);

#endif
