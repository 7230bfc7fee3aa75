/* From flags to devices, and models on them. */
#include <stdlib.h>

#include "base/log.h"
#include "base/status.h"
#include "base/task.h"
#include "shared/command.h"
#include "translate/internal.h"

static void say_device(const struct clf_device *device, const struct flags *flags)
{
    if (flags->verbose) {
        const struct clf_device_info *info = clf_device_describe(device);
        fprintf(stderr, "clformer: device %d \"%s\" (%s), driver %s\n", info->index, info->name,
                info->platform_name, info->driver);
    }
}

static struct clf_device_options device_options(const struct flags *flags)
{
    struct clf_device_options options = flags->device_options;
    options.profile |= flags->verbose;
    return options;
}

int setup_open(struct setup *setup, const struct flags *flags)
{
    *setup = (struct setup){.count = 1};
    log_to_stderr(flags);
    struct clf_device_options options = device_options(flags);
    clf_status status = clf_device_open(&setup->device, flags->device, &options);
    if (status == CLF_OK) {
        say_device(setup->device, flags);
    }
    if (status == CLF_OK && flags->model != NULL) {
        status = clf_model_load(&setup->model, setup->device, flags->model, &flags->model_options);
    }
    if (status == CLF_OK) {
        status = clf_device_profile_reset(setup->device); /* the work's times, not the loading's */
    }
    if (status != CLF_OK) {
        setup_close(setup);
        return report_failure(status);
    }
    return EXIT_DONE;
}

/* A model that comes onto its device, on a thread of its own. */
struct loading {
    struct clf_device *device;
    const struct flags *flags;
    struct clf_model *model;
    struct clf__failure failure;
    struct clf__task task;
};

static void *load(void *argument)
{
    struct loading *loading = argument;
    clf_status status = clf_model_load(&loading->model, loading->device, loading->flags->model,
                                       &loading->flags->model_options);
    if (status == CLF_OK) {
        status = clf_device_profile_reset(loading->device);
    }
    loading->failure = clf__failure_keep(status);
    return NULL;
}

/* Whether another device may do what this one did not. */
static int is_devices_fault(clf_status status)
{
    return status == CLF_DEVICE || status == CLF_DEVICE_MEMORY || status == CLF_BUILD;
}

/* Keeps the devices that have their model; the others are closed. */
static clf_status keep_loaded(struct setup *setup, const struct loading *loadings)
{
    const struct clf__failure *failure = NULL, *fatal = NULL;
    int all = setup->count, kept = 0;
    for (int i = 0; i < all; i++) {
        if (loadings[i].failure.status != CLF_OK) {
            failure = &loadings[i].failure;
            fatal = is_devices_fault(failure->status) ? fatal : failure;
        }
    }
    for (int i = 0; i < all; i++) {
        if (loadings[i].failure.status == CLF_OK) {
            setup->devices[kept] = loadings[i].device;
            setup->models[kept++] = loadings[i].model;
            continue;
        }
        if (all > 1 && fatal == NULL) {
            clf__log(CLF_LOG_WARNING, "device %d is left out: %s",
                     clf_device_describe(loadings[i].device)->index, loadings[i].failure.sentence);
        }
        clf_model_free(loadings[i].model);
        clf_device_close(loadings[i].device);
    }
    setup->count = kept;
    return fatal != NULL ? clf__failure_again(fatal) : kept == 0 ? clf__failure_again(failure) : CLF_OK;
}

/* All at once: a model takes seconds. */
static clf_status load_models(struct setup *setup, const struct flags *flags)
{
    size_t count = (size_t)setup->count;
    struct loading *loadings = calloc(count, sizeof *loadings);
    setup->models = calloc(count, sizeof(struct clf_model *));
    if (loadings == NULL || setup->models == NULL) {
        free(loadings);
        return clf__fail(CLF_OUT_OF_MEMORY, "no memory left for %d models", setup->count);
    }
    for (int i = 0; i < setup->count; i++) {
        loadings[i] = (struct loading){.device = setup->devices[i], .flags = flags};
    }
    for (int i = 1; i < setup->count; i++) {
        clf__task_begin(&loadings[i].task, load, &loadings[i]);
    }
    load(&loadings[0]);
    for (int i = 1; i < setup->count; i++) {
        int is_beside = loadings[i].task.is_running;
        clf__task_wait(&loadings[i].task);
        if (!is_beside) {
            load(&loadings[i]);
        }
    }
    clf_status status = keep_loaded(setup, loadings);
    free(loadings);
    return status;
}

int setup_open_several(struct setup *setup, const struct flags *flags)
{
    *setup = (struct setup){.count = 0};
    log_to_stderr(flags);
    struct clf_device_options options = device_options(flags);
    clf_status status = clf_devices_open(&setup->devices, &setup->count, flags->device, &options);
    for (int i = 0; i < setup->count; i++) {
        say_device(setup->devices[i], flags);
    }
    if (status == CLF_OK) {
        status = load_models(setup, flags);
    }
    if (status != CLF_OK) {
        setup_close(setup);
        return report_failure(status);
    }
    setup->device = setup->devices[0];
    setup->model = setup->models[0];
    return EXIT_DONE;
}

void setup_close(struct setup *setup)
{
    if (setup->devices == NULL) {
        clf_model_free(setup->model);
        clf_device_close(setup->device);
    }
    for (int i = 0; setup->models != NULL && i < setup->count; i++) {
        clf_model_free(setup->models[i]);
    }
    free((void *)setup->models);
    clf_devices_close(setup->devices, setup->count);
    *setup = (struct setup){.count = 0};
}

clf_status setup_translator(struct clf_translator **out, const struct setup *setup, const struct flags *flags)
{
    struct clf_model *const *models = setup->devices != NULL ? setup->models : &setup->model;
    return clf_translator_create_over(out, models, setup->count, &flags->translate);
}

void print_device_shares(const struct setup *setup, const struct clf_translator *translator)
{
    for (; setup->count > 1 && translator != NULL; translator = translator->beside) {
        const struct clf_device_info *info = clf_device_describe(translator->model->transformer->device);
        const struct clf_stage_times *times = &translator->times;
        fprintf(stderr,
                "clformer: device %d \"%s\": %lld lines, %lld source and %lld target tokens in %lld "
                "batches%s\n",
                info->index, info->name, (long long)times->lines, (long long)times->source_tokens,
                (long long)times->target_tokens, (long long)times->batches,
                translator->model->is_lost ? ", then it failed" : "");
    }
}
