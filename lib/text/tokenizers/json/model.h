/* Models of tokenizer.json: each segments a word into token ids. To add a kind, write its functions and add a
 * row to the table in models.c. */
#ifndef CLF_TEXT_JSON_MODEL_H
#define CLF_TEXT_JSON_MODEL_H

#include "text/tokenizers/json/node.h"
#include "text/tokenizers/json/trie.h"
#include "text/tokenizers/segmenters/merges.h"
#include "text/tokenizers/segmenters/segmenter.h"

/* The tokens of a model, borrowed from the JSON, with their location for error messages. */
struct clf__model_tokens {
    struct clf__trie_token *items; /* in any order, with unique ids 0 .. most - 1 */
    size_t count;
    int ids; /* highest id + 1 */
};

/* A range of bytes in a word. */
struct clf__model_span {
    size_t start, end;
};

/* Scratch memory for segmentation, reused for each word; zero-initialise. */
struct clf__model_work {
    struct clf__merge_work merges;
    struct clf__path_node *path;
    size_t path_capacity;
    char *text;
    size_t text_capacity;
    struct clf__model_span *unknown; /* (unknown_count) */
    size_t unknown_count, unknown_capacity;
};
void clf__model_work_free(struct clf__model_work *work);

struct clf__model_kind {
    const char *name;
    const char *keys; /* accepted keys, including "type" */
    int has_list;     /* "vocab" is a list of [token, score]; otherwise an object of token: id */
    int cleans_up;    /* transformers applies clean_up_tokenization_spaces */
    clf_status (*read)(void **state, const struct clf__node *node, struct clf__model_tokens *tokens,
                       int32_t *unknown);
    void (*free)(void *state);
    clf_status (*cut)(const void *state, struct clf__model_work *work, const char *word, size_t size,
                      clf__id_function *function, void *user);
};

/* Finds the kind of model by its type, or guesses the kind if the file has no type. */
clf_status clf__model_find(const struct clf__model_kind **out, const struct clf__node *node);
/* Reads every token of "vocab" and checks that ids are unique and in range. The caller frees tokens->items.
 */
clf_status clf__model_read_tokens(struct clf__model_tokens *out, const struct clf__node *node,
                                  const struct clf__model_kind *kind);
/* Looks up the token named by a key; *id is -1 if the key is missing. Returns CLF_FORMAT if the name is not a
 * token. */
clf_status clf__model_read_token(int32_t *id, const struct clf__node *node, const char *key,
                                 const struct clf__trie *trie);

extern const struct clf__model_kind clf__model_unigram, clf__model_bpe, clf__model_word_piece,
    clf__model_word_level;

/* Looks up the ids of <0x00> .. <0xFF>; -1 if there is no such token. */
void clf__model_byte_tokens(int32_t ids[256], const struct clf__trie *trie);

#endif
