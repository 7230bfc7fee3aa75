/* The fields of a request, from its JSON body or from a form and the query of its address. */
#ifndef CLF_TOOLS_SERVE_FIELDS_H
#define CLF_TOOLS_SERVE_FIELDS_H

#include <stddef.h>

#include <jansson.h>
#include <microhttpd.h>

#include "serve/clients.h"

struct fields {
    struct MHD_Connection *connection; /* of the request */
    json_t *object;                    /* owned; the values of a form are strings */
    int is_json;
    const char *rest;       /* the path after that of the endpoint; borrowed */
    const char *problem;    /* message for the client: the body is not usable; NULL: none */
    char *file_name, *file; /* owned; (file_size) the uploaded file of the field "file", or NULL */
    size_t file_size;
    char address[CLIENT_ADDRESS_BYTES]; /* of the client */
    char key[CLIENT_KEY_BYTES +
             1]; /* of the header Authorization, or else of the field api_key or auth_key; "" */
};

/* Reads the fields, by the rules of LibreTranslate: a JSON body alone, or else the query, then the body if it
 * is a form. The first value of a repeated field counts, but the field text of DeepL's API
 * becomes an array. No string contains a NUL. */
struct fields fields_read(struct MHD_Connection *connection, const char *method, const char *body,
                          size_t size);
/* Parses a JSON body: an object without NUL, duplicate keys and deep nesting. */
struct fields fields_parse_json(const char *body, size_t size);
/* Returns 1 if the media type of a request is JSON. */
int fields_are_json(struct MHD_Connection *connection);
void fields_free(struct fields *fields);

#endif
