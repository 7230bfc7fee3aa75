/* The Unigram model (Kudo 2018, section 3.2): finds the segmentation of a word with the highest sum of
 * scores. */
#include "text/tokenizers/json/model.h"

#include <string.h>

#include <unicode/utf8.h>

#include "base/memory.h"
#include "base/utf8.h"

static const double unknown_penalty = 10; /* the unknown score is the lowest score minus this */

struct unigram {
    struct clf__trie trie;
    double *scores; /* score of each id */
    double unknown_score;
    int32_t unknown; /* id of the unknown token, or -1 */
    int32_t bytes[256];
    int falls_back;
};

/* The best segmentation up to a position. */
struct clf__path_node {
    double score;
    size_t start; /* start of the last token */
    size_t next;  /* end of the token that begins here, in the best segmentation */
    int32_t id;
    int is_reached;
};

static void unigram_free(void *state)
{
    struct unigram *model = state;
    clf__trie_free(&model->trie);
    clf__free(model->scores);
    clf__free(model);
}

static clf_status read_model(struct unigram *model, const struct clf__node *node,
                             const struct clf__model_tokens *tokens)
{
    int unknown = -1;
    CLF__TRY(clf__node_bool(node, "byte_fallback", &model->falls_back));
    CLF__TRY(clf__node_int(node, "unk_id", 0, tokens->ids - 1, &unknown));
    model->unknown = unknown;
    const json_t *vocab = json_object_get(node->value, "vocab");
    CLF__TRY(clf__allocate(&model->scores, tokens->count, sizeof *model->scores));
    double lowest = 0;
    for (size_t i = 0; i < tokens->count; i++) {
        model->scores[i] = json_number_value(json_array_get(json_array_get(vocab, i), 1));
        lowest = i == 0 || model->scores[i] < lowest ? model->scores[i] : lowest;
    }
    model->unknown_score = lowest - unknown_penalty;
    CLF__TRY(clf__trie_build(&model->trie, tokens->items, tokens->count));
    clf__model_byte_tokens(model->bytes, &model->trie);
    return CLF_OK;
}

static clf_status unigram_read(void **state, const struct clf__node *node, struct clf__model_tokens *tokens,
                               int32_t *unknown)
{
    struct unigram *model = NULL;
    CLF__TRY(clf__allocate(&model, 1, sizeof *model));
    clf_status status = read_model(model, node, tokens);
    if (status != CLF_OK) {
        unigram_free(model);
        return status;
    }
    *unknown = model->unknown;
    *state = model;
    return CLF_OK;
}

static clf_status no_unknown(const char *word, size_t size)
{
    return clf__fail(CLF_TEXT, "\"%.*s\" is not in the vocabulary, which has no unknown token",
                     (int)(size < 80 ? size : clf__utf8_cut(word, 80)), word);
}

static void try_token(struct clf__path_node *node, double score, size_t start, int32_t id)
{
    if (!node->is_reached || score > node->score) {
        *node = (struct clf__path_node){.score = score, .start = start, .id = id, .is_reached = 1};
    }
}

static clf_status find_path(const struct unigram *model, struct clf__path_node *path, const char *word,
                            size_t size)
{
    for (size_t start = 0, next = 0; start < size; start = next) {
        U8_FWD_1_UNSAFE((const uint8_t *)word, next);
        double score = path[start].score;
        int has_character = 0;
        uint32_t node = 0;
        for (size_t end = start;
             end < size && (node = clf__trie_next(&model->trie, node, (uint8_t)word[end]));) {
            end++;
            int32_t id = model->trie.nodes[node].id;
            if (id >= 0) {
                try_token(&path[end], score + model->scores[id], start, id);
                has_character |= end == next;
            }
        }
        if (!has_character) {
            if (model->unknown < 0) {
                return no_unknown(word + start, next - start);
            }
            try_token(&path[next], score + model->unknown_score, start, model->unknown);
        }
    }
    return CLF_OK;
}

/* Emits a token, or a run of unknown characters; a run whose text is a token becomes that token. */
static clf_status give(const struct unigram *model, const char *text, size_t size, int32_t id,
                       clf__id_function *function, void *user)
{
    if (id != model->unknown) {
        return function(user, id, text, size);
    }
    int32_t whole = clf__trie_find(&model->trie, text, size);
    if (whole >= 0 || !model->falls_back) {
        return function(user, whole >= 0 ? whole : id, text, size);
    }
    for (size_t i = 0; i < size; i++) {
        if (model->bytes[(uint8_t)text[i]] < 0) {
            return function(user, id, text, size);
        }
    }
    for (size_t i = 0; i < size; i++) {
        CLF__TRY(function(user, model->bytes[(uint8_t)text[i]], text + i, 1));
    }
    return CLF_OK;
}

static clf_status unigram_cut(const void *state, struct clf__model_work *work, const char *word, size_t size,
                              clf__id_function *function, void *user)
{
    const struct unigram *model = state;
    CLF__TRY(clf__grow_to(&work->path, size + 1, &work->path_capacity, sizeof *work->path));
    struct clf__path_node *path = work->path;
    memset(path, 0, (size + 1) * sizeof *path);
    CLF__TRY(find_path(model, path, word, size));
    /* Follows the best path back from the end; adjacent unknown characters become one token. */
    size_t end = size;
    while (end > 0) {
        size_t start = path[end].start;
        int32_t id = path[end].id;
        while (id == model->unknown && start > 0 && path[start].id == id) {
            start = path[start].start;
        }
        path[start].next = end;
        end = start;
    }
    for (size_t start = 0; start < size; start = end) {
        end = path[start].next;
        CLF__TRY(give(model, word + start, end - start, path[end].id, function, user));
    }
    return CLF_OK;
}

const struct clf__model_kind clf__model_unigram = {
    .name = "Unigram",
    .keys = "type vocab unk_id byte_fallback",
    .has_list = 1,
    .cleans_up = 1,
    .read = unigram_read,
    .free = unigram_free,
    .cut = unigram_cut,
};
