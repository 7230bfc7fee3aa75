/* Creates translators, over one device or several. */
#include <string.h>

#include "base/memory.h"
#include "translate/internal.h"

/* Checks that a model has the folder and precision of the first one, but another device. */
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

static clf_status fill(struct clf_translator *translator, struct clf_model *first,
                       struct clf_model *const *models, int count,
                       const struct clf_translate_options *options)
{
    for (int i = 0; i < count; i++) {
        CLF__TRY(models[i] != NULL ? check_model(first, models, i) : CLF_OK);
    }
    CLF__TRY(clf__settings_create(&translator->settings, first, options));
    const struct clf__settings *settings = translator->settings;
    struct clf__capacity capacity = clf__capacity_of(settings);
    if (settings->starts != NULL) {
        struct clf__capacity starts = clf__capacity_of(settings->starts);
        capacity = clf__capacity_join(&capacity, &starts);
    }
    CLF__TRY(clf__engine_create(&translator->engine, models, count, settings->options.batch_tokens));
    return clf__engine_fit(translator->engine, &capacity);
}

clf_status clf_translator_create_over(struct clf_translator **out, struct clf_model *const *models, int count,
                                      const struct clf_translate_options *options)
{
    struct clf_translator *translator;
    struct clf_model *first = find_first(models, count);
    *out = NULL;
    if (first == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "there are no models; load one with clf_model_load()");
    }
    CLF__TRY(clf__allocate(&translator, 1, sizeof *translator));
    translator->times.size = sizeof translator->times;
    clf_status status = fill(translator, first, models, count, options);
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
