/* A trie of tokens, which finds every token that a text begins with. */
#ifndef CLF_TEXT_JSON_TRIE_H
#define CLF_TEXT_JSON_TRIE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct clf__trie_node {
    uint32_t first; /* index of the first child; children are sorted by byte */
    int32_t id;     /* token that ends here, or -1 */
    uint16_t count;
};
struct clf__trie {
    struct clf__trie_node *nodes;
    uint8_t *labels; /* byte on the edge to each node */
    uint32_t count, capacity;
    uint32_t roots[256]; /* children of the root; 0: none */
};

struct clf__trie_token {
    const char *text;
    size_t size;
    int32_t id;
};

/* Sorts the tokens and builds a trie from them. If texts are equal, the higher id is kept. */
clf_status clf__trie_build(struct clf__trie *out, struct clf__trie_token *tokens, size_t count);
void clf__trie_free(struct clf__trie *trie);

/* Returns the child for a byte, or 0; node 0 is the root. */
uint32_t clf__trie_next(const struct clf__trie *trie, uint32_t node, uint8_t byte);
/* Returns the id of a whole text, or -1. */
int32_t clf__trie_find(const struct clf__trie *trie, const char *text, size_t size);

#endif
