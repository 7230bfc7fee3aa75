/* The fields api_key and q: who asks, and the texts. */
#ifndef CLF_TOOLS_SERVE_Q_FIELD_H
#define CLF_TOOLS_SERVE_Q_FIELD_H

#include "serve/endpoints.h"

/* Returns 1 for a missing or null field, "", [], and a field that LibreTranslate takes for missing. */
int field_is_empty(const json_t *value);

/* Counts a request of the client, for each text of the array q or text.
 *
 * @param limit receives the requests per minute, for CLIENT_IS_TOO_FAST. */
enum client_verdict request_admit(int *limit, const struct service *service, const struct fields *fields);
/* The same, with the answers of LibreTranslate. Returns 1, or 0 after setting the answer. */
int request_is_admitted(const struct service *service, const struct fields *fields, struct answer *answer);

/* Checks texts against the limits of a request. Returns 1, or 0 after setting the answer.
 *
 * @param is_array 1: the limit of texts applies. */
int texts_are_admitted(const json_t *array, int is_array, const struct service *service,
                       struct answer *answer);

/* Returns a new array of the texts; NULL, after setting the answer, if q is unusable.
 *
 * @param is_array receives 1 if q is an array, 0 if it is a string. */
json_t *q_field_read(int *is_array, const struct fields *fields, struct answer *answer);
size_t q_field_characters(const json_t *array);

#endif
