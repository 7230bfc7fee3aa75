/* A wrapper around jansson with limits and error messages; errors of getters name the file and the key. */
#ifndef CLF_BASE_JSON_H
#define CLF_BASE_JSON_H

#include <jansson.h>

#include "base/status.h"

/* A parsed file; `path` is kept for the messages. */
struct clf__json {
    json_t *root; /* an object */
    char *path;
};

/* Limits for one kind of file; the error message names the limit that is exceeded. The number of values is
 * limited too, because an empty list has two bytes but needs over a hundred bytes of memory. */
struct clf__json_limits {
    size_t bytes, values;
};

/* The limits of settings files: config.json, tokenizer_config.json, recipe.json, ... */
extern const struct clf__json_limits clf__json_settings;

clf_status clf__json_load(struct clf__json *out, const char *path, struct clf__json_limits limits);
/* Like clf__json_load(), but with clf__json_parse_strict(), for files written by hand. */
clf_status clf__json_load_strict(struct clf__json *out, const char *path, struct clf__json_limits limits);
/* Load the settings file `name` in a folder. If the file is missing, clf__json_find_in() succeeds with a
 * NULL root. */
clf_status clf__json_load_in(struct clf__json *out, const char *folder, const char *name);
clf_status clf__json_find_in(struct clf__json *out, const char *folder, const char *name);
void clf__json_free(struct clf__json *json);

/* Read the value of a root key. A missing or null key returns CLF_OK and leaves *out (the default)
 * unchanged; a wrong type or a value out of range is CLF_FORMAT. */
clf_status clf__json_int(const struct clf__json *json, const char *key, long long low, long long high,
                         int *out);
clf_status clf__json_double(const struct clf__json *json, const char *key, double low, double high,
                            double *out);
clf_status clf__json_bool(const struct clf__json *json, const char *key, int *out);
/* The string is borrowed from the JSON tree. */
clf_status clf__json_string(const struct clf__json *json, const char *key, const char **out);
int clf__json_has(const struct clf__json *json, const char *key); /* present and not null */

/* Parses any value; the caller releases *out. `path` is for messages. Returns CLF_FORMAT with the line for
 * invalid JSON, NUL bytes, and nesting deeper than 100. Everything else that Python's json module accepts
 * is accepted: the last duplicate of a key wins, with a warning; for \u0000, surrogates, NaN and Infinity
 * see base/json_python.h. Integers with more than 64 bits become reals; in a text with such an integer, 5.0
 * is read as 5, and integers beyond 9 * 10^15 become reals as well. */
clf_status clf__json_parse(json_t **out, const char *text, size_t size, const char *path,
                           struct clf__json_limits limits);

/* Like clf__json_parse(), but also rejects duplicate keys, \u0000, surrogates, NaN and Infinity. */
clf_status clf__json_parse_strict(json_t **out, const char *text, size_t size, const char *path,
                                  struct clf__json_limits limits);

/* Checks a text before it is parsed: returns CLF_FORMAT for too many values or too deep nesting. *bytes is
 * an upper bound of the memory that jansson allocates for the text. */
clf_status clf__json_scan(size_t *bytes, const char *text, size_t size, const char *path,
                          struct clf__json_limits limits);

/* Parses a word as a JSON value; *out is NULL if it is not JSON. */
clf_status clf__json_word(json_t **out, const char *word);
/* Returns a new value: the parsed word, or the word itself as a string. NULL if memory is exhausted. */
json_t *clf__json_scalar(const char *word);
/* Sets KEY of "KEY=VALUE" to clf__json_scalar(VALUE); -1 if memory is exhausted. */
int clf__json_set_pair(json_t *object, const char *pair);

/* Serialises a value with jansson's flags; the caller frees *out. */
clf_status clf__json_text(char **out, const json_t *value, size_t flags);
/* Writes a value to a file atomically, one key per line. */
clf_status clf__json_write(const char *path, const json_t *value, size_t flags);

#endif
