/* A wrapper of jansson with limits and error messages: every getter names file and key when it fails. */
#ifndef CLF_BASE_JSON_H
#define CLF_BASE_JSON_H

#include <jansson.h>

#include "base/status.h"

/* A parsed file; `path` is kept for the messages. */
struct clf__json {
    json_t *root; /* an object */
    char *path;
};

/* Limits of a kind of file; a failure names the limit. An empty list of two bytes takes some hundred bytes
 * in memory, so values (numbers, strings, lists and objects) are counted as well as bytes. */
struct clf__json_limits {
    size_t bytes, values;
};

/* The limits of settings files: config.json, tokenizer_config.json, recipe.json, ... */
extern const struct clf__json_limits clf__json_settings;

clf_status clf__json_load(struct clf__json *out, const char *path, struct clf__json_limits limits);
/* The same with clf__json_parse_strict(), for files that people write. */
clf_status clf__json_load_strict(struct clf__json *out, const char *path, struct clf__json_limits limits);
/* The settings file `name` in a folder; with `find`, *out has no root if the file is missing. */
clf_status clf__json_load_in(struct clf__json *out, const char *folder, const char *name);
clf_status clf__json_find_in(struct clf__json *out, const char *folder, const char *name);
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

/* Parses any value; the caller releases *out. `path` is for the messages: damage is CLF_FORMAT with the
 * line, exhausted memory CLF_OUT_OF_MEMORY. Nesting deeper than 100 and NUL bytes are damage. Everything
 * else that Python's json module accepts is accepted: the last of duplicate keys counts, with a warning,
 * and base/json_python.h describes \u0000, surrogates, NaN and Infinity. Whole numbers of more than 64
 * bits are reals; in a text with such a number, 5.0 is read as 5, and whole numbers beyond 9 * 10^15 are
 * reals as well. */
clf_status clf__json_parse(json_t **out, const char *text, size_t size, const char *path,
                           struct clf__json_limits limits);

/* The same for standard JSON: duplicate keys, \u0000, surrogates, NaN and Infinity are damage as well. */
clf_status clf__json_parse_strict(json_t **out, const char *text, size_t size, const char *path,
                                  struct clf__json_limits limits);

/* Checks a text before a parser reads it: CLF_FORMAT for too many values or too much nesting. *bytes is an
 * upper bound of all memory that jansson allocates for the text. */
clf_status clf__json_scan(size_t *bytes, const char *text, size_t size, const char *path,
                          struct clf__json_limits limits);

/* Parses a word as a JSON value; *out is NULL if it is not JSON. */
clf_status clf__json_word(json_t **out, const char *word);
/* Returns a new value: the parsed word, or the word itself as a string. NULL if memory is exhausted. */
json_t *clf__json_scalar(const char *word);
/* Sets the key of KEY=VALUE to such a value; -1 if memory is exhausted. */
int clf__json_set_pair(json_t *object, const char *pair);

/* Writes a value as text, with jansson's flags; the caller frees *out. NULL from jansson is
 * CLF_OUT_OF_MEMORY. */
clf_status clf__json_text(char **out, const json_t *value, size_t flags);
/* Writes a value to a file, one key per line; the file appears completely or not at all. */
clf_status clf__json_write(const char *path, const json_t *value, size_t flags);

#endif
