#include "text/tokenizers/json/trie.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static int by_bytes(const void *left, const void *right)
{
    const struct clf__trie_token *a = left, *b = right;
    size_t shorter = a->size < b->size ? a->size : b->size;
    int order = memcmp(a->text, b->text, shorter);
    if (order != 0) {
        return order;
    }
    return a->size != b->size ? (a->size > b->size) - (a->size < b->size) : (a->id > b->id) - (a->id < b->id);
}

/* Tokens `first` to `end` - 1, which share their first `depth` bytes and thus a node. */
struct range {
    size_t first, end, depth;
};

struct builder {
    struct clf__trie *trie;
    struct range *ranges; /* ranges of the nodes */
    const struct clf__trie_token *tokens;
};

static clf_status add_node(struct builder *builder, uint8_t label, struct range range)
{
    struct clf__trie *trie = builder->trie;
    if (trie->count == trie->capacity) {
        if (trie->capacity > UINT32_MAX / 4) {
            return clf__fail(CLF_FORMAT, "the tokens have more than %u bytes in total", trie->capacity);
        }
        uint32_t capacity = 2 * trie->capacity + 1024;
        CLF__TRY(clf__resize(&trie->nodes, capacity, sizeof *trie->nodes));
        CLF__TRY(clf__resize(&trie->labels, capacity, 1));
        CLF__TRY(clf__resize(&builder->ranges, capacity, sizeof *builder->ranges));
        trie->capacity = capacity;
    }
    trie->nodes[trie->count] = (struct clf__trie_node){.id = -1};
    trie->labels[trie->count] = label;
    builder->ranges[trie->count++] = range;
    return CLF_OK;
}

static clf_status add_children(struct builder *builder, uint32_t node)
{
    struct clf__trie *trie = builder->trie;
    const struct clf__trie_token *tokens = builder->tokens;
    struct range range = builder->ranges[node];
    size_t at = range.first;
    for (; at < range.end && tokens[at].size == range.depth; at++) {
        trie->nodes[node].id = tokens[at].id;
    }
    uint32_t first = trie->count;
    while (at < range.end) {
        uint8_t label = (uint8_t)tokens[at].text[range.depth];
        size_t from = at;
        while (at < range.end && (uint8_t)tokens[at].text[range.depth] == label) {
            at++;
        }
        CLF__TRY(add_node(builder, label, (struct range){from, at, range.depth + 1}));
    }
    trie->nodes[node].first = first;
    trie->nodes[node].count = (uint16_t)(trie->count - first);
    return CLF_OK;
}

clf_status clf__trie_build(struct clf__trie *out, struct clf__trie_token *tokens, size_t count)
{
    struct clf__trie trie = {.count = 0};
    struct builder builder = {.trie = &trie, .tokens = tokens};
    if (count > 0) {
        qsort(tokens, count, sizeof *tokens, by_bytes);
    }
    clf_status status = add_node(&builder, 0, (struct range){0, count, 0});
    for (uint32_t node = 0; status == CLF_OK && node < trie.count; node++) {
        status = add_children(&builder, node);
    }
    for (uint32_t i = 0; status == CLF_OK && i < trie.nodes[0].count; i++) {
        trie.roots[trie.labels[trie.nodes[0].first + i]] = trie.nodes[0].first + i;
    }
    clf__free(builder.ranges);
    if (status != CLF_OK) {
        clf__trie_free(&trie);
        return status;
    }
    *out = trie;
    return CLF_OK;
}

void clf__trie_free(struct clf__trie *trie)
{
    clf__free(trie->nodes);
    clf__free(trie->labels);
    *trie = (struct clf__trie){.count = 0};
}

uint32_t clf__trie_next(const struct clf__trie *trie, uint32_t node, uint8_t byte)
{
    if (node == 0) {
        return trie->roots[byte];
    }
    const uint8_t *labels = trie->labels + trie->nodes[node].first;
    uint32_t low = 0, high = trie->nodes[node].count;
    while (high - low > 8) {
        uint32_t middle = (low + high) / 2;
        low = labels[middle] <= byte ? middle : low;
        high = labels[middle] <= byte ? high : middle;
    }
    for (; low < high; low++) {
        if (labels[low] == byte) {
            return trie->nodes[node].first + low;
        }
    }
    return 0;
}

int32_t clf__trie_find(const struct clf__trie *trie, const char *text, size_t size)
{
    uint32_t node = 0;
    for (size_t i = 0; i < size; i++) {
        node = clf__trie_next(trie, node, (uint8_t)text[i]);
        if (node == 0) {
            return -1;
        }
    }
    return trie->nodes[node].id;
}
