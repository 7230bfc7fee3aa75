/* The BPE model (Sennrich et al. 2016, section 3.2): merges the characters of a word pair by pair. */
#include "text/tokenizers/json/model.h"

#include <limits.h>
#include <string.h>

#include <unicode/utf8.h>

#include "base/memory.h"

struct bpe {
    struct clf__trie trie;
    struct clf__merges merges;
    int32_t unknown; /* id of the unknown token; -1: unknown characters are dropped */
    int32_t bytes[256];
    int fuses_unknown, falls_back, ignores_merges;
    char *prefix, *suffix; /* prefix of characters inside a word, suffix of the last character */
    size_t prefix_size, suffix_size;
};

static void bpe_free(void *state)
{
    struct bpe *model = state;
    clf__trie_free(&model->trie);
    clf__merges_free(&model->merges);
    clf__free(model->prefix);
    clf__free(model->suffix);
    clf__free(model);
}

/* Reads "a b", or ["a", "b"] for tokens with spaces. */
static int read_pair(const json_t *row, const char **left, size_t *left_size, const char **right)
{
    const char *text = json_string_value(row);
    if (text != NULL) {
        const char *space = strchr(text, ' ');
        *left = text;
        *left_size = space != NULL ? (size_t)(space - text) : 0;
        *right = space != NULL ? space + 1 : NULL;
        return space != NULL;
    }
    *left = json_string_value(json_array_get(row, 0));
    *right = json_string_value(json_array_get(row, 1));
    *left_size = *left != NULL ? strlen(*left) : 0;
    return json_array_size(row) == 2 && *left != NULL && *right != NULL;
}

static clf_status add_merge(struct bpe *model, const struct clf__node *node, const json_t *row, size_t rank)
{
    const char *left, *right;
    size_t left_size;
    if (!read_pair(row, &left, &left_size, &right)) {
        return clf__node_fail(node, CLF_FORMAT,
                              "\"merges\": row %zu is not a pair of tokens; download the file again", rank);
    }
    char *whole = NULL;
    size_t right_size = strlen(right);
    size_t skipped = right_size < model->prefix_size ? right_size : model->prefix_size;
    CLF__TRY(clf__format(&whole, "%.*s%s", (int)left_size, left, right + skipped));
    int32_t first = clf__trie_find(&model->trie, left, left_size);
    int32_t second = clf__trie_find(&model->trie, right, right_size);
    int32_t result = clf__trie_find(&model->trie, whole, strlen(whole));
    clf_status status = CLF_OK;
    if (first < 0 || second < 0 || result < 0) {
        status = clf__node_fail(node, CLF_FORMAT,
                                "\"merges\": row %zu needs the token \"%.80s\", which \"vocab\" does not "
                                "contain; download the file again",
                                rank,
                                first < 0    ? left
                                : second < 0 ? right
                                             : whole);
    } else {
        clf__merges_add(&model->merges, first, second, (int32_t)rank, result, 1);
    }
    clf__free(whole);
    return status;
}

/* A pair of tokens that merges into a third. */
struct pair {
    int32_t left, right, result;
};
/* A limit on the search for pairs, which is cubic in the token length. Ordinary vocabularies need a few
 * million steps. */
enum { MOST_STEPS = 1 << 28 };
struct pairs {
    struct pair *items;
    size_t count, capacity, steps;
    const struct clf__node *node;
};

static clf_status add_pair(struct pairs *pairs, struct pair pair)
{
    CLF__TRY(clf__grow_to(&pairs->items, pairs->count + 1, &pairs->capacity, sizeof *pairs->items));
    pairs->items[pairs->count++] = pair;
    return CLF_OK;
}

static clf_status add_pairs_of(struct pairs *pairs, const struct clf__trie *trie,
                               const struct clf__trie_token *token)
{
    uint32_t node = 0;
    for (size_t i = 0; i + 1 < token->size; i++) {
        node = clf__trie_next(trie, node, (uint8_t)token->text[i]);
        int32_t left = node != 0 ? trie->nodes[node].id : -1;
        int is_start = (token->text[i + 1] & 0xC0) != 0x80; /* start of a character */
        if (left < 0 || !is_start) {
            continue;
        }
        int32_t right = clf__trie_find(trie, token->text + i + 1, token->size - i - 1);
        pairs->steps += token->size - i;
        if (pairs->steps > MOST_STEPS) {
            return clf__node_fail(
                pairs->node, CLF_FORMAT,
                "loading takes too long (the tokens have too many pairs); use another tokenizer");
        }
        if (right >= 0) {
            CLF__TRY(add_pair(pairs, (struct pair){left, right, token->id}));
        }
    }
    return CLF_OK;
}

static clf_status collect_pairs(struct pairs *pairs, const struct clf__trie *trie,
                                const struct clf__model_tokens *tokens)
{
    const struct clf__trie_token **by_id = NULL;
    CLF__TRY(clf__allocate(&by_id, (size_t)tokens->ids, sizeof *by_id));
    for (size_t i = 0; i < tokens->count; i++) {
        by_id[tokens->items[i].id] = &tokens->items[i];
    }
    clf_status status = CLF_OK;
    for (int id = 0; id < tokens->ids && status == CLF_OK; id++) {
        status = by_id[id] != NULL ? add_pairs_of(pairs, trie, by_id[id]) : CLF_OK;
    }
    clf__free(by_id);
    return status;
}

/* Builds a merge for every pair of tokens whose concatenation is a token, as transformers does for files with
 * scores but no merges (generate_merges). If by_result is set, pairs with the same result share a rank. */
static clf_status make_merges(struct bpe *model, const struct clf__node *node,
                              const struct clf__model_tokens *tokens, int by_result)
{
    struct pairs pairs = {.node = node};
    clf_status status = collect_pairs(&pairs, &model->trie, tokens);
    if (status == CLF_OK) {
        status = clf__merges_create(&model->merges, (int)pairs.count);
    }
    for (size_t i = 0; i < pairs.count && status == CLF_OK; i++) {
        const struct pair *pair = &pairs.items[i];
        int32_t rank = by_result ? pair->result : (int32_t)i;
        clf__merges_add(&model->merges, pair->left, pair->right, rank, pair->result, 1);
    }
    clf__free(pairs.items);
    return status;
}

static clf_status read_merges(struct bpe *model, const struct clf__node *node,
                              const struct clf__model_tokens *tokens)
{
    const json_t *merges = json_object_get(node->value, "merges");
    if (json_is_true(merges) ||
        json_is_string(merges)) { /* placeholders of model_file.c and tiktoken.c: generate the merges */
        return make_merges(model, node, tokens, json_is_string(merges));
    }
    size_t count = json_array_size(merges);
    if (!json_is_array(merges) || count > INT_MAX / 4) {
        return clf__node_fail(node, CLF_FORMAT, "has no list \"merges\"; download the file again");
    }
    CLF__TRY(clf__merges_create(&model->merges, (int)count));
    for (size_t rank = 0; rank < count; rank++) {
        CLF__TRY(add_merge(model, node, json_array_get(merges, rank), rank));
    }
    return CLF_OK;
}

static clf_status read_options(struct bpe *model, const struct clf__node *node)
{
    const char *prefix = "", *suffix = "";
    const json_t *dropout = json_object_get(node->value, "dropout");
    if (dropout != NULL && !json_is_null(dropout) && json_number_value(dropout) != 0) {
        return clf__node_fail(node, CLF_UNSUPPORTED,
                              "\"dropout\" is set, so segmentation would be random; set it to null");
    }
    CLF__TRY(clf__node_bool(node, "fuse_unk", &model->fuses_unknown));
    CLF__TRY(clf__node_bool(node, "byte_fallback", &model->falls_back));
    CLF__TRY(clf__node_bool(node, "ignore_merges", &model->ignores_merges));
    CLF__TRY(clf__node_string(node, "continuing_subword_prefix", &prefix));
    CLF__TRY(clf__node_string(node, "end_of_word_suffix", &suffix));
    model->prefix_size = strlen(prefix);
    model->suffix_size = strlen(suffix);
    CLF__TRY(clf__copy_string(&model->prefix, prefix));
    return clf__copy_string(&model->suffix, suffix);
}

static clf_status read_model(struct bpe *model, const struct clf__node *node,
                             const struct clf__model_tokens *tokens)
{
    CLF__TRY(read_options(model, node));
    CLF__TRY(clf__trie_build(&model->trie, tokens->items, tokens->count));
    CLF__TRY(clf__model_read_token(&model->unknown, node, "unk_token", &model->trie));
    clf__model_byte_tokens(model->bytes, &model->trie);
    return read_merges(model, node, tokens);
}

static clf_status bpe_read(void **state, const struct clf__node *node, struct clf__model_tokens *tokens,
                           int32_t *unknown)
{
    struct bpe *model = NULL;
    CLF__TRY(clf__allocate(&model, 1, sizeof *model));
    clf_status status = read_model(model, node, tokens);
    if (status != CLF_OK) {
        bpe_free(model);
        return status;
    }
    *unknown = model->unknown;
    *state = model;
    return CLF_OK;
}

/* Finds the token of a character with its prefix or suffix; *text and *size receive the token's bytes. */
static clf_status character_token(const struct bpe *model, struct clf__model_work *work, const char **text,
                                  size_t *size, int is_first, int is_last, int32_t *id)
{
    size_t before = is_first ? 0 : model->prefix_size, behind = is_last ? model->suffix_size : 0;
    if (before + behind > 0) {
        size_t whole = before + *size + behind;
        CLF__TRY(clf__grow_to(&work->text, whole, &work->text_capacity, 1));
        memcpy(work->text, model->prefix, before);
        memcpy(work->text + before, *text, *size);
        memcpy(work->text + before + *size, model->suffix, behind);
        *text = work->text;
        *size = whole;
    }
    *id = clf__trie_find(&model->trie, *text, *size);
    return CLF_OK;
}

static int has_bytes(const struct bpe *model, const char *text, size_t size)
{
    size_t i = 0;
    while (model->falls_back && i < size && model->bytes[(uint8_t)text[i]] >= 0) {
        i++;
    }
    return i == size;
}

/* Adds the symbol for unknown characters. Pairs never contain this symbol, so unknown symbols stay in order.
 */
static clf_status add_unknown(const struct bpe *model, struct clf__model_work *work,
                              struct clf__model_span span)
{
    CLF__TRY(clf__grow_to(&work->unknown, work->unknown_count + 1, &work->unknown_capacity,
                          sizeof *work->unknown));
    work->unknown[work->unknown_count++] = span;
    clf__merge_symbol(&work->merges, model->unknown);
    return CLF_OK;
}

/* Adds the symbols of a word. Unknown characters are added once the next known character is reached; with
 * fuse_unk, consecutive unknown characters become one symbol. */
static clf_status add_symbols(const struct bpe *model, struct clf__model_work *work, const char *word,
                              size_t size)
{
    struct clf__model_span waiting = {0, 0}; /* no unknown character is pending */
    work->unknown_count = 0;
    for (size_t at = 0, next = 0; at < size; at = next) {
        U8_FWD_1_UNSAFE((const uint8_t *)word, next);
        const char *text = word + at;
        size_t bytes = next - at;
        int32_t id;
        CLF__TRY(character_token(model, work, &text, &bytes, at == 0, next == size, &id));
        if (id >= 0) {
            CLF__TRY(waiting.end > 0 ? add_unknown(model, work, waiting) : CLF_OK);
            waiting.end = 0;
            clf__merge_symbol(&work->merges, id);
        } else if (has_bytes(model, text, bytes)) {
            for (size_t i = 0; i < bytes; i++) {
                clf__merge_symbol(&work->merges, model->bytes[(uint8_t)text[i]]);
            }
        } else if (model->unknown >= 0) {
            if (waiting.end > 0 && !model->fuses_unknown) {
                CLF__TRY(add_unknown(model, work, waiting));
                waiting.end = 0;
            }
            waiting = (struct clf__model_span){waiting.end > 0 ? waiting.start : at, next};
        }
    }
    return waiting.end > 0 ? add_unknown(model, work, waiting) : CLF_OK;
}

static clf_status bpe_cut(const void *state, struct clf__model_work *work, const char *word, size_t size,
                          clf__id_function *function, void *user)
{
    const struct bpe *model = state;
    int32_t whole = model->ignores_merges ? clf__trie_find(&model->trie, word, size) : -1;
    if (whole >= 0) {
        return function(user, whole, word, size);
    }
    /* Each byte produces at most one symbol; a character with its prefix and suffix is one symbol. */
    size_t longest = 1 + model->prefix_size + model->suffix_size;
    if (size > INT_MAX / 8 / longest) {
        return clf__fail(CLF_TEXT, "a word of %zu bytes is too long", size);
    }
    CLF__TRY(clf__merge_begin(&work->merges, size * longest));
    CLF__TRY(add_symbols(model, work, word, size));
    clf__merge_all(&model->merges, &work->merges);
    size_t unknown = 0;
    for (int at = 0; at >= 0 && work->merges.count > 0; at = work->merges.links[at].next) {
        int32_t id = work->merges.links[at].symbol;
        int is_span = id == model->unknown && unknown < work->unknown_count;
        struct clf__model_span span = is_span ? work->unknown[unknown++] : (struct clf__model_span){0, size};
        CLF__TRY(function(user, id, word + span.start, span.end - span.start));
    }
    return CLF_OK;
}

const struct clf__model_kind clf__model_bpe = {
    .name = "BPE",
    .keys = "type dropout unk_token continuing_subword_prefix end_of_word_suffix fuse_unk byte_fallback "
            "ignore_merges vocab merges",
    .read = bpe_read,
    .free = bpe_free,
    .cut = bpe_cut,
};
