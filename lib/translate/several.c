/* One translator over several devices. */
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
                      struct clf_model *const *models, int index, const struct clf_translate_options *options)
{
    struct clf_translator *made;
    CLF__TRY(*first != NULL ? check_model((*first)->model, models, index) : CLF_OK);
    CLF__TRY(clf_translator_create(&made, models[index], options));
    if (*first == NULL) {
        *first = made;
    } else {
        join(*last, made);
    }
    *last = made;
    return CLF_OK;
}

clf_status clf_translator_create_over(struct clf_translator **out, struct clf_model *const *models, int count,
                                      const struct clf_translate_options *options)
{
    struct clf_translator *first = NULL, *last = NULL;
    *out = NULL;
    for (int i = 0; models != NULL && i < count; i++) {
        clf_status status = models[i] != NULL ? add(&first, &last, models, i, options) : CLF_OK;
        if (status != CLF_OK) {
            clf_translator_free(first);
            return status;
        }
    }
    if (first == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "there are no models; load one with clf_model_load()");
    }
    *out = first;
    return CLF_OK;
}
