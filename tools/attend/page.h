/* The page of attention maps: attend.html with its @NAMES@ filled in. */
#ifndef CLF_TOOLS_ATTEND_PAGE_H
#define CLF_TOOLS_ATTEND_PAGE_H

#include <clformer/translator.h>

struct attend_page {
    const struct clf_attention_maps *maps;
    const struct clf_model_info *model;
    const char *source, *target; /* what is shown as text; valid UTF-8 */
};

/* As page_write(). */
int attend_page_write(const char *path, const struct attend_page *page);

#endif
