/* A value of tokenizer.json, with where it stands for the messages. */
#ifndef CLF_TEXT_JSON_NODE_H
#define CLF_TEXT_JSON_NODE_H

#include <jansson.h>
#include <stdint.h>

#include "base/status.h"

struct clf__node {
    const json_t *value; /* an object */
    const char *path;    /* the file */
    const char *section; /* the key of the file's object */
    const char *part;    /* the kind of part, or NULL: the section itself */
};

/* Fails with "PATH: "SECTION", PART: " and what is said. */
clf_status clf__node_fail(const struct clf__node *node, clf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Refuses a key that is none of `known`, words with a space between. */
clf_status clf__node_check_keys(const struct clf__node *node, const char *known);

/* Typed reads of a key; one that is missing or null leaves *out as it is. */
clf_status clf__node_bool(const struct clf__node *node, const char *key, int *out);
clf_status clf__node_int(const struct clf__node *node, const char *key, int low, int high, int *out);
clf_status clf__node_string(const struct clf__node *node, const char *key, const char **out);
/* One character. */
clf_status clf__node_character(const struct clf__node *node, const char *key, int32_t *out);
/* A key that must be there. */
clf_status clf__node_need_string(const struct clf__node *node, const char *key, const char **out);

#endif
