/* POST /translate_file and GET /download_file/NAME, as in LibreTranslate. */
#ifndef CLF_TOOLS_SERVE_FILE_REQUEST_H
#define CLF_TOOLS_SERVE_FILE_REQUEST_H

#include "serve/endpoints.h"

struct answer file_translate(struct service *service, const struct fields *fields);
struct answer file_download(struct service *service, const struct fields *fields);
/* Returns a new array of the file name extensions that can be translated. */
json_t *file_extensions(void);

#endif
