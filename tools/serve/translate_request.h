/* POST /translate */
#ifndef CLF_TOOLS_SERVE_TRANSLATE_REQUEST_H
#define CLF_TOOLS_SERVE_TRANSLATE_REQUEST_H

#include "serve/endpoints.h"

struct answer translate_request(struct service *service, const struct fields *fields);

/* Translates the file of a request, with the other fields of POST /translate. Returns the file, which
 * clf_string_free() frees; NULL after setting the answer.
 *
 * @param size receives the size of the file.
 * @param characters receives the characters to translate.
 * @param format name of the format of the file, one of clf_document_format_at(). */
char *translate_file(size_t *size, size_t *characters, struct service *service, const struct fields *fields,
                     const char *format, struct answer *answer);

#endif
