/* Tokens that a folder adds to its tokenizer: "added_tokens_decoder" in tokenizer_config.json, or
 * added_tokens.json in folders saved by transformers before 4.34. */
#ifndef CLF_TEXT_ADDED_TOKENS_H
#define CLF_TEXT_ADDED_TOKENS_H

#include <jansson.h>

#include "text/tokenizers/token_list.h"

struct clf__added_token {
    const char *text; /* borrowed from the JSON */
    int32_t id;
    int marks; /* flags of text/tokenizers/token_list.h */
};

/* The added tokens of a folder; zero-initialise. */
struct clf__added_tokens {
    struct clf__added_token *items; /* sorted by id, each id once */
    int count, capacity;
    int is_legacy;        /* read from added_tokens.json; tokenizer.json takes precedence */
    const char *folder;   /* borrowed */
    const json_t *config; /* tokenizer_config.json, borrowed; may be NULL */
    json_t *legacy;       /* added_tokens.json; may be NULL */
    json_t *map;          /* special_tokens_map.json, read with added_tokens.json; may be NULL */
};

/* Reads the added tokens of a folder. As in transformers, added_tokens.json and special_tokens_map.json are
 * read only if tokenizer_config.json has no "added_tokens_decoder". */
clf_status clf__added_tokens_read(struct clf__added_tokens *out, const char *folder, const json_t *config);
void clf__added_tokens_free(struct clf__added_tokens *added);

/* Returns the flags of a token object: {"content", "special", "normalized", "lstrip", "rstrip",
   "single_word"}. */
int clf__added_token_marks(const json_t *token);

/* Calls `function` for each special token in tokenizer_config.json and special_tokens_map.json. `marks` holds
 * the flags set in the file; CLF__TOKEN_FOUND and CLF__TOKEN_SPECIAL are implied. */
void clf__added_tokens_named(const struct clf__added_tokens *added,
                             void (*function)(void *user, const char *text, int marks), void *user);

/* The tokenizer's own tokens, without the added tokens. */
struct clf__own_tokens {
    const struct clf__token_list *tokens;
    int fixed;        /* added tokens cannot replace the first `fixed` tokens, unless they are spare */
    const char *file; /* file name for error messages */
};

/* Writes the tokenizer's own tokens, the added tokens, and a spare token for each remaining row of the model.
 * There may be more tokens than rows. */
clf_status clf__added_tokens_merge(struct clf__token_list *out, const struct clf__own_tokens *own,
                                   const struct clf__added_tokens *added, int rows);

#endif
