/* The models of a server. */
#ifndef CLF_TOOLS_SERVE_MODELS_H
#define CLF_TOOLS_SERVE_MODELS_H

#include "serve/languages.h"
#include "serve/pool.h"
#include "serve/speech.h"
#include "shared/command.h"

enum { MODEL_NAME_BYTES = 64 };

/* A model of text; its members are NULL for a speech model. */
struct served_model {
    const char *folder;
    char name[MODEL_NAME_BYTES]; /* unique; letters, digits, ".", "_" and "-"; shown to clients */
    struct language_pair pair;
    struct flags flags;        /* options of this model */
    struct clf_model **loaded; /* for each device; NULL: the device failed */
    struct clf_model *first;   /* the first of them that is not NULL */
    struct languages languages;
    struct clf_engine *engine;
    struct translations_pool *pool;
};

struct served_models {
    struct setup devices;
    struct served_model *items;
    int count;
};

/* Splits the values of -m, [NAME=][SRC-TGT:]FOLDER. The default of NAME is the last part of the path, with
 * "_" in place of other characters. CLF_BAD_ARGUMENT: two models have one name. */
clf_status models_parse(struct served_models *out, const struct flags *flags);

/* Opens the devices and loads the models. Returns an exit status, after reporting a failure.
 *
 * @param speech receives the speech models.
 * @param interrupted ends the translations of a request; called on its thread.
 * @param callers maximum number of threads that translate at the same time. */
int models_load(struct served_models *models, struct speech_models **speech, const struct flags *flags,
                int (*interrupted)(void *payload), int callers);
void models_free(struct served_models *models);

#endif
