/* The API of DeepL: POST /v2/translate, GET /v2/languages, /v2/usage and /v3/languages. */
#ifndef CLF_TOOLS_SERVE_DEEPL_H
#define CLF_TOOLS_SERVE_DEEPL_H

#include "serve/endpoints.h"

struct answer deepl_translate(struct service *service, const struct fields *fields);
/* The field type is "source", the default, or "target". */
struct answer deepl_languages(struct service *service, const struct fields *fields);
struct answer deepl_usage(struct service *service, const struct fields *fields);
struct answer deepl_languages_v3(struct service *service, const struct fields *fields);

#endif
