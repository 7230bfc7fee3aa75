/* The page of attention maps: tools/attend.html with its @NAMES@ filled in. */
#ifndef CLF_TOOLS_PAGE_H
#define CLF_TOOLS_PAGE_H

#include <stdio.h>

#include <clformer/translator.h>

extern const unsigned char page_template[]; /* attend.html, embedded by CMake */

struct page {
    const struct clf_attention_maps *maps;
    const struct clf_model_info *model;
    const char *source, *target; /* what is shown as text; valid UTF-8 */
};

/* Writes the whole page. A failing stream is left to the caller to see. Returns an exit status. */
int page_print(FILE *file, const struct page *page);

/* Writes the page to a temporary file beside `path` and renames it; what is no regular file is written
 * directly. Reports a failure; returns an exit status. */
int page_write(const char *path, const struct page *page);

#endif
