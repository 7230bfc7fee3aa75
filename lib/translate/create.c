/* Creates engines, and translators with a private or a shared engine. */
#include <string.h>

#include <clformer/engine.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/options.h"
#include "engine/draft.h"
#include "translate/internal.h"

/* Checks that a model has the same folder and precision as the first one but is on another device. */
static clf_status check_model(const struct clf_model *first, struct clf_model *const *models, int index)
{
    const struct clf_model *model = models[index];
    const struct clf_model_info *a = &first->info, *b = &model->info;
    if (strcmp(a->folder, b->folder) != 0 || a->precision != b->precision || a->parameters != b->parameters) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "%s and %s: are not the same folder in the same precision, so results would depend "
                         "on the device; load one folder in one precision",
                         a->folder, b->folder);
    }
    for (int i = 0; i < index; i++) {
        if (models[i] != NULL && models[i]->transformer->device == model->transformer->device) {
            return clf__fail(CLF_BAD_ARGUMENT,
                             "models %d and %d are on the same device; open a separate device for each",
                             i + 1, index + 1);
        }
    }
    return CLF_OK;
}

static struct clf_model *find_first(struct clf_model *const *models, int count)
{
    for (int i = 0; models != NULL && i < count; i++) {
        if (models[i] != NULL) {
            return models[i];
        }
    }
    return NULL;
}

/* Returns the first model; NULL with an error if there is none or the models are incompatible. */
static clf_status check_models(struct clf_model **first, struct clf_model *const *models, int count)
{
    *first = find_first(models, count);
    if (*first == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "there are no models; load one with clf_model_load()");
    }
    for (int i = 0; i < count; i++) {
        CLF__TRY(models[i] != NULL ? check_model(*first, models, i) : CLF_OK);
    }
    return CLF_OK;
}

/* Sizes the batches of a translator's private engine for its options. */
static clf_status fit(const struct clf_translator *translator)
{
    const struct clf__settings *settings = translator->settings;
    struct clf__capacity capacity = settings->capacity;
    if (settings->starts != NULL) {
        capacity = clf__capacity_join(&capacity, &settings->starts->capacity);
    }
    return clf__engine_fit(translator->engine, &capacity);
}

static clf_status create(struct clf_translator **out, struct clf_model *model,
                         const struct clf_translate_options *options)
{
    CLF__TRY(clf__allocate(out, 1, sizeof **out));
    (*out)->times.size = sizeof(*out)->times;
    return clf__settings_create(&(*out)->settings, model, options);
}

/* Checks the draft model of the options. */
static clf_status check_draft(const struct clf_model *first, int count,
                              const struct clf_translate_options *options)
{
    if (options->draft == NULL) {
        return CLF_OK;
    }
    return count == 1 ? clf__draft_check(options->draft, first)
                      : clf__fail(CLF_BAD_ARGUMENT,
                                  "a draft model requires one device, not %d; select one device", count);
}

clf_status clf_translator_create_over(struct clf_translator **out, struct clf_model *const *models, int count,
                                      const struct clf_translate_options *options)
{
    struct clf_translator *translator = NULL;
    struct clf_model *first;
    *out = NULL;
    CLF__TRY(check_models(&first, models, count));
    clf_status status = create(&translator, first, options);
    if (status == CLF_OK) {
        status = check_draft(first, count, &translator->settings->options);
    }
    if (status == CLF_OK) {
        enum { NO_CACHE = -1 };
        translator->owns_engine = 1;
        status = clf__engine_create(&translator->engine, models, count,
                                    translator->settings->options.batch_tokens, NO_CACHE);
    }
    if (status == CLF_OK) {
        translator->engine->draft = translator->settings->options.draft;
        status = fit(translator);
    }
    if (status != CLF_OK) {
        clf_translator_free(translator);
        return status;
    }
    *out = translator;
    return CLF_OK;
}

clf_status clf_translator_create(struct clf_translator **out, struct clf_model *model,
                                 const struct clf_translate_options *options)
{
    *out = NULL;
    return model != NULL ? clf_translator_create_over(out, &model, 1, options)
                         : clf__fail(CLF_BAD_ARGUMENT, "model: is NULL; load one with clf_model_load()");
}

clf_status clf_translator_create_shared(struct clf_translator **out, struct clf_engine *engine,
                                        const struct clf_translate_options *options)
{
    struct clf_translator *translator = NULL;
    *out = NULL;
    if (engine == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "engine: is NULL; create one with clf_engine_create()");
    }
    clf_status status = create(&translator, engine->lanes[0].model, options);
    if (status == CLF_OK && translator->settings->options.draft != NULL) {
        status =
            clf__fail(CLF_BAD_ARGUMENT, "draft: a translator that shares an engine cannot use a draft model; "
                                        "create it with clf_translator_create()");
    }
    if (status == CLF_OK && translator->settings->options.batch_tokens != 0) {
        status = clf__fail(CLF_BAD_ARGUMENT,
                           "batch_tokens: is %d, but the engine's batches are shared; set "
                           "batch_tokens of clf_engine_options instead",
                           translator->settings->options.batch_tokens);
    }
    if (status != CLF_OK) {
        clf_translator_free(translator);
        return status;
    }
    translator->engine = engine;
    clf__engine_join(engine);
    status = fit(translator);
    if (status != CLF_OK) {
        clf_translator_free(translator);
        return status;
    }
    *out = translator;
    return CLF_OK;
}

void clf_engine_options_init_sized(struct clf_engine_options *options, size_t size)
{
    const struct clf_engine_options defaults = {.size = sizeof defaults};
    clf__options_init(options, size, &defaults);
}

clf_status clf_engine_create(struct clf_engine **out, struct clf_model *const *models, int count,
                             const struct clf_engine_options *options)
{
    enum { MOST_WINDOWS = 256 };
    struct clf_engine_options own;
    struct clf_model *first;
    *out = NULL;
    clf_engine_options_init(&own);
    CLF__TRY(clf__options_take(&own, sizeof own, options, "clf_engine_options"));
    CLF__TRY(clf__batch_tokens_check(own.batch_tokens));
    CLF__TRY(check_models(&first, models, count));
    if (own.batch_windows < 0 || own.batch_windows > MOST_WINDOWS) {
        return clf__fail(CLF_BAD_ARGUMENT, "batch_windows: %d is out of range; use 0 to %d",
                         own.batch_windows, MOST_WINDOWS);
    }
    CLF__TRY(clf__engine_create(out, models, count, own.batch_tokens, own.cache_bytes));
    (*out)->batch_windows = own.batch_windows;
    return CLF_OK;
}

void clf_engine_free(struct clf_engine *engine)
{
    if (engine != NULL && atomic_load(&engine->sharers) > 0) {
        clf__log(
            CLF_LOG_WARNING,
            "the engine was not freed, because it is in use; free its translators and transcribers first");
        return;
    }
    clf__engine_free(engine);
}
