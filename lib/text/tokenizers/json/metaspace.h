/* Options of Metaspace, which is both a pre-tokenizer and a decoder. */
#ifndef CLF_TEXT_JSON_METASPACE_H
#define CLF_TEXT_JSON_METASPACE_H

#include "text/tokenizers/json/node.h"

#define CLF__METASPACE_KEYS "type replacement prepend_scheme split add_prefix_space str_rep"

enum clf__metaspace_prepends { CLF__METASPACE_ALWAYS, CLF__METASPACE_FIRST, CLF__METASPACE_NEVER };

struct clf__metaspace {
    char mark[4]; /* (mark_size) replacement of a space */
    size_t mark_size;
    enum clf__metaspace_prepends prepends; /* when to prepend a mark to a text */
    int splits;                            /* a word begins at each mark */
};
clf_status clf__metaspace_read(void **state, const struct clf__node *node);

#endif
