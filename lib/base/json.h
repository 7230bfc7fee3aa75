/* jansson with limits and error sentences of our own: every getter names file and key when it fails. */
#ifndef CLF_BASE_JSON_H
#define CLF_BASE_JSON_H

#include <jansson.h>

#include "base/status.h"

/* A parsed file; `path` is kept for the messages. */
struct clf__json {
    json_t *root; /* an object */
    char *path;
};

/* How much a kind of file may hold; more is refused, naming the limit. An empty list of two bytes takes some
 * hundred in memory, so values (numbers, strings, lists and objects) are counted as well as bytes. */
struct clf__json_limits {
    size_t bytes, values;
};

/* Of files that hold the settings of one thing: config.json, tokenizer_config.json, recipe.json, ... */
extern const struct clf__json_limits clf__json_settings;

clf_status clf__json_load(struct clf__json *out, const char *path, struct clf__json_limits limits);
/* The same by clf__json_parse_strict(), for files that people write. */
clf_status clf__json_load_strict(struct clf__json *out, const char *path, struct clf__json_limits limits);
/* The file of settings `name` in a folder; with find, *out has no root where it is not there. */
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

/* Any value from text; the caller releases *out. `path` is for the messages: damage is CLF_FORMAT with the
 * line, and no memory CLF_OUT_OF_MEMORY. Values more than 100 deep and NUL bytes are damage. Whatever else
 * Python's json module reads is read: of two equal keys the last one counts, with a warning, and
 * base/json_python.h says what becomes of \u0000, surrogates, NaN and Infinity. Whole numbers of more than 64
 * bits are reals; in a text that holds one, 5.0 is read as 5, and whole numbers beyond 9 * 10^15 are reals
 * too. */
clf_status clf__json_parse(json_t **out, const char *text, size_t size, const char *path,
                           struct clf__json_limits limits);

/* The same for JSON of the standard: equal keys, \u0000, surrogates, NaN and Infinity are damage too. */
clf_status clf__json_parse_strict(json_t **out, const char *text, size_t size, const char *path,
                                  struct clf__json_limits limits);

/* What a parser would trip over is looked for first: more values than the limit or too deep is CLF_FORMAT.
 * *bytes is the most memory that jansson needs for the text, at any time and together. */
clf_status clf__json_scan(size_t *bytes, const char *text, size_t size, const char *path,
                          struct clf__json_limits limits);

/* The value that a word stands for; *out is NULL where it is no JSON. */
clf_status clf__json_word(json_t **out, const char *word);
/* A new value: the one that a word stands for, or the word itself as a string. NULL without memory. */
json_t *clf__json_scalar(const char *word);
/* Sets the key of KEY=VALUE to such a value; -1 without memory. */
int clf__json_set_pair(json_t *object, const char *pair);

/* A value as text, by jansson's flags; the caller frees *out. NULL, what jansson gives without memory, is
 * CLF_OUT_OF_MEMORY. */
clf_status clf__json_text(char **out, const json_t *value, size_t flags);
/* Writes it to a file, one key a line; the file appears whole or not at all. */
clf_status clf__json_write(const char *path, const json_t *value, size_t flags);

#endif
