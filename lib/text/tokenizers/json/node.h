/* A value in tokenizer.json, with its location for error messages. */
#ifndef CLF_TEXT_JSON_NODE_H
#define CLF_TEXT_JSON_NODE_H

#include <jansson.h>
#include <stdint.h>

#include "base/status.h"

struct clf__node {
    const json_t *value; /* the object of this value */
    const char *path;    /* path of the file */
    const char *section; /* key in the top-level object */
    const char *part;    /* kind of part, or NULL for the section itself */
};

/* Fails with "PATH: "SECTION", PART: " and the formatted message. */
clf_status clf__node_fail(const struct clf__node *node, clf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Rejects keys that are not in `known`, a list separated by spaces. */
clf_status clf__node_check_keys(const struct clf__node *node, const char *known);

/* Read a key with a value of the given type; a missing or null value leaves *out unchanged. */
clf_status clf__node_bool(const struct clf__node *node, const char *key, int *out);
clf_status clf__node_int(const struct clf__node *node, const char *key, int low, int high, int *out);
clf_status clf__node_string(const struct clf__node *node, const char *key, const char **out);
/* Reads a string of one character. */
clf_status clf__node_character(const struct clf__node *node, const char *key, int32_t *out);
/* Reads a required key. */
clf_status clf__node_need_string(const struct clf__node *node, const char *key, const char **out);

#endif
