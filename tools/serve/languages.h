/* The languages that a model translates. */
#ifndef CLF_TOOLS_SERVE_LANGUAGES_H
#define CLF_TOOLS_SERVE_LANGUAGES_H

#include <jansson.h>

#include <clformer/clformer.h>

enum { LANGUAGE_CODE_BYTES = 48, LANGUAGE_NAME_BYTES = 96 };

struct language {
    char code[LANGUAGE_CODE_BYTES]; /* shown to clients: "fr", "pt-BR", "zh-Hans" */
    char name[LANGUAGE_NAME_BYTES]; /* in English */
    const char *model_code; /* value for the translation options; NULL: the model has no such setting */
    int is_source, is_target;
};

struct languages {
    struct language *items; /* English first, then by name */
    int count;
    const struct clf_model *model;
};

/* The languages before the model in "fr-en:FOLDER". */
struct language_pair {
    char source[LANGUAGE_CODE_BYTES], target[LANGUAGE_CODE_BYTES]; /* empty: not given */
};

/* Splits "SRC-TGT:MODEL"; returns MODEL. A text without languages is returned whole. */
const char *language_pair_parse(struct language_pair *out, const char *text);

/* Finds the languages of a model. CLF_BAD_ARGUMENT: they are unknown, the model lacks one of
 * `pair`, or it reads speech. */
clf_status languages_find(struct languages *out, const struct clf_model *model,
                          const struct language_pair *pair);
void languages_free(struct languages *languages);

/* Returns the language with a code of a client, in any letter case, or NULL. */
const struct language *languages_get(const struct languages *languages, const char *code);
/* Returns the source language if there is only one; else NULL. */
const struct language *languages_only_source(const struct languages *languages);
/* Returns 1 if a text can be translated, or is unchanged because the languages are equal. */
int languages_are_pair(const struct language *source, const struct language *target);

/* The answer to GET /languages; NULL if out of memory. */
json_t *languages_list(const struct languages *languages);

#endif
