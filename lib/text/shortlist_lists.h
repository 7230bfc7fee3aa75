/* What the two forms of shortlists are read into. */
#ifndef CLF_TEXT_SHORTLIST_LISTS_H
#define CLF_TEXT_SHORTLIST_LISTS_H

#include "text/shortlist.h"

struct clf__shortlist_lists {
    int first, best;  /* words that always are candidates; the longest list */
    uint32_t *starts; /* (source words + 1): where in `listed` each word's list begins */
    int32_t *listed;
};

/* Each fills zeros; on failure too the caller frees them. */
clf_status clf__shortlist_read_binary(struct clf__shortlist_lists *out, const char *bytes, size_t size,
                                      const char *path, const struct clf__shortlist_words *words);
clf_status clf__shortlist_read_text(struct clf__shortlist_lists *out, const char *text, size_t size,
                                    const char *path, const struct clf__shortlist_words *words,
                                    const struct clf__shortlist_cut *cut);

#endif
