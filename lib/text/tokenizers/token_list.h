/* A growing list of tokens in order of id. */
#ifndef CLF_TEXT_TOKEN_LIST_H
#define CLF_TEXT_TOKEN_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Flags of a token. */
enum {
    CLF__TOKEN_SPECIAL = 1,  /* omitted when tokens are joined into text */
    CLF__TOKEN_FOUND = 2,    /* found verbatim in text before segmentation */
    CLF__TOKEN_LANGUAGE = 4, /* names a language */
    CLF__TOKEN_LSTRIP = 8,   /* absorbs adjacent white space */
    CLF__TOKEN_RSTRIP = 16,
    CLF__TOKEN_NORMALIZED = 32,  /* found in the normalised text */
    CLF__TOKEN_SINGLE_WORD = 64, /* found only if no word character is adjacent */
    CLF__TOKEN_FILLER = 128,     /* placeholder: segmentation never produces it */
    CLF__TOKEN_SPARE = 256,      /* a row of the model without a token: never generated */
};

/* Maximum number of model rows without a token, which every step bans. */
enum { CLF__MOST_SPARE = 1 << 16 };

/* A list of tokens; zero-initialise. */
struct clf__token_list {
    char *text; /* all tokens, NUL-terminated */
    size_t bytes, bytes_capacity;
    uint16_t *marks; /* (count) */
    int count, capacity;
};
void clf__token_list_free(struct clf__token_list *tokens);

/* Append a token of `length` bytes without NUL, or a formatted token. */
clf_status clf__token_list_add(struct clf__token_list *tokens, const char *token, size_t length, int marks);
clf_status clf__token_list_format(struct clf__token_list *tokens, int marks, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Removes all tokens after the first `count`. */
void clf__token_list_truncate(struct clf__token_list *tokens, int count);

/* Returns one token, valid until the list changes; NULL if there is none. */
const char *clf__token_list_at(const struct clf__token_list *tokens, int number);

#endif
