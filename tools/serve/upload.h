/* The body of a request with a recording. The recording goes to a temporary file while it arrives. */
#ifndef CLF_TOOLS_SERVE_UPLOAD_H
#define CLF_TOOLS_SERVE_UPLOAD_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>
#include <microhttpd.h>

struct upload_limits {
    size_t file; /* maximum bytes of a form, which the recording dominates */
    size_t json; /* maximum bytes of a JSON body, which is held in memory */
};

struct upload;

/* Prepares for a body of the connection's media type: a form, whose field `part` is the recording, or JSON.
 * The fields of another body are missing. `part` and the connection outlive the upload. NULL: out of memory.
 */
struct upload *upload_create(struct MHD_Connection *connection, const char *part,
                             const struct upload_limits *limits);
void upload_free(struct upload *upload);
/* Returns the maximum bytes of the body. */
size_t upload_limit(const struct upload *upload);
/* Takes the next bytes of the body. After a problem they are ignored; returns 0 to close the connection of a
 * client that sends far more than allowed. */
int upload_add(struct upload *upload, const char *bytes, size_t size);
/* Reports a problem, so that the body is ignored. The message outlives the upload. */
void upload_refuse(struct upload *upload, unsigned status, const char *problem);
/* Ends the body; call this once before the functions below. */
void upload_end(struct upload *upload);

/* Returns the message of a problem with the body, and its HTTP status; NULL: none. */
const char *upload_problem(const struct upload *upload, unsigned *status);
/* Returns the first value of a field, or NULL if it is missing or empty. Values are UTF-8 without NUL. */
const char *upload_text(const struct upload *upload, const char *name);
/* Returns the values of a field, an array of strings, or NULL. */
const json_t *upload_values(const struct upload *upload, const char *name);
/* Returns the descriptor of the recording, whose position is unspecified; -1: there is none. */
int upload_file(const struct upload *upload);
/* Returns the bytes of the recording, and the file name that the client gave, which is UTF-8. */
uint64_t upload_file_size(const struct upload *upload);
const char *upload_file_name(const struct upload *upload);

#endif
