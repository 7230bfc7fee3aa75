/* The WordPiece model (Schuster and Nakajima 2012; greedy as in BERT): repeatedly takes the longest matching
 * token. */
#include "text/tokenizers/json/model.h"

#include <limits.h>
#include <string.h>

#include "base/memory.h"

struct word_piece {
    struct clf__trie trie;
    int32_t unknown;
    uint32_t inside; /* trie node after the prefix of tokens inside a word; 0: no token has the prefix */
    int has_prefix;
    int most_characters;
};

static void word_piece_free(void *state)
{
    struct word_piece *model = state;
    clf__trie_free(&model->trie);
    clf__free(model);
}

static clf_status read_model(struct word_piece *model, const struct clf__node *node,
                             const struct clf__model_tokens *tokens)
{
    const char *prefix = "##";
    model->most_characters = 100;
    CLF__TRY(clf__node_string(node, "continuing_subword_prefix", &prefix));
    CLF__TRY(clf__node_int(node, "max_input_chars_per_word", 0, INT_MAX, &model->most_characters));
    CLF__TRY(clf__trie_build(&model->trie, tokens->items, tokens->count));
    CLF__TRY(clf__model_read_token(&model->unknown, node, "unk_token", &model->trie));
    if (model->unknown < 0) {
        return clf__node_fail(node, CLF_FORMAT, "has no \"unk_token\"; download the file again");
    }
    model->has_prefix = *prefix != '\0';
    for (size_t i = 0; prefix[i] != '\0' && (i == 0 || model->inside != 0); i++) {
        model->inside = clf__trie_next(&model->trie, model->inside, (uint8_t)prefix[i]);
    }
    return CLF_OK;
}

static clf_status word_piece_read(void **state, const struct clf__node *node,
                                  struct clf__model_tokens *tokens, int32_t *unknown)
{
    struct word_piece *model = NULL;
    CLF__TRY(clf__allocate(&model, 1, sizeof *model));
    clf_status status = read_model(model, node, tokens);
    if (status != CLF_OK) {
        word_piece_free(model);
        return status;
    }
    *unknown = model->unknown;
    *state = model;
    return CLF_OK;
}

/* Returns the id of the longest token at a position, or -1. */
static int32_t longest(const struct word_piece *model, const char *word, size_t size, size_t start,
                       size_t *end)
{
    int32_t id = -1;
    uint32_t node = start > 0 ? model->inside : 0;
    if (start > 0 && model->has_prefix && node == 0) {
        return -1;
    }
    for (size_t at = start;
         at < size && (node = clf__trie_next(&model->trie, node, (uint8_t)word[at])) != 0;) {
        at++;
        if (model->trie.nodes[node].id >= 0) {
            id = model->trie.nodes[node].id;
            *end = at;
        }
    }
    return id;
}

static clf_status word_piece_cut(const void *state, struct clf__model_work *work, const char *word,
                                 size_t size, clf__id_function *function, void *user)
{
    (void)work;
    const struct word_piece *model = state;
    size_t characters = 0, end = 0;
    for (size_t i = 0; i < size; i++) {
        characters += ((unsigned char)word[i] & 0xC0) != 0x80;
    }
    if (characters > (size_t)model->most_characters) {
        return function(user, model->unknown, word, size);
    }
    for (size_t start = 0; start < size; start = end) { /* first pass: check that the whole word can be
                                                           segmented */
        if (longest(model, word, size, start, &end) < 0) {
            return function(user, model->unknown, word, size);
        }
    }
    for (size_t start = 0; start < size; start = end) {
        int32_t id = longest(model, word, size, start, &end);
        CLF__TRY(function(user, id, word + start, end - start));
    }
    return CLF_OK;
}

const struct clf__model_kind clf__model_word_piece = {
    .name = "WordPiece",
    .keys = "type vocab unk_token continuing_subword_prefix max_input_chars_per_word",
    .cleans_up = 1,
    .read = word_piece_read,
    .free = word_piece_free,
    .cut = word_piece_cut,
};
