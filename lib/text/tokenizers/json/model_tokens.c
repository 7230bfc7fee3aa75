/* Functions shared by all models. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "text/tokenizers/json/model.h"
#include "text/tokenizers/vocabulary.h"

void clf__model_work_free(struct clf__model_work *work)
{
    clf__merge_work_free(&work->merges);
    clf__free(work->path);
    clf__free(work->text);
    clf__free(work->unknown);
    *work = (struct clf__model_work){.path = NULL};
}

static clf_status add(struct clf__model_tokens *tokens, const struct clf__node *node, const char *token,
                      json_int_t id)
{
    if (id < 0 || id >= CLF__MAX_VOCABULARY) {
        return clf__node_fail(
            node, CLF_FORMAT,
            "\"vocab\": the id of \"%.80s\" is %lld, not in 0 .. %d; download the file again", token,
            (long long)id, (int)CLF__MAX_VOCABULARY - 1);
    }
    tokens->ids = id >= tokens->ids ? (int)id + 1 : tokens->ids;
    tokens->items[tokens->count++] = (struct clf__trie_token){token, strlen(token), (int32_t)id};
    return CLF_OK;
}

static clf_status read_object(struct clf__model_tokens *tokens, const struct clf__node *node, json_t *vocab)
{
    const char *token;
    json_t *id;
    json_object_foreach(vocab, token, id)
    {
        if (!json_is_integer(id)) {
            return clf__node_fail(node, CLF_FORMAT,
                                  "\"vocab\": the id of \"%.80s\" is not an integer; download the file again",
                                  token);
        }
        CLF__TRY(add(tokens, node, token, json_integer_value(id)));
    }
    return CLF_OK;
}

static clf_status read_list(struct clf__model_tokens *tokens, const struct clf__node *node,
                            const json_t *vocab)
{
    for (size_t i = 0; i < json_array_size(vocab); i++) {
        const json_t *row = json_array_get(vocab, i);
        const char *token = json_string_value(json_array_get(row, 0));
        if (json_array_size(row) != 2 || token == NULL || !json_is_number(json_array_get(row, 1))) {
            return clf__node_fail(node, CLF_FORMAT,
                                  "\"vocab\": row %zu is not [token, score]; download the file again", i);
        }
        CLF__TRY(add(tokens, node, token, (json_int_t)i));
    }
    return CLF_OK;
}

/* Checks that ids are unique. */
static clf_status check_ids(const struct clf__model_tokens *tokens, const struct clf__node *node)
{
    const char **of = NULL;
    clf_status status = CLF_OK;
    CLF__TRY(clf__allocate(&of, (size_t)tokens->ids, sizeof *of));
    for (size_t i = 0; status == CLF_OK && i < tokens->count; i++) {
        const struct clf__trie_token *token = &tokens->items[i];
        if (of[token->id] != NULL) {
            status = clf__node_fail(
                node, CLF_FORMAT,
                "\"vocab\": \"%.80s\" and \"%.80s\" have the same id %d; download the file again",
                of[token->id], token->text, (int)token->id);
        }
        of[token->id] = token->text;
    }
    clf__free(of);
    return status;
}

clf_status clf__model_read_tokens(struct clf__model_tokens *out, const struct clf__node *node,
                                  const struct clf__model_kind *kind)
{
    json_t *vocab = json_object_get(node->value, "vocab");
    size_t count = kind->has_list ? json_array_size(vocab) : json_object_size(vocab);
    *out = (struct clf__model_tokens){.count = 0};
    if (count == 0 || count > CLF__MAX_VOCABULARY) {
        return clf__node_fail(node, CLF_FORMAT,
                              "\"vocab\" is not %s of 1 to %d tokens; download the file again",
                              kind->has_list ? "a list" : "an object", (int)CLF__MAX_VOCABULARY);
    }
    CLF__TRY(clf__allocate(&out->items, count, sizeof *out->items));
    clf_status status = kind->has_list ? read_list(out, node, vocab) : read_object(out, node, vocab);
    if (status == CLF_OK) {
        status = check_ids(out, node);
    }
    if (status != CLF_OK) {
        clf__free(out->items);
        *out = (struct clf__model_tokens){.count = 0};
    }
    return status;
}

clf_status clf__model_read_token(int32_t *id, const struct clf__node *node, const char *key,
                                 const struct clf__trie *trie)
{
    const char *token = NULL;
    *id = -1;
    CLF__TRY(clf__node_string(node, key, &token));
    if (token == NULL) {
        return CLF_OK;
    }
    *id = clf__trie_find(trie, token, strlen(token));
    return *id >= 0 ? CLF_OK
                    : clf__node_fail(
                          node, CLF_FORMAT,
                          "\"%s\" is \"%.80s\", which \"vocab\" does not contain; download the file again",
                          key, token);
}

void clf__model_byte_tokens(int32_t ids[256], const struct clf__trie *trie)
{
    for (int byte = 0; byte < 256; byte++) {
        char token[8];
        int size = snprintf(token, sizeof token, "<0x%02X>", (unsigned)byte);
        ids[byte] = clf__trie_find(trie, token, (size_t)size);
    }
}
