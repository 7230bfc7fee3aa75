/* One model on several devices, and one translator over them. */
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "translate/worker_pool.h"

/* A model being loaded to its device on a separate thread. */
struct loading {
    struct clf_device *device;
    const char *folder;
    const struct clf_model_options *options;
    struct clf_model *model;
    struct clf__failure failure;
    struct clf__task task;
};

static void *load(void *argument)
{
    struct loading *loading = argument;
    loading->failure = clf__failure_keep(
        clf_model_load(&loading->model, loading->device, loading->folder, loading->options));
    return NULL;
}

/* Loads the last model on this thread while the others load. */
static void load_all(struct loading *loadings, int count)
{
    for (int i = 0; i < count; i++) {
        if (i + 1 == count || !clf__task_begin(&loadings[i].task, load, &loadings[i])) {
            load(&loadings[i]);
        }
    }
    for (int i = 0; i < count; i++) {
        clf__task_wait(&loadings[i].task);
    }
}

/* Returns the failure to report: a failure that is not specific to a device, otherwise the last failure if
 * all models failed; NULL: none. */
static const struct clf__failure *find_failure(const struct loading *loadings, int count)
{
    const struct clf__failure *last = NULL;
    int failed = 0;
    for (int i = 0; i < count; i++) {
        const struct clf__failure *failure = &loadings[i].failure;
        if (failure->status != CLF_OK && !clf__is_device_failure(failure->status)) {
            return failure;
        }
        failed += failure->status != CLF_OK;
        last = failure->status != CLF_OK ? failure : last;
    }
    return failed == count ? last : NULL;
}

static clf_status keep_loaded(struct clf_model **models, const struct loading *loadings, int count)
{
    const struct clf__failure *failure = find_failure(loadings, count);
    for (int i = 0; i < count; i++) {
        if (failure != NULL) {
            clf_model_free(loadings[i].model);
            continue;
        }
        models[i] = loadings[i].model;
        if (models[i] == NULL) {
            const struct clf_device_info *info = clf_device_describe(loadings[i].device);
            clf__log(CLF_LOG_WARNING, "device %d \"%s\" is left out: %s", info->index, info->name,
                     loadings[i].failure.sentence);
        }
    }
    return failure != NULL ? clf__failure_again(failure) : CLF_OK;
}

clf_status clf_models_load(struct clf_model **models, struct clf_device *const *devices, int count,
                           const char *folder, const struct clf_model_options *options)
{
    struct loading *loadings;
    for (int i = 0; i < count; i++) {
        models[i] = NULL;
    }
    if (count < 1) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "there is no device to load a model on; open devices with clf_devices_open()");
    }
    CLF__TRY(clf__allocate(&loadings, (size_t)count, sizeof *loadings));
    for (int i = 0; i < count; i++) {
        loadings[i].device = devices[i];
        loadings[i].folder = folder;
        loadings[i].options = options;
    }
    load_all(loadings, count);
    clf_status status = keep_loaded(models, loadings, count);
    clf__free(loadings);
    return status;
}

/* Checks that a model has the folder and precision of the first one, but another device. */
static clf_status check_model(const struct clf_model *first, struct clf_model *const *models, int index)
{
    const struct clf_model *model = models[index];
    const struct clf_model_info *a = &first->info, *b = &model->info;
    if (strcmp(a->folder, b->folder) != 0 || a->precision != b->precision || a->parameters != b->parameters) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "%s and %s are not the same folder loaded in the same precision, so results would "
                         "depend on the device; load one folder in one precision",
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
        return clf__fail(CLF_BAD_ARGUMENT,
                         "there is no model to translate with; load one with clf_model_load()");
    }
    *out = first;
    return CLF_OK;
}
