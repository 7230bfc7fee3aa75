/* The languages that a model translates, or those of all models of a server. */
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
    const struct clf_model *model; /* NULL: several models */
};

/* The languages before the model in "fr-en:FOLDER". */
struct language_pair {
    char source[LANGUAGE_CODE_BYTES], target[LANGUAGE_CODE_BYTES]; /* empty: not given */
};

/* Splits "SRC-TGT:MODEL"; returns MODEL. A text without languages is returned whole. */
const char *language_pair_parse(struct language_pair *out, const char *text);

/* Finds the languages of a text model. CLF_BAD_ARGUMENT: they are unknown, or the model lacks one of
 * `pair`. */
clf_status languages_find(struct languages *out, const struct clf_model *model,
                          const struct language_pair *pair);
void languages_free(struct languages *languages);

/* Returns the language with a client's code, ignoring case, or NULL. */
const struct language *languages_get(const struct languages *languages, const char *code);
/* Returns the source language if there is only one; else NULL. */
const struct language *languages_only_source(const struct languages *languages);

/* Sorts languages as LibreTranslate does: English first, then by name. */
void languages_sort(struct languages *languages);

#endif
