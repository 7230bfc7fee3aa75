#include "text/tokenizers/json/replace.h"

#include <string.h>

#include "base/memory.h"
#include "text/tokenizers/json/pattern.h"

struct replace {
    struct clf__pattern pattern;
    char *content;
};

void clf__replace_free(void *state)
{
    struct replace *replace = state;
    clf__pattern_free(&replace->pattern);
    clf__free(replace->content);
    clf__free(replace);
}

clf_status clf__replace_read(void **state, const struct clf__node *node)
{
    const char *content;
    struct replace *replace = NULL;
    CLF__TRY(clf__node_need_string(node, "content", &content));
    CLF__TRY(clf__allocate(&replace, 1, sizeof *replace));
    clf_status status = clf__pattern_read(&replace->pattern, node, "pattern");
    if (status == CLF_OK) {
        status = clf__copy_string(&replace->content, content);
    }
    if (status != CLF_OK) {
        clf__replace_free(replace);
        return status;
    }
    *state = replace;
    return CLF_OK;
}

static clf_status replace_in(const struct replace *replace, struct clf__pattern_search *search,
                             struct clf__word_list *out, const char *text, size_t size)
{
    struct clf__pattern_match match;
    size_t done = 0;
    int found = 1;
    clf__pattern_text(search, text, size);
    for (;;) {
        CLF__TRY(clf__pattern_next(search, &match, &found));
        if (!found) {
            return clf__word_list_put(out, text + done, size - done);
        }
        CLF__TRY(clf__word_list_put(out, text + done, match.start - done));
        CLF__TRY(clf__word_list_put(out, replace->content, strlen(replace->content)));
        done = match.end;
    }
}

clf_status clf__replace_run(const void *state, struct clf__word_list *out, const struct clf__word_list *in)
{
    const struct replace *replace = state;
    struct clf__pattern_search search;
    CLF__TRY(clf__pattern_begin(&search, &replace->pattern));
    clf_status status = CLF_OK;
    for (int i = 0; status == CLF_OK && i < in->count; i++) {
        status = replace_in(replace, &search, out, in->bytes + in->items[i].start, in->items[i].size);
        status = status == CLF_OK ? clf__word_list_end(out, in->items[i].is_first) : status;
    }
    clf__pattern_end(&search);
    return status;
}
