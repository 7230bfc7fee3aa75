/* The fields that several endpoints share: api_key, q and language codes. */
#ifndef CLF_TOOLS_SERVE_Q_FIELD_H
#define CLF_TOOLS_SERVE_Q_FIELD_H

#include "serve/endpoints.h"

/* Returns 1 for a missing or null field, "", [], and a value that LibreTranslate treats as missing. */
int field_is_empty(const json_t *value);

/* Checks that a field is a string and not empty. Returns 1, or 0 after setting the answer. */
int field_is_text(const struct fields *fields, const char *name, struct answer *answer);

/* Returns how many bytes of a client's value an error quotes. */
size_t field_shown_size(const char *word);
/* Answers that a language, in lower case, is not supported. */
struct answer field_refuse_code(const char *code);

/* Counts a request of the client, or one per text if `q` or `text` is an array.
 *
 * @param limit receives the requests per minute, for CLIENT_IS_TOO_FAST. */
enum client_verdict request_admit(int *limit, const struct service *service, const struct fields *fields);
/* The same, with LibreTranslate's answers. Returns 1, or 0 after setting the answer. */
int request_is_admitted(const struct service *service, const struct fields *fields, struct answer *answer);

/* Checks texts against the limits of a request. Returns 1, or 0 after setting the answer.
 *
 * @param is_array 1: the limit on the number of texts applies. */
int texts_are_admitted(const json_t *array, int is_array, const struct service *service,
                       struct answer *answer);

/* Returns a new array of the texts; NULL, after setting the answer, if q is unusable.
 *
 * @param is_array receives 1 if q is an array, 0 if it is a string. */
json_t *q_field_read(int *is_array, const struct fields *fields, struct answer *answer);
size_t q_field_characters(const json_t *array);

#endif
