/* Loads one model on several devices. */
#include <clformer/model.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/task.h"
#include "model/model.h"
#include "runtime/device/device.h"

/* A model being loaded on a separate thread. */
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

/* Loads the last model on this thread, at the same time as the others. */
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

/* Returns the failure to report: one that is not specific to a device or, if all models failed, the last;
 * NULL: none. */
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
            clf__log(CLF_LOG_WARNING, "device %d \"%s\" is not used: %s", info->index, info->name,
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
                         "no devices to load a model on; open devices with clf_devices_open()");
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
