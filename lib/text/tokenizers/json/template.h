/* The post-processor of tokenizer.json: ids around a text. */
#ifndef CLF_TEXT_JSON_TEMPLATE_H
#define CLF_TEXT_JSON_TEMPLATE_H

#include "text/tokenizers/json/node.h"

enum { CLF__TEMPLATE_IDS = 2 };

struct clf__template {
    int32_t before[CLF__TEMPLATE_IDS], behind[CLF__TEMPLATE_IDS]; /* padded with -1 */
};

/* Reads the ids around a single text; null adds none. */
clf_status clf__template_read(struct clf__template *out, const json_t *value, const char *path);

#endif
