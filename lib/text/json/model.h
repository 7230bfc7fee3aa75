/* The models of a tokenizer.json: each cuts a word into the ids of pieces. A kind is a row of the table in
 * models.c: to add one, write its functions and its row. */
#ifndef CLF_TEXT_JSON_MODEL_H
#define CLF_TEXT_JSON_MODEL_H

#include "text/json/node.h"
#include "text/json/trie.h"
#include "text/segmenters/merges.h"
#include "text/segmenters/segmenter.h"

/* A piece that a model has read, and where it stands for the messages; borrowed from the JSON. */
struct clf__model_pieces {
    struct clf__trie_piece *items; /* in any order, with ids 0 .. most - 1, each once */
    size_t count;
    int ids; /* one more than the highest id */
};

/* Bytes of a word. */
struct clf__model_span {
    size_t start, end;
};

/* Memory that cutting needs, for one word after the other; zeroed at first. */
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
    const char *keys; /* options, and "type" */
    int has_list;     /* "vocab" is a list of [piece, score]; else an object of piece: id */
    int cleans_up;    /* transformers cleans its texts up where it is told to */
    clf_status (*read)(void **state, const struct clf__node *node, struct clf__model_pieces *pieces,
                       int32_t *unknown);
    void (*free)(void *state);
    clf_status (*cut)(const void *state, struct clf__model_work *work, const char *word, size_t size,
                      clf__id_function *function, void *user);
};

/* The kind that a model section names, or that it must be where the file says none. */
clf_status clf__model_find(const struct clf__model_kind **out, const struct clf__node *node);
/* Every piece of "vocab": each id of one piece, in the range. The caller frees pieces->items. */
clf_status clf__model_read_pieces(struct clf__model_pieces *out, const struct clf__node *node,
                                  const struct clf__model_kind *kind);
/* The id of a piece that a key names; -1 where the key says none. One that is no piece is CLF_FORMAT. */
clf_status clf__model_read_piece(int32_t *id, const struct clf__node *node, const char *key,
                                 const struct clf__trie *trie);

extern const struct clf__model_kind clf__model_unigram, clf__model_bpe, clf__model_word_piece,
    clf__model_word_level;

/* The ids of <0x00> .. <0xFF>, each -1 where there is no such piece. */
void clf__model_byte_pieces(int32_t ids[256], const struct clf__trie *trie);

#endif
