/* Reads YAML files as JSON values, with libyaml. */
#ifndef CLF_BASE_YAML_H
#define CLF_BASE_YAML_H

#include <stddef.h>

#include <jansson.h>

#include "base/status.h"

/* Parses the only document of a text, a mapping: lists become arrays, mappings objects, and every scalar a
 * string; missing values become "", an empty document an empty object. `path` is for the messages: invalid
 * YAML, anchors and aliases, duplicate keys, more than 16 levels or `most_values` values are CLF_FORMAT
 * with the line; more than 64 %TAG directives are CLF_FORMAT without one. The caller releases *out. */
clf_status clf__yaml_parse(json_t **out, const char *text, size_t size, const char *path, size_t most_values);

#endif
