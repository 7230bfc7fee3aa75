/* The fields of POST /v1/translate. */
#ifndef CLF_TOOLS_SERVE_V1_OPTIONS_H
#define CLF_TOOLS_SERVE_V1_OPTIONS_H

#include "serve/endpoints.h"

/* A request after the checks. */
struct v1_request {
    json_t *texts;    /* owned; an array of strings */
    json_t *prefixes; /* owned; an array of as many strings, or NULL */
    int is_array;     /* `text` was an array */
    const struct language *source, *target;
    double confidence; /* of a detected source, 0 to 100; NaN: the client set the source */
    struct route route;
    int sentences;   /* 1: texts are split into sentences, which are part of the answer */
    int is_streamed; /* 1: the answer is a stream of events */
    struct clf_translate_options options; /* of the last hop */
};

/* Reads and checks the fields. Returns 1, or 0 after setting the answer; the caller frees the request in both
 * cases. */
int v1_request_read(struct v1_request *out, struct service *service, const struct fields *fields,
                    struct answer *answer);
void v1_request_free(struct v1_request *request);

#endif
