/* The fields of a request, from its JSON body, or from its query string and a form. */
#ifndef CLF_TOOLS_SERVE_FIELDS_H
#define CLF_TOOLS_SERVE_FIELDS_H

#include <stddef.h>

#include <jansson.h>
#include <microhttpd.h>

#include "serve/clients.h"

struct fields {
    struct MHD_Connection *connection; /* the request's connection */
    json_t *object;                    /* owned; the values of a form are strings */
    int is_json;
    const char *rest; /* rest of the path after the endpoint's; borrowed */
    const char *body; /* (body_size) borrowed; of an endpoint that takes bytes */
    size_t body_size;
    const char *problem;    /* message for the client if the body is unusable, or NULL */
    char *file_name, *file; /* owned; (file_size) the uploaded file of the field "file", or NULL */
    size_t file_size;
    char address[CLIENT_ADDRESS_BYTES]; /* client's address */
    char key[CLIENT_KEY_BYTES +
             1]; /* from the header Authorization, or else the field api_key or auth_key; or "" */
};

/* Reads the fields as LibreTranslate does: from a JSON body only, or else from the query and then from a
 * form. The first value of a repeated field counts, except that the field `text` of DeepL's API becomes an
 * array. No string contains a NUL. */
struct fields fields_read(struct MHD_Connection *connection, const char *method, const char *body,
                          size_t size);
/* Parses a JSON body: an object without NUL, duplicate keys or deep nesting. */
struct fields fields_parse_json(const char *body, size_t size);
/* Returns 1 if the media type of a request is JSON. */
int fields_are_json(struct MHD_Connection *connection);
void fields_free(struct fields *fields);

#endif
