/* POST /v1/attention. */
#ifndef CLF_TOOLS_SERVE_V1_ATTENTION_H
#define CLF_TOOLS_SERVE_V1_ATTENTION_H

#include "serve/endpoints.h"

struct answer v1_attention(struct service *service, const struct fields *fields);

#endif
