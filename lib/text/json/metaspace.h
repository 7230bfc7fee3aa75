/* The options of Metaspace, which is a pre-tokeniser and a decoder. */
#ifndef CLF_TEXT_JSON_METASPACE_H
#define CLF_TEXT_JSON_METASPACE_H

#include "text/json/node.h"

#define CLF__METASPACE_KEYS "type replacement prepend_scheme split add_prefix_space str_rep"

enum clf__metaspace_prepends { CLF__METASPACE_ALWAYS, CLF__METASPACE_FIRST, CLF__METASPACE_NEVER };

struct clf__metaspace {
    char mark[4]; /* (mark_size) what stands for a space */
    size_t mark_size;
    enum clf__metaspace_prepends prepends; /* whether a text gets one in front */
    int splits;                            /* a word begins with each mark */
};
clf_status clf__metaspace_read(void **state, const struct clf__node *node);

#endif
