/* The parts of a tokenizer.json that change a text in words: normalisers, pre-tokenisers and decoders. Each
 * kind is a row of its section's table (normalizers.c, pre_tokenizers.c, decoders.c): to add one, write its
 * functions and its row. */
#ifndef CLF_TEXT_JSON_PART_H
#define CLF_TEXT_JSON_PART_H

#include "text/json/node.h"
#include "text/json/words.h"

struct clf__part_kind {
    const char *name; /* "type" in the file */
    const char *keys; /* those that it knows, and "type" */
    /* Makes its state; NULL: it has none. */
    clf_status (*read)(void **state, const struct clf__node *node);
    void (*free)(void *state); /* NULL: clf__free() */
    /* Adds to `out` what the words of `in` become. */
    clf_status (*run)(const void *state, struct clf__word_list *out, const struct clf__word_list *in);
};

struct clf__part_section {
    const char *name;    /* the key of the file */
    const char *members; /* the key of a Sequence's list */
    const struct clf__part_kind *kinds;
    int count;
};
extern const struct clf__part_section clf__normalizers, clf__pre_tokenizers, clf__decoders;

struct clf__chain_step {
    const struct clf__part_kind *kind;
    void *state;
};
/* Parts that follow each other; zeroed, it is empty. */
struct clf__chain {
    struct clf__chain_step *steps;
    int count, capacity;
    char *where; /* the file and the section, for the messages; NULL: it is empty */
};
void clf__chain_free(struct clf__chain *chain);
/* Adds what a value says: null is nothing, a Sequence is its members. `path` is for the messages. */
clf_status clf__chain_read(struct clf__chain *chain, const struct clf__part_section *section,
                           const json_t *value, const char *path);
/* Runs every part on *words, with *spare beside it. CLF_TEXT: they make more of a text than any that people
 * write becomes, which a few lines of a file could have as large as the memory. */
clf_status clf__chain_run(const struct clf__chain *chain, struct clf__word_list *words,
                          struct clf__word_list *spare);

#endif
