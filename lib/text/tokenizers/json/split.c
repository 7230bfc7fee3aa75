#include "text/tokenizers/json/split.h"

void clf__splitter_begin(struct clf__splitter *out, struct clf__word_list *words, const char *text,
                         int is_first, enum clf__split behaviour)
{
    *out = (struct clf__splitter){.out = words, .text = text, .behaviour = behaviour, .is_first = is_first};
}

clf_status clf__splitter_end(struct clf__splitter *splitter)
{
    int has_word = splitter->has_word;
    splitter->has_word = 0;
    return has_word ? clf__word_list_add(splitter->out, splitter->text + splitter->start,
                                         splitter->end - splitter->start,
                                         splitter->is_first && splitter->start == 0)
                    : CLF_OK;
}

/* Returns whether a segment continues the previous word. If a run of matches merges with a neighbour, only
 * the first or last match does. */
static int goes_on(const struct clf__splitter *splitter, int is_match)
{
    switch (splitter->behaviour) {
    case CLF__SPLIT_CONTIGUOUS:
        return splitter->is_match == is_match;
    case CLF__SPLIT_MERGED_WITH_PREVIOUS:
        return is_match && !splitter->is_match;
    case CLF__SPLIT_MERGED_WITH_NEXT:
        return !is_match && splitter->is_match;
    default:
        return 0;
    }
}

clf_status clf__splitter_add(struct clf__splitter *splitter, size_t start, size_t end, int is_match)
{
    if (splitter->has_word && goes_on(splitter, is_match)) {
        splitter->end = end;
    } else {
        CLF__TRY(clf__splitter_end(splitter));
        splitter->start = start;
        splitter->end = end;
        splitter->has_word = !(is_match && splitter->behaviour == CLF__SPLIT_REMOVED);
    }
    splitter->is_match = is_match;
    return CLF_OK;
}
