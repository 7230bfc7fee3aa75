/* YAML files as JSON values, by way of libyaml. */
#ifndef CLF_BASE_YAML_H
#define CLF_BASE_YAML_H

#include <stddef.h>

#include <jansson.h>

#include "base/status.h"

/* The one document of a text, a mapping: lists become arrays, mappings objects, and every scalar a string,
 * "" and what is left out too; an empty document is an empty object. `path` is for the messages: what is no
 * YAML, anchors and aliases, a key twice, more than 16 levels or `most_values` values is CLF_FORMAT with the
 * line; so are more than 64 times %TAG, without one. The caller releases *out. */
clf_status clf__yaml_parse(json_t **out, const char *text, size_t size, const char *path, size_t most_values);

#endif
