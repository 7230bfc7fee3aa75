/* Creates translators, over one device or several. */
#include <string.h>

#include "translate/worker_pool.h"

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

static void join(struct clf_translator *translator, struct clf_translator *next)
{
    translator->next = next;
    if (translator->starts != NULL) {
        translator->starts->next = next->starts;
    }
}

static clf_status add(struct clf_translator **first, struct clf_translator **last,
                      struct clf_model *const *models, int index, struct clf__settings *settings)
{
    struct clf_translator *made;
    CLF__TRY(check_model(settings->model, models, index));
    CLF__TRY(clf__translator_create(&made, models[index], settings));
    if (*first == NULL) {
        *first = made;
    } else {
        join(*last, made);
    }
    *last = made;
    return CLF_OK;
}

static clf_status add_all(struct clf_translator **first, struct clf_model *const *models, int count,
                          struct clf__settings *settings)
{
    struct clf_translator *last = NULL;
    for (int i = 0; i < count; i++) {
        CLF__TRY(models[i] != NULL ? add(first, &last, models, i, settings) : CLF_OK);
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

clf_status clf_translator_create_over(struct clf_translator **out, struct clf_model *const *models, int count,
                                      const struct clf_translate_options *options)
{
    struct clf_translator *first = NULL;
    struct clf__settings *settings;
    struct clf_model *model = find_first(models, count);
    *out = NULL;
    if (model == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "there are no models; load one with clf_model_load()");
    }
    CLF__TRY(clf__settings_create(&settings, model, options));
    clf_status status = add_all(&first, models, count, settings);
    if (status == CLF_OK) {
        *out = first;
    } else if (first != NULL) {
        clf_translator_free(first);
    } else {
        clf__settings_free(settings);
    }
    return status;
}

clf_status clf_translator_create(struct clf_translator **out, struct clf_model *model,
                                 const struct clf_translate_options *options)
{
    *out = NULL;
    return model != NULL ? clf_translator_create_over(out, &model, 1, options)
                         : clf__fail(CLF_BAD_ARGUMENT, "model: is NULL; load one with clf_model_load()");
}
