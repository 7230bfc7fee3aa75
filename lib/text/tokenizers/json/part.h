/* Parts of tokenizer.json that change a list of words: normalizers, pre-tokenizers and decoders. To add a
 * kind, write its functions and add a row to the table of its section (normalizers.c, pre_tokenizers.c,
 * decoders.c). */
#ifndef CLF_TEXT_JSON_PART_H
#define CLF_TEXT_JSON_PART_H

#include "text/tokenizers/json/node.h"
#include "text/tokenizers/json/words.h"

struct clf__part_kind {
    const char *name; /* "type" in the file */
    const char *keys; /* accepted keys, including "type" */
    /* Creates the state; NULL: stateless. */
    clf_status (*read)(void **state, const struct clf__node *node);
    void (*free)(void *state); /* NULL: clf__free() */
    /* Adds the results for the words of `in` to `out`. */
    clf_status (*run)(const void *state, struct clf__word_list *out, const struct clf__word_list *in);
};

struct clf__part_section {
    const char *name;    /* key in tokenizer.json */
    const char *members; /* key of the list in a Sequence */
    const struct clf__part_kind *kinds;
    int count;
};
extern const struct clf__part_section clf__normalizers, clf__pre_tokenizers, clf__decoders;

struct clf__chain_step {
    const struct clf__part_kind *kind;
    void *state;
};
/* Parts that run in sequence. A zeroed chain is empty. */
struct clf__chain {
    struct clf__chain_step *steps;
    int count, capacity;
    char *where; /* file and section for error messages; NULL: empty */
};
void clf__chain_free(struct clf__chain *chain);
/* Appends the parts described by a value: null adds none, a Sequence adds its members. `path` is for error
 * messages. */
clf_status clf__chain_read(struct clf__chain *chain, const struct clf__part_section *section,
                           const json_t *value, const char *path);
/* Runs every part on *words; *spare is scratch. Returns CLF_TEXT if the text grows more than natural text
 * can; otherwise a small malicious file could exhaust the memory. */
clf_status clf__chain_run(const struct clf__chain *chain, struct clf__word_list *words,
                          struct clf__word_list *spare);

#endif
