/* The WordLevel model: a word is a token or unknown. */
#include "text/tokenizers/json/model.h"

#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

struct word_level {
    struct clf__trie trie;
    int32_t unknown; /* id of the unknown token, or -1 */
};

static void word_level_free(void *state)
{
    struct word_level *model = state;
    clf__trie_free(&model->trie);
    clf__free(model);
}

static clf_status word_level_read(void **state, const struct clf__node *node,
                                  struct clf__model_tokens *tokens, int32_t *unknown)
{
    struct word_level *model = NULL;
    const char *name = NULL;
    CLF__TRY(clf__node_string(node, "unk_token", &name));
    CLF__TRY(clf__allocate(&model, 1, sizeof *model));
    clf_status status = clf__trie_build(&model->trie, tokens->items, tokens->count);
    if (status != CLF_OK) {
        clf__free(model);
        return status;
    }
    /* Few vocabularies contain the default unknown token, so its absence is an error only when a word is
     * unknown. */
    model->unknown = name != NULL ? clf__trie_find(&model->trie, name, strlen(name)) : -1;
    *unknown = model->unknown;
    *state = model;
    return CLF_OK;
}

static clf_status word_level_cut(const void *state, struct clf__model_work *work, const char *word,
                                 size_t size, clf__id_function *function, void *user)
{
    (void)work;
    const struct word_level *model = state;
    int32_t id = clf__trie_find(&model->trie, word, size);
    id = id >= 0 ? id : model->unknown;
    return id >= 0 ? function(user, id, word, size)
                   : clf__fail(CLF_TEXT, "\"%.*s\" is not in the vocabulary, which has no unknown token",
                               (int)(size < 80 ? size : clf__utf8_cut(word, 80)), word);
}

const struct clf__model_kind clf__model_word_level = {
    .name = "WordLevel",
    .keys = "type vocab unk_token",
    .cleans_up = 1,
    .read = word_level_read,
    .free = word_level_free,
    .cut = word_level_cut,
};
