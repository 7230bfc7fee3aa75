/* jansson with our error sentences: every getter names file and key when it fails. */
#ifndef CLF_BASE_JSON_H
#define CLF_BASE_JSON_H

#include <jansson.h>

#include "base/status.h"

/* A parsed file; `path` is kept for the messages. Duplicate keys are an error. */
struct clf__json {
    json_t *root; /* an object */
    char *path;
};

clf_status clf__json_load(struct clf__json *out, const char *path, size_t max_bytes);
void clf__json_free(struct clf__json *json);

/* Typed, ranged reads of a key of the root. A missing or null key leaves *out as it is (the default) and
 * returns CLF_OK; a wrong type or a value out of range is CLF_FORMAT. */
clf_status clf__json_int(const struct clf__json *json, const char *key, long long low, long long high,
                         int *out);
clf_status clf__json_double(const struct clf__json *json, const char *key, double low, double high,
                            double *out);
clf_status clf__json_bool(const struct clf__json *json, const char *key, int *out);
/* Borrowed from the json. */
clf_status clf__json_string(const struct clf__json *json, const char *key, const char **out);
int clf__json_has(const struct clf__json *json, const char *key); /* present and not null */

/* A value as text, by jansson's flags; the caller frees *out. NULL, what jansson gives without memory, is
 * CLF_OUT_OF_MEMORY. */
clf_status clf__json_text(char **out, const json_t *value, size_t flags);
/* Writes it to a file, one key a line; the file appears whole or not at all. */
clf_status clf__json_write(const char *path, const json_t *value, size_t flags);

#endif
