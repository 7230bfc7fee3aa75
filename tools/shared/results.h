/* Results as JSON lines. */
#ifndef CLF_TOOLS_RESULTS_H
#define CLF_TOOLS_RESULTS_H

#include <stdio.h>

#include <jansson.h>

#include <clformer/clformer.h>

/* null where a value is no finite number, which JSON cannot hold. */
json_t *result_number(double value);
/* A string; bytes that are no UTF-8 (a message may hold any path) become question marks. */
json_t *result_text(const char *text, size_t size);
/* Appends, and returns the array; NULL where memory ran out, which gives up both. */
json_t *result_append(json_t *array, json_t *value);
json_t *result_ids(const int32_t *ids, int count);
json_t *result_tokens(const struct clf_model *model, const int32_t *ids, int count);

/* Adds how long a line was before it was cut (0: it was not) and what its problem is (NULL: none); of NULL,
 * NULL. */
json_t *result_remarks(json_t *object, int cut_from, const char *problem);
/* Writes one object as a line and releases it. NULL means that memory ran out. */
clf_status result_write(FILE *file, json_t *object);
/* The same to standard output; a failure is reported. Returns an exit status. */
int result_print(json_t *object);

#endif
