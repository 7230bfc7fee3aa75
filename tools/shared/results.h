/* Results as JSON lines. */
#ifndef CLF_TOOLS_RESULTS_H
#define CLF_TOOLS_RESULTS_H

#include <stdio.h>

#include <jansson.h>

#include <clformer/clformer.h>

/* Returns null for a value that is not finite, because JSON has no such numbers. */
json_t *result_number(double value);
/* Returns a string. If the text is not UTF-8 (a message may contain any path), non-ASCII bytes become
 * question marks. */
json_t *result_text(const char *text, size_t size);
/* Appends the value and returns the array; NULL if out of memory, after freeing both. */
json_t *result_append(json_t *array, json_t *value);
json_t *result_ids(const int32_t *ids, int count);
json_t *result_tokens(const struct clf_model *model, const int32_t *ids, int count);

/* Adds "cut_from", the length of a line before truncation (unless 0), and "error" (unless NULL). Returns NULL
 * for NULL. */
json_t *result_remarks(json_t *object, int cut_from, const char *problem);
/* A sentence and its translation: "source" and "text". */
json_t *result_sentence(const struct clf_sentence *sentence);
/* A translation of a line: the fields of its best hypothesis, which are empty or null if there is none, and
 * result_remarks(); NULL if out of memory.
 *
 * @param has_n_best 1: with "n_best", an array of all hypotheses.
 * @param sentences an array of result_sentence(), or NULL. */
json_t *result_translation(const struct clf_model *model, const struct clf_translation *translation,
                           int has_n_best, const json_t *sentences);

/* Writes one object as a line and releases it. NULL means out of memory. */
clf_status result_write(FILE *file, json_t *object);
/* Writes one object to standard output and reports a failure. Returns an exit status. */
int result_print(json_t *object);

#endif
