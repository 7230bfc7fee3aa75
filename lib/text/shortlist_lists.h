/* The in-memory representation of both shortlist formats. */
#ifndef CLF_TEXT_SHORTLIST_LISTS_H
#define CLF_TEXT_SHORTLIST_LISTS_H

#include "text/shortlist.h"

struct clf__shortlist_lists {
    int first, best;  /* number of frequent words that are always candidates; maximum list length */
    uint32_t *starts; /* (source words + 1): start of each word's list in `listed` */
    int32_t *listed;
};

/* Both readers expect a zeroed struct; the caller frees it even on failure. */
clf_status clf__shortlist_read_binary(struct clf__shortlist_lists *out, const char *bytes, size_t size,
                                      const char *path, const struct clf__shortlist_words *words);
clf_status clf__shortlist_read_text(struct clf__shortlist_lists *out, const char *text, size_t size,
                                    const char *path, const struct clf__shortlist_words *words,
                                    const struct clf__shortlist_cut *cut);

#endif
