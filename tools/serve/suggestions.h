/* POST /suggest: translations that users suggest are appended to a file. */
#ifndef CLF_TOOLS_SERVE_SUGGESTIONS_H
#define CLF_TOOLS_SERVE_SUGGESTIONS_H

#include "serve/endpoints.h"

struct suggestions;

/* Opens or creates a file, to which each suggestion is appended as a line of JSON. CLF_FILE: the file cannot
 * be written. */
clf_status suggestions_open(struct suggestions **out, const char *path);
void suggestions_close(struct suggestions *suggestions); /* NULL is ignored */

struct answer suggestions_add(struct service *service, const struct fields *fields);

#endif
