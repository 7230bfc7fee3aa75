/* The segmenter for a missing file: supports tokens (--tokens), but not text. */
#include "text/tokenizers/segmenters/segmenter.h"

#include "base/memory.h"

static clf_status missing_open(void **state, const struct clf__segmenter_folder *folder, int target)
{
    char *sentence = NULL;
    (void)target;
    CLF__TRY(clf__format(&sentence, "%s: no file to segment text into tokens; copy %s", folder->path,
                         folder->model));
    *state = sentence;
    return CLF_OK;
}

static clf_status missing_segment(const void *state, const char *text, size_t size,
                                  clf__token_function *function, void *user)
{
    (void)text;
    (void)size;
    (void)function;
    (void)user;
    return clf__fail(CLF_FILE, "%s", (const char *)state);
}

static clf_status missing_join(const void *state, char **text, const char *const *tokens, int count)
{
    (void)tokens;
    (void)count;
    *text = NULL;
    return clf__fail(CLF_FILE, "%s", (const char *)state);
}

const struct clf__segmenter clf__segmenter_missing = {
    .name = "missing",
    .open = missing_open,
    .free = clf__free,
    .segment = missing_segment,
    .join = missing_join,
};
