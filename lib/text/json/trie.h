/* Pieces by their bytes, for looking up every piece that a text begins with. */
#ifndef CLF_TEXT_JSON_TRIE_H
#define CLF_TEXT_JSON_TRIE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct clf__trie_node {
    uint32_t first; /* its children are the nodes from here on, by rising bytes */
    int32_t id;     /* of the piece that ends here, or -1 */
    uint16_t count;
};
struct clf__trie {
    struct clf__trie_node *nodes;
    uint8_t *labels; /* the byte that leads to a node */
    uint32_t count, capacity;
    uint32_t roots[256]; /* the children of the first node; 0: none */
};

struct clf__trie_piece {
    const char *text;
    size_t size;
    int32_t id;
};

/* Of pieces in any order, which it sorts; of two with the same text the one of the higher id stays. */
clf_status clf__trie_build(struct clf__trie *out, struct clf__trie_piece *pieces, size_t count);
void clf__trie_free(struct clf__trie *trie);

/* The node that a byte leads to, or 0; from node 0 everything begins. */
uint32_t clf__trie_next(const struct clf__trie *trie, uint32_t node, uint8_t byte);
/* The id of a whole text, or -1. */
int32_t clf__trie_find(const struct clf__trie *trie, const char *text, size_t size);

#endif
