/* The web page at `/`, the files that it loads, and the OpenAPI document, embedded by CMake. */
#ifndef CLF_TOOLS_SERVE_PAGE_H
#define CLF_TOOLS_SERVE_PAGE_H

#include <microhttpd.h>

/* The files of the folder page/, and openapi.json; NUL-terminated. */
extern const unsigned char serve_index_html[], serve_page_css[], serve_page_js[], serve_translator_js[],
    serve_files_js[], serve_attention_js[], serve_elements_js[], serve_server_js[], serve_icon_svg[],
    serve_robots_txt[], serve_openapi_json[];

struct page_file {
    const char *path, *type;
    const unsigned char *text;
};

/* Returns the file with a path such as "/page/page.css", or NULL. */
const struct page_file *page_find(const char *path);
/* Returns true if the browser that sent the request already has this file. */
int page_is_known(const struct page_file *file, struct MHD_Connection *connection);
/* Adds the headers that restrict the page to the server's own origin and make browsers revalidate the
 * file. */
void page_add_headers(const struct page_file *file, struct MHD_Response *response);

#endif
