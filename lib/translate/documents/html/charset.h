/* The encoding that an HTML document names. */
#ifndef CLF_DOCUMENTS_HTML_CHARSET_H
#define CLF_DOCUMENTS_HTML_CHARSET_H

#include <stddef.h>

#include "base/status.h"

/* Copies the name of the encoding in a meta element among the first 1024 bytes, as browsers do: <meta
 * charset="..."> or <meta http-equiv="content-type" content="text/html; charset=...">. NULL: there is none.
 */
clf_status clf__html_charset(char **out, const char *bytes, size_t size);

#endif
