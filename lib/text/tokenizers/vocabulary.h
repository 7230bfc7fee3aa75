/* A vocabulary maps tokens to ids and back. Functions here also build vocabularies: they count the tokens of
 * a text, sort them and write vocab.json. */
#ifndef CLF_TEXT_VOCABULARY_H
#define CLF_TEXT_VOCABULARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Maximum vocabulary size. */
enum { CLF__MAX_VOCABULARY = 1 << 24 };

struct clf__token_list;

/* A hash table with open addressing for tokens stored elsewhere. */
struct clf__token_slots {
    int32_t *items; /* (count) index of a token, or -1 */
    uint32_t count; /* a power of two, at least twice the number of tokens */
};

struct clf__vocabulary {
    char *path;                    /* source file for error messages */
    char *text;                    /* all tokens, NUL-terminated, in order of id */
    const char **tokens;           /* (size) tokens, which point into `text` */
    struct clf__token_slots slots; /* hash table of the ids */
    uint16_t *marks;               /* (size) flags from text/tokenizers/token_list.h */
    int size;
};

/* Reads a JSON object that maps tokens to the ids 0 .. size-1, each used once; size 0: any number of tokens.
 */
clf_status clf__vocabulary_load(struct clf__vocabulary *out, const char *path, int size);
/* Appends the tokens of a vocab.json to a list, in order of id. */
clf_status clf__vocabulary_read(struct clf__token_list *out, const char *path);
void clf__vocabulary_free(struct clf__vocabulary *vocabulary);

/* Builds a vocabulary from tokens read from `path`, and empties the list. If a token occurs twice, lookups
 * return its first id. */
clf_status clf__vocabulary_take(struct clf__vocabulary *out, struct clf__token_list *tokens,
                                const char *path);

/* Returns the id of a token of `length` bytes, or -1. */
int32_t clf__vocabulary_id(const struct clf__vocabulary *vocabulary, const char *token, size_t length);

struct clf__counted_token {
    const char *token; /* owned */
    int64_t count;
};

/* Distinct tokens with their counts, in order of first occurrence; zero-initialise. */
struct clf__token_counts {
    struct clf__counted_token *items;
    int count, capacity;
    struct clf__token_slots slots; /* hash table of the items */
};
/* Counts one token: a clf__token_function with the counts as `user`. */
clf_status clf__token_counts_add(void *user, const char *token, size_t length);
/* Sorts by descending count; ties by bytes. Nothing can be counted afterwards. */
void clf__token_counts_sort(struct clf__token_counts *counts);
void clf__token_counts_free(struct clf__token_counts *counts);

/* Writes a vocab.json in which token i has the id i, atomically. */
clf_status clf__vocabulary_write(const char *path, const char *const *tokens, int count);

#endif
