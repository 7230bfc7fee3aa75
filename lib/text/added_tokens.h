/* The tokens that a folder adds to its tokenizer: "added_tokens_decoder" of tokenizer_config.json, or
 * added_tokens.json in folders that transformers before 4.34 saved. */
#ifndef CLF_TEXT_ADDED_TOKENS_H
#define CLF_TEXT_ADDED_TOKENS_H

#include <jansson.h>

#include "text/pieces.h"

struct clf__added_token {
    const char *text; /* borrowed from the JSON */
    int32_t id;
    int marks; /* of text/pieces.h */
};

/* Zeroed at first. */
struct clf__added_tokens {
    struct clf__added_token *items; /* by their ids, each id once */
    int count, capacity;
    int is_legacy;        /* read from added_tokens.json, which tokenizer.json overrules */
    const char *folder;   /* borrowed */
    const json_t *config; /* tokenizer_config.json, borrowed; or NULL */
    json_t *legacy;       /* added_tokens.json, or NULL */
    json_t *map;          /* special_tokens_map.json, read together with added_tokens.json; or NULL */
};

/* Reads the tokens of a folder. transformers reads added_tokens.json and special_tokens_map.json only where
 * tokenizer_config.json has no "added_tokens_decoder". */
clf_status clf__added_tokens_read(struct clf__added_tokens *out, const char *folder, const json_t *config);
void clf__added_tokens_free(struct clf__added_tokens *added);

/* Marks of a token object: {"content", "special", "normalized", "lstrip", "rstrip", "single_word"}. */
int clf__added_token_marks(const json_t *token);

/* Calls `function` for each special token that tokenizer_config.json and special_tokens_map.json name, with
 * the marks that they state beside CLF__PIECE_FOUND and CLF__PIECE_SPECIAL. */
void clf__added_tokens_named(const struct clf__added_tokens *added,
                             void (*function)(void *user, const char *text, int marks), void *user);

/* A tokenizer's own pieces. */
struct clf__own_pieces {
    const struct clf__pieces *pieces;
    int fixed;        /* an added token cannot replace the first `fixed` pieces, unless they are spare */
    const char *file; /* their file, for the messages */
};

/* Writes the pieces of a tokenizer: its own ones, the added tokens, and spare pieces for the model's other
 * rows. The pieces may outnumber the rows. */
clf_status clf__added_tokens_merge(struct clf__pieces *out, const struct clf__own_pieces *own,
                                   const struct clf__added_tokens *added, int rows);

#endif
