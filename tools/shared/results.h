/* Results as JSON lines. */
#ifndef CLF_TOOLS_RESULTS_H
#define CLF_TOOLS_RESULTS_H

#include <stdio.h>

#include <jansson.h>

#include <clformer/clformer.h>

/* Returns a number, or null if it is not finite, because JSON has no such numbers. */
json_t *result_number(double value);
/* Returns a string. If the text is not UTF-8 (a message may contain any path), non-ASCII bytes become
 * question marks. */
json_t *result_text(const char *text, size_t size);
/* Appends the value and returns the array; NULL if out of memory, after freeing both. */
json_t *result_append(json_t *array, json_t *value);
/* Adds the terms that a translation lacks to the array "missing_terms" of an object, which has the array only
 * if there are any. Returns 0 if out of memory. */
int result_add_missing(json_t *object, const struct clf_translation *translation);
json_t *result_ids(const int32_t *ids, int count);
json_t *result_tokens(const struct clf_model *model, const int32_t *ids, int count);

/* Adds "cut_from", the length of a line before truncation (unless 0), and "error" (unless NULL). Returns NULL
 * if `object` is NULL. */
json_t *result_remarks(json_t *object, int cut_from, const char *problem);
/* Returns an object with the keys "source" and "text": a sentence and its translation. */
json_t *result_sentence(const struct clf_sentence *sentence);
/* Returns an object with the fields of the best hypothesis of a translation, which are empty or null if there
 * is none, and with result_remarks(); NULL if out of memory.
 *
 * @param has_n_best 1: with "n_best", an array of all hypotheses.
 * @param sentences an array of result_sentence(), or NULL. */
json_t *result_translation(const struct clf_model *model, const struct clf_translation *translation,
                           int has_n_best, const json_t *sentences);

/* Returns an object for an event of a live transcription. */
json_t *result_live_event(const struct clf_live_event *event);

/* Writes one object as a line and releases it. NULL means out of memory. */
clf_status result_write(FILE *file, json_t *object);
/* Writes one object to standard output and reports a failure. Returns an exit status. */
int result_print(json_t *object);

#endif
