/* The initial model of a run. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "model/config/architectures/architecture.h"
#include "model/config/config.h"
#include "model/config/sides.h"
#include "model/config/write.h"
#include "model/save.h"
#include "runtime/device/buffer.h"
#include "text/tokenizers/vocabulary.h"
#include "train/checkpoint_files.h"
#include "train/run.h"
#include "train/tokenizer_files.h"

/* Sizes, indexed by enum clf__size. */
static const char *const sizes[][8] = {
    {"encoder_layers=4", "decoder_layers=4", "d_model=128", "encoder_ffn_dim=256", "decoder_ffn_dim=256",
     "encoder_attention_heads=4", "decoder_attention_heads=4", NULL},
    {"encoder_layers=3", "decoder_layers=3", "d_model=256", "encoder_ffn_dim=1024", "decoder_ffn_dim=1024",
     "encoder_attention_heads=4", "decoder_attention_heads=4", NULL},
    {"encoder_layers=6", "decoder_layers=6", "d_model=512", "encoder_ffn_dim=2048", "decoder_ffn_dim=2048",
     "encoder_attention_heads=8", "decoder_attention_heads=8", NULL},
    {"encoder_layers=6", "decoder_layers=6", "d_model=1024", "encoder_ffn_dim=4096", "decoder_ffn_dim=4096",
     "encoder_attention_heads=16", "decoder_attention_heads=16", NULL},
};

/* Describes the model for a check without text, with the largest vocabulary and valid special ids. */
static struct clf__model_description describe(const struct clf__settings *settings)
{
    const struct clf__architecture *architecture =
        clf__architecture_of((enum clf__architecture_id)settings->preset);
    return (struct clf__model_description){
        .preset = clf__architecture_word((enum clf__architecture_id)settings->preset),
        .source_vocabulary = architecture->takes_frames ? 0 : CLF__MAX_VOCABULARY,
        .target_vocabulary = CLF__MAX_VOCABULARY,
        .separate_vocabularies = settings->separate_vocabularies,
        .pad_id = 0,
        .start_id = architecture->has_no_start_token ? -1 : 1,
        .end_id = 2,
        .sizes = sizes[settings->size],
        .choices = settings->config.items,
        .choice_count = settings->config.count,
    };
}

clf_status clf__run_check_config(const struct clf__settings *settings)
{
    struct clf__model_description description = describe(settings);
    clf_status status = clf__model_check(&description, "config");
    return status == CLF_FORMAT || status == CLF_UNSUPPORTED ? CLF_BAD_ARGUMENT : status;
}

/* Training keeps four floats per weight on the device: weight, gradient and Adam's two moments. */
enum { BYTES_A_VALUE = 4 * sizeof(float) };

static double count_trained(const struct clf__parameter_list *list)
{
    double count = 0;
    for (int i = 0; i < list->count; i++) {
        const struct clf__parameter *parameter = &list->items[i];
        count += parameter->is_trained ? (double)parameter->rows * parameter->columns : 0;
    }
    return count;
}

/* Refuses a model that does not fit, before initialising its weights, which takes time and disk space. */
static clf_status check_memory(struct clf_device *device, const char *folder)
{
    struct clf__config config;
    struct clf__parameter_list list;
    CLF__TRY(clf__config_load(&config, folder));
    clf_status status = clf__config_check_heads(&config, device, NULL, 1);
    if (status == CLF_OK) {
        status = clf__parameter_list_create(&list, &config);
    }
    clf__config_free(&config);
    CLF__TRY(status);
    const double gib = 1 << 30;
    double count = count_trained(&list), wanted = count * BYTES_A_VALUE;
    double there = (double)clf__device_free_bytes(device);
    clf__parameter_list_free(&list);
    return wanted <= there ? CLF_OK
                           : clf__fail(CLF_DEVICE_MEMORY,
                                       "training %.0f parameters requires at least %.1f GiB of device memory "
                                       "(weights, gradients and two moments), but %.1f GiB are free; use a "
                                       "smaller model or another device",
                                       count, wanted / gib, there / gib);
}

static clf_status draw_weights(const char *folder, const struct clf__run *run)
{
    clf_status status = clf__model_initialise(folder, (uint64_t)run->settings.seed, run->hooks.interrupted,
                                              run->hooks.payload);
    return status == CLF_INTERRUPTED
               ? clf__fail(status, "training was interrupted before its first update, while initialising the "
                                   "weights; run the same command to start again")
               : status;
}

static clf_status make_new(const char *folder, const struct clf__run *run)
{
    const struct clf__settings *settings = &run->settings;
    struct clf__model_description description = describe(settings);
    clf_status status =
        clf__tokenizer_files_make(&description, folder, settings, run->hooks.interrupted, run->hooks.payload);
    if (status == CLF_INTERRUPTED) {
        return clf__fail(status, "training was interrupted before its first update, while learning a "
                                 "vocabulary; run the same command to start again");
    }
    CLF__TRY(status);
    CLF__TRY(clf__model_describe(folder, &description));
    CLF__TRY(check_memory(run->device, folder));
    return draw_weights(folder, run);
}

/* Applies the `config` pairs to a fine-tuned model and sets the type of its weights to fp32. */
static clf_status change_config(const char *path, const struct clf__settings *settings)
{
    struct clf__json json;
    CLF__TRY(clf__json_load(&json, path, clf__json_settings));
    int failed = 0;
    static const char *const types[] = {"dtype", "torch_dtype"};
    for (int i = 0; i < 2; i++) {
        if (json_object_get(json.root, types[i])) {
            failed |= json_object_set_new(json.root, types[i], json_string("float32"));
        }
    }
    for (int i = 0; i < settings->config.count; i++) {
        failed |= clf__json_set_pair(json.root, settings->config.items[i]);
    }
    clf_status status = clf__json_write(path, failed ? NULL : json.root, JSON_REAL_PRECISION(9));
    clf__json_free(&json);
    return status;
}

static clf_status read_parameter(void *user, int index, float *target)
{
    const struct clf__parameters *parameters = user;
    return clf__parameters_read(parameters, clf__parameters_list(parameters)->items[index].name, target);
}

static clf_status copy_weights(const char *folder, struct clf__config *config, const char *from)
{
    char *path = NULL;
    struct clf__parameters *parameters = NULL;
    CLF__TRY(clf__path_join(&path, folder, "model.safetensors"));
    clf_status status = clf__parameters_load(&parameters, config, from);
    if (status == CLF_OK) {
        status = clf__parameters_save(path, clf__parameters_list(parameters), NULL, CLF__PRECISION_FP32,
                                      read_parameter, parameters);
    }
    clf__parameters_free(parameters);
    clf__free(path);
    return status;
}

/* Compares the architecture of `from` with the recipe's: if no checkpoint is intact, the folder may meanwhile
 * hold another model. */
static clf_status check_architecture(const struct clf__config *config, const struct clf__settings *settings)
{
    enum clf__architecture_id wanted = (enum clf__architecture_id)settings->preset;
    return config->architecture == wanted
               ? CLF_OK
               : clf__fail(CLF_BAD_ARGUMENT,
                           "from: %s is a model of architecture %s, but the run was started with %s; choose "
                           "another folder",
                           settings->from, clf__architecture_word(config->architecture),
                           clf__architecture_word(wanted));
}

static clf_status make_from(const char *folder, const struct clf__settings *settings)
{
    CLF__TRY(clf__checkpoint_files_copy(folder, settings->from, clf__file_copy));
    char *path = NULL;
    CLF__TRY(clf__path_join(&path, folder, "config.json"));
    clf_status status = change_config(path, settings);
    clf__free(path);
    CLF__TRY(status);
    struct clf__config config;
    CLF__TRY(clf__config_load(&config, folder));
    status = check_architecture(&config, settings);
    if (status == CLF_OK) {
        status = copy_weights(folder, &config, settings->from);
    }
    clf__config_free(&config);
    return status;
}

clf_status clf__run_make_initial_model(const struct clf__run *run)
{
    char *making;
    CLF__TRY(clf__checkpoints_begin(&making, &run->checkpoints, run->state.update));
    clf_status status = run->settings.from ? make_from(making, &run->settings) : make_new(making, run);
    return clf__checkpoints_end(making, &run->checkpoints, &run->state, status);
}
