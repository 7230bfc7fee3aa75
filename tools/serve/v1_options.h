/* The fields of POST /v1/translate. */
#ifndef CLF_TOOLS_SERVE_V1_OPTIONS_H
#define CLF_TOOLS_SERVE_V1_OPTIONS_H

#include "serve/endpoints.h"

/* A checked request. */
struct v1_request {
    json_t *texts;    /* owned; an array of strings */
    json_t *prefixes; /* owned; an array of the same length, or NULL */
    int is_array;     /* `text` was an array */
    const struct language *source, *target;
    double confidence; /* confidence in a detected source, 0 to 100; NaN: the client set the source */
    struct route route;
    int sentences;   /* 1: texts are split into sentences, which are part of the answer */
    int is_streamed; /* 1: the answer is a stream of events */
    struct clf_translate_options options; /* options for the last hop */
};

/* Reads and checks the fields. Returns 1, or 0 after setting the answer; the caller frees the request in both
 * cases. */
int v1_request_read(struct v1_request *out, struct service *service, const struct fields *fields,
                    struct answer *answer);
/* Reads `source` and `target` for out->texts, and finds the route, which has at least one hop. Returns 1, or
 * 0 after setting the answer. */
int v1_languages_read(struct v1_request *out, const struct service *service, const struct fields *fields,
                      struct answer *answer);
/* Checks the type of `api_key`. Returns 1, or 0 after setting the answer. */
int v1_key_check(const struct fields *fields, struct answer *answer);
void v1_request_free(struct v1_request *request);

#endif
