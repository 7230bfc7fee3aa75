/* Opens devices and loads models according to flags. */
#include <stdlib.h>

#include "base/status.h"
#include "runtime/opencl/listed_device.h"
#include "shared/command.h"

static void print_device(const struct clf_device *device, const struct flags *flags)
{
    if (flags->verbose) {
        const struct clf_device_info *info = clf_device_describe(device);
        fprintf(stderr, "clformer: device %d \"%s\" (%s), driver %s\n", info->index, info->name,
                info->platform_name, info->driver);
    }
}

int report_no_device(const struct clf_device_list *list)
{
    return report_failure(clf__choice_nothing(list));
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
        print_device(setup->device, flags);
    }
    if (status == CLF_OK && flags->model != NULL) {
        status = clf_model_load(&setup->model, setup->device, flags->model, &flags->model_options);
    }
    if (status == CLF_OK) {
        status = clf_device_profile_reset(setup->device); /* excludes loading from the times */
    }
    if (status != CLF_OK) {
        setup_close(setup);
        return report_failure(status);
    }
    return EXIT_DONE;
}

static clf_status load_models(struct setup *setup, const struct flags *flags)
{
    setup->models = calloc((size_t)setup->count, sizeof(struct clf_model *));
    if (setup->models == NULL) {
        return clf__fail(CLF_OUT_OF_MEMORY, "not enough host memory for %d models", setup->count);
    }
    CLF__TRY(
        clf_models_load(setup->models, setup->devices, setup->count, flags->model, &flags->model_options));
    for (int i = setup->count - 1; i >= 0; i--) {
        if (setup->models[i] != NULL) {
            setup->device = setup->devices[i];
            setup->model = setup->models[i];
            clf_status status = clf_device_profile_reset(setup->device);
            CLF__TRY(setup->count == 1 ? status : CLF_OK); /* other devices continue without this one */
        }
    }
    return CLF_OK;
}

/* Loads the draft model on the first device; the library refuses further devices. */
static clf_status load_draft(struct setup *setup, const struct flags *flags)
{
    if (flags->draft == NULL) {
        return CLF_OK;
    }
    CLF__TRY(clf_model_load(&setup->draft, setup->device, flags->draft, &flags->model_options));
    return clf_device_profile_reset(setup->device);
}

int setup_open_several(struct setup *setup, const struct flags *flags)
{
    *setup = (struct setup){.count = 0};
    log_to_stderr(flags);
    struct clf_device_options options = device_options(flags);
    clf_status status = clf_devices_open(&setup->devices, &setup->count, flags->device, &options);
    for (int i = 0; i < setup->count; i++) {
        print_device(setup->devices[i], flags);
    }
    if (status == CLF_OK && flags->model != NULL) {
        status = load_models(setup, flags);
    }
    if (status == CLF_OK && flags->model != NULL) {
        status = load_draft(setup, flags);
    }
    if (status != CLF_OK) {
        setup_close(setup);
        return report_failure(status);
    }
    return EXIT_DONE;
}

void setup_close(struct setup *setup)
{
    clf_model_free(setup->draft);
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
    struct clf_translate_options options = flags->translate;
    options.draft = setup->draft;
    return clf_translator_create_over(out, models, setup->count, &options);
}

void print_batch_sizes(struct clf_translator *translator)
{
    const struct clf_translator_device *each;
    for (int i = 0; (each = clf_translator_device_at(translator, i)) != NULL; i++) {
        fprintf(stderr,
                "clformer: device %d: batches of up to %d source tokens (--batch-tokens) and %d lines\n",
                each->device->index, each->batch_tokens, each->batch_lines);
    }
}

void print_device_shares(const struct setup *setup, struct clf_translator *translator)
{
    const struct clf_translator_device *each;
    for (int i = 0; setup->count > 1 && (each = clf_translator_device_at(translator, i)) != NULL; i++) {
        const struct clf_stage_times *times = each->times;
        fprintf(stderr,
                "clformer: device %d \"%s\": %lld lines, %lld source and %lld target tokens in %lld "
                "batches%s\n",
                each->device->index, each->device->name, (long long)times->lines,
                (long long)times->source_tokens, (long long)times->target_tokens, (long long)times->batches,
                each->is_lost ? "; then the device failed" : "");
    }
}
