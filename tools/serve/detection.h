/* POST /detect, and the source language "auto". */
#ifndef CLF_TOOLS_SERVE_DETECTION_H
#define CLF_TOOLS_SERVE_DETECTION_H

#include "serve/endpoints.h"

struct answer detect_request(struct service *service, const struct fields *fields);

/* Finds the source language of texts: the most frequent language that the server translates from. If none is
 * found, the result is the only source language, or else English, with confidence 0. Without CLD2, it is the
 * only source language. Returns NULL and sets the answer if there is none.
 *
 * @param confidence receives 0 to 100. */
const struct language *detection_source(double *confidence, const struct routes *routes, const json_t *texts,
                                        struct answer *answer);

#endif
