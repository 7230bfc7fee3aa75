/* POST /translate */
#ifndef CLF_TOOLS_SERVE_TRANSLATE_REQUEST_H
#define CLF_TOOLS_SERVE_TRANSLATE_REQUEST_H

#include "serve/endpoints.h"

struct answer translate_request(struct service *service, const struct fields *fields);

/* Translates a text, the string `q`, with the other fields of POST /translate. Returns a new string; NULL
 * after setting the answer.
 *
 * @param characters receives the characters to translate.
 * @param format name of the format of `q`, a document of clf_document_format_at(). */
json_t *translate_text(size_t *characters, struct service *service, const struct fields *fields,
                       const char *format, struct answer *answer);

#endif
