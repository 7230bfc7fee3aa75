#include "serve/models.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "model/model.h"

static int is_of_name(char character)
{
    return isalnum((unsigned char)character) || (character != '\0' && strchr("._-", character) != NULL);
}

/* Returns the bytes of NAME in "NAME=..."; 0 if the text has no name. A file whose path contains "=" has
 * none.
 */
static size_t name_size(const char *text)
{
    size_t size = 0;
    while (is_of_name(text[size])) {
        size++;
    }
    return text[size] == '=' && access(text, F_OK) != 0 ? size : 0;
}

/* Returns the last component of a path, without trailing slashes. */
static const char *last_component(size_t *size, const char *path)
{
    size_t end = strlen(path), start;
    while (end > 1 && path[end - 1] == '/') {
        end--;
    }
    for (start = end; start > 0 && path[start - 1] != '/'; start--) {
    }
    *size = end - start;
    return path + start;
}

static clf_status parse(struct served_model *out, const char *text)
{
    size_t size = name_size(text);
    const char *name = text;
    text += size > 0 ? size + 1 : 0;
    out->folder = language_pair_parse(&out->pair, text);
    if (*out->folder == '\0') {
        return clf__fail(CLF_BAD_ARGUMENT, "--model %s: has no folder", text);
    }
    if (size == 0) {
        name = last_component(&size, out->folder);
    }
    if (size >= sizeof out->name) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "--model %s: the name of the model is longer than %zu bytes; add a name, -m NAME=%s",
                         text, sizeof out->name - 1, text);
    }
    for (size_t i = 0; i < size; i++) {
        out->name[i] = (char)(is_of_name(name[i]) ? name[i] : '_');
    }
    return CLF_OK;
}

clf_status models_parse(struct served_models *out, const struct flags *flags)
{
    int count = flags->models.count;
    *out = (struct served_models){.items = calloc((size_t)count, sizeof *out->items)};
    if (out->items == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for %d models", count);
    }
    for (; out->count < count; out->count++) {
        struct served_model *model = &out->items[out->count];
        CLF__TRY(parse(model, flags->models.items[out->count]));
        model->flags = *flags;
        model->flags.model = model->folder;
        for (int i = 0; i < out->count; i++) {
            if (strcmp(model->name, out->items[i].name) == 0) {
                return clf__fail(CLF_BAD_ARGUMENT,
                                 "--model %s: another model is called %s; add a name, -m NAME=%s",
                                 flags->models.items[out->count], model->name, model->folder);
            }
        }
    }
    return CLF_OK;
}

static int is_whisper(const struct served_model *model)
{
    return strcmp(model->first->info.architecture, "whisper") == 0;
}

static clf_status load(struct served_model *model, const struct setup *devices)
{
    model->loaded = calloc((size_t)devices->count, sizeof(struct clf_model *));
    if (model->loaded == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for %d models", devices->count);
    }
    CLF__TRY(clf_models_load(model->loaded, devices->devices, devices->count, model->folder,
                             &model->flags.model_options));
    for (int i = devices->count - 1; i >= 0; i--) {
        model->first = model->loaded[i] != NULL ? model->loaded[i] : model->first;
    }
    if (is_whisper(model)) {
        return CLF_OK;
    }
    if (model->first->info.feature_size > 0) { /* its inputs are paths, which clients must not choose */
        return clf__fail(CLF_BAD_ARGUMENT, "%s: is a speech model; serve requires a model that reads text",
                         model->folder);
    }
    return languages_find(&model->languages, model->first, &model->pair);
}

/* Allocates the device memory for the first pair of languages. */
static clf_status prepare(struct served_model *model)
{
    const struct language *source = NULL, *target = NULL;
    for (int i = 0; i < model->languages.count; i++) {
        const struct language *language = &model->languages.items[i];
        source = language->is_source ? language : source;
        target = language->is_target ? language : target;
    }
    struct clf_translator *translator;
    CLF__TRY(pool_acquire(&translator, model->pool,
                          &(struct pool_key){source, target, 0, CLF_PRIORITY_INTERACTIVE}));
    clf_status status = clf_translator_prepare(translator);
    pool_release(model->pool, translator);
    return status;
}

/* Creates the engine and the translators of a model. */
static clf_status create_engine(struct served_model *model, int devices, int (*interrupted)(void *payload),
                                int callers)
{
    struct clf_translate_options *options = &model->flags.translate;
    options->split_sentences = 1;
    options->n_best = 1;
    options->interrupted = interrupted;
    CLF__TRY(clf_engine_create(&model->engine, model->loaded, devices, NULL));
    CLF__TRY(pool_create(&model->pool, model->engine, options, callers));
    return prepare(model);
}

int models_load(struct served_models *models, struct speech_models **speech, const struct flags *flags,
                int (*interrupted)(void *payload), int callers)
{
    int status = setup_open_several(&models->devices, flags);
    for (int i = 0; i < models->count && status == EXIT_DONE; i++) {
        struct served_model *model = &models->items[i];
        clf_status result = load(model, &models->devices);
        int applied = result == CLF_OK ? flags_apply(&model->flags, model->first) : report_failure(result);
        if (applied < 0) {
            result = is_whisper(model)
                         ? speech_models_add(speech, model->name, model->loaded, models->devices.count)
                         : create_engine(model, models->devices.count, interrupted, callers);
            applied = result == CLF_OK ? EXIT_DONE : report_failure(result);
        }
        status = applied;
    }
    return status;
}

void models_free(struct served_models *models)
{
    for (int i = 0; i < models->count; i++) {
        struct served_model *model = &models->items[i];
        pool_free(model->pool);
        clf_engine_free(model->engine);
        languages_free(&model->languages);
        flags_release(&model->flags);
        for (int j = 0; model->loaded != NULL && j < models->devices.count; j++) {
            clf_model_free(model->loaded[j]);
        }
        free((void *)model->loaded);
    }
    free(models->items);
    setup_close(&models->devices);
    *models = (struct served_models){.items = NULL};
}
