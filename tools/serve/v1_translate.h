/* POST /v1/translate: clformer's own API. */
#ifndef CLF_TOOLS_SERVE_V1_TRANSLATE_H
#define CLF_TOOLS_SERVE_V1_TRANSLATE_H

#include "serve/endpoints.h"

struct answer v1_translate(struct service *service, const struct fields *fields);

#endif
