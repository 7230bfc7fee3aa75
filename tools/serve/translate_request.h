/* POST /translate */
#ifndef CLF_TOOLS_SERVE_TRANSLATE_REQUEST_H
#define CLF_TOOLS_SERVE_TRANSLATE_REQUEST_H

#include "serve/endpoints.h"

struct answer translate_request(struct service *service, const struct fields *fields);

#endif
