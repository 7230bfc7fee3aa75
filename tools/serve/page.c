#include "serve/page.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

static const char script[] = "text/javascript; charset=utf-8";

static const struct page_file files[] = {
    {"/", "text/html; charset=utf-8", serve_index_html},
    {"/page/page.css", "text/css; charset=utf-8", serve_page_css},
    {"/page/page.js", script, serve_page_js},
    {"/page/translator.js", script, serve_translator_js},
    {"/page/files.js", script, serve_files_js},
    {"/page/attention.js", script, serve_attention_js},
    {"/page/elements.js", script, serve_elements_js},
    {"/page/server.js", script, serve_server_js},
    {"/page/icon.svg", "image/svg+xml", serve_icon_svg},
    {"/robots.txt", "text/plain; charset=utf-8", serve_robots_txt},
    {"/openapi.json", "application/json", serve_openapi_json},
};

const struct page_file *page_find(const char *path)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (strcmp(path, files[i].path) == 0) {
            return &files[i];
        }
    }
    return NULL;
}

enum { TAG_BYTES = 24 };

/* Writes a hash of the file, in quotes. */
static void write_tag(char *tag, const struct page_file *file)
{
    const char *text = (const char *)file->text;
    snprintf(tag, TAG_BYTES, "\"%016" PRIx64 "\"", clf__fnv(CLF__FNV_BEGIN, text, strlen(text)));
}

int page_is_known(const struct page_file *file, struct MHD_Connection *connection)
{
    char tag[TAG_BYTES];
    const char *known = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "If-None-Match");
    write_tag(tag, file);
    return known != NULL && strstr(known, tag) != NULL; /* also in a list, and as a weak tag */
}

void page_add_headers(const struct page_file *file, struct MHD_Response *response)
{
    static const char *const headers[][2] = {
        {"Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'none'"},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cache-Control",
         "no-cache"}, /* browsers revalidate each time, and get status 304 for an unchanged file */
    };
    char tag[TAG_BYTES];
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        MHD_add_response_header(response, headers[i][0], headers[i][1]);
    }
    write_tag(tag, file);
    MHD_add_response_header(response, "ETag", tag);
}
