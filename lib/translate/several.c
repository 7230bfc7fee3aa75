/* One translator over several models, each on a device of its own. */
#include <string.h>

#include "translate/internal.h"

/* Every line is to become the same whoever takes it. */
static clf_status check_model(struct clf_model *const *models, int index)
{
    const struct clf_model *first = models[0], *model = models[index];
    if (model == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "model %d of those to translate with is NULL; clf_model_load() "
                         "loads one",
                         index + 1);
    }
    const struct clf_model_info *a = &first->info, *b = &model->info;
    if (strcmp(a->folder, b->folder) != 0 || a->precision != b->precision || a->parameters != b->parameters) {
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "models 1 and %d of those to translate with, %s and %s, are not one folder loaded in "
            "one precision: lines would depend on who translates them",
            index + 1, a->folder, b->folder);
    }
    for (int i = 0; i < index; i++) {
        if (models[i]->transformer->device == model->transformer->device) {
            return clf__fail(CLF_BAD_ARGUMENT,
                             "models %d and %d of those to translate with are on one device; open one for "
                             "each",
                             i + 1, index + 1);
        }
    }
    return CLF_OK;
}

static void join(struct clf_translator *translator, struct clf_translator *beside)
{
    translator->beside = beside;
    if (translator->starts != NULL) {
        translator->starts->beside = beside->starts;
    }
}

clf_status clf_translator_create_over(struct clf_translator **out, struct clf_model *const *models, int count,
                                      const struct clf_translate_options *options)
{
    *out = NULL;
    if (models == NULL || count < 1) {
        return clf__fail(CLF_BAD_ARGUMENT, "there is no model to translate with; clf_model_load() loads one");
    }
    struct clf_translator *first = NULL, *last = NULL;
    clf_status status = CLF_OK;
    for (int i = 0; i < count && status == CLF_OK; i++) {
        struct clf_translator *made = NULL;
        status = check_model(models, i);
        if (status == CLF_OK) {
            status = clf_translator_create(&made, models[i], options);
        }
        if (status == CLF_OK && last != NULL) {
            join(last, made);
        }
        first = first != NULL ? first : made;
        last = made;
    }
    if (status != CLF_OK) {
        clf_translator_free(first);
        return status;
    }
    *out = first;
    return CLF_OK;
}
