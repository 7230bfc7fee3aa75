/* Reads YAML files as JSON values, with libyaml. */
#ifndef CLF_BASE_YAML_H
#define CLF_BASE_YAML_H

#include <stddef.h>

#include <jansson.h>

#include "base/status.h"

/* Returns the number of %TAG directives in a text. A file with more than the limit must be refused, because
 * libyaml compares each directive with all previous ones. */
enum { CLF__YAML_MOST_TAGS = 64 };
int clf__yaml_tags(const char *text, size_t size);

/* Parses a text with a single document, a mapping. Every scalar becomes a string, a missing value "", an
 * empty document an empty object. `path` is for messages. Returns CLF_FORMAT for invalid YAML, anchors and
 * aliases, duplicate keys, more than 16 levels, more than `most_values` values, or too many %TAG
 * directives. The caller releases *out. */
clf_status clf__yaml_parse(json_t **out, const char *text, size_t size, const char *path, size_t most_values);

#endif
