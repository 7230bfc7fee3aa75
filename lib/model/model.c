#include <clformer/model.h>
#include <clformer/translator.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/task.h"
#include "model/config/architectures/architecture.h"
#include "model/config/sides.h"
#include "model/formats/format.h"
#include "model/formats/unpack.h"
#include "model/model.h"
#include "model/transformer.h"
#include "runtime/device/caps.h"
#include "runtime/program/ahead.h"
#include "text/tokenizers/tokenizer.h"

static void describe(struct clf_model *model)
{
    const struct clf__config *config = &model->transformer->config;
    int tokenizer_limit = clf__tokenizer_max_length(model->tokenizer);
    int longest = clf__config_longest_source(config);
    int limit = tokenizer_limit == 0 && config->usual_source > 0 ? config->usual_source : longest;
    int is_limited = config->feature_size == 0 && tokenizer_limit > 0 && tokenizer_limit < limit;
    model->info = (struct clf_model_info){
        .size = sizeof model->info,
        .folder = model->folder,
        .architecture = clf__architecture_word(config->architecture),
        .d_model = config->d_model,
        .encoder_layers = config->encoder_layers,
        .decoder_layers = config->decoder_layers,
        .encoder_heads = config->encoder_heads,
        .decoder_heads = config->decoder_heads,
        .encoder_ffn = config->encoder_ffn,
        .decoder_ffn = config->decoder_ffn,
        .source_vocabulary = config->source_vocabulary,
        .target_vocabulary = config->target_vocabulary,
        .feature_size = config->feature_size,
        .max_source_length = is_limited ? tokenizer_limit : limit,
        .max_target_length = config->decoder_max_positions,
        .parameters = model->transformer->parameter_count,
        .precision = clf__precision_public(model->transformer->precision),
        .weight_bytes = model->transformer->weight_bytes,
    };
}

struct tokenizer_job {
    const char *folder;
    const struct clf__config *config;
    struct clf__tokenizer *tokenizer;
    struct clf__failure failure;
};

static void *load_tokenizer(void *argument)
{
    struct tokenizer_job *job = argument;
    job->failure = clf__failure_keep(clf__format_load_tokenizer(&job->tokenizer, job->folder, job->config));
    return NULL;
}

/* Reads the tokenizer while the weights are being read; together they take a third of the startup time. */
static clf_status load_parts(struct clf_model *model, const char *folder)
{
    struct clf__transformer *transformer = model->transformer;
    struct tokenizer_job job = {.folder = folder, .config = &transformer->config};
    struct clf__task task;
    int is_beside = clf__task_begin(&task, load_tokenizer, &job);
    clf_status status = clf__transformer_load_weights(transformer, folder);
    clf__task_wait(&task);
    if (!is_beside && status == CLF_OK) {
        load_tokenizer(&job);
    }
    model->tokenizer = job.tokenizer;
    if (status == CLF_OK && transformer->config.has_default_length) {
        clf__log(CLF_LOG_WARNING,
                 "%s: no \"max_length\" in config.json or generation_config.json; outputs end after %d "
                 "tokens, as in transformers; set \"max_length\" there, or --max-length for one run",
                 folder, transformer->config.generation.max_length);
    }
    return status == CLF_OK ? clf__failure_again(&job.failure) : status;
}

/* Also starts building the programs that were used when this folder was last loaded in this precision. */
static clf_status begin_programs(struct clf_device *device, const char *folder, clf_precision precision)
{
    char *work = NULL;
    CLF__TRY(clf__format(&work, "%s\n%d", folder, (int)precision));
    clf__programs_ahead_begin(device, work);
    clf__free(work);
    return CLF_OK;
}

static clf_status load_folder(struct clf_model *model, struct clf_device *device, const char *folder,
                              clf_precision precision)
{
    CLF__TRY(clf__transformer_configure(&model->transformer, device, folder, precision));
    return load_parts(model, folder);
}

static clf_status load(struct clf_model *model, struct clf_device *device, const char *path,
                       clf_precision precision)
{
    struct clf__unpacked unpacked;
    CLF__TRY(clf__copy_string(&model->folder, path));
    CLF__TRY(begin_programs(device, path, precision));
    CLF__TRY(clf__unpack(&unpacked, path));
    model->is_package = unpacked.made != NULL;
    clf_status status = load_folder(model, device, unpacked.folder, precision);
    model->has_shortlist = status == CLF_OK && !model->is_package && clf__format_may_have_shortlist(path);
    CLF__TRY(clf__unpacked_close(&unpacked, path, status));
    describe(model);
    return CLF_OK;
}

clf_status clf__model_borrow(struct clf_model **out, struct clf__transformer *transformer,
                             struct clf__tokenizer *tokenizer, const char *folder)
{
    struct clf_model *model;
    CLF__TRY(clf__allocate(&model, 1, sizeof *model));
    model->transformer = transformer;
    model->tokenizer = tokenizer;
    model->is_borrowed = 1;
    clf_status status = clf__copy_string(&model->folder, folder);
    if (status != CLF_OK) {
        clf_model_free(model);
        return status;
    }
    describe(model);
    *out = model;
    return CLF_OK;
}

/* Warns if CLBlast was requested but is not used. */
static void warn_of_provider(const struct clf_model *model)
{
    static const char *const words[] = {"fp32", "fp16", "bf16", "int8"};
    const struct clf__caps *caps = clf__device_caps(model->transformer->device);
    enum clf__precision precision = model->transformer->precision;
    if (caps->asks_for_clblast && precision != CLF__PRECISION_FP32) {
        int is_batched = caps->attention == CLF_ATTENTION_BATCHED;
        clf__log(CLF_LOG_WARNING,
                 "%s: CLBlast supports only fp32 weights, but the model is loaded in %s; native kernels are "
                 "used%s",
                 model->folder, words[precision],
                 is_batched ? ", except for the matrix multiplications of attention" : "");
    }
}

void clf_model_options_init_sized(struct clf_model_options *options, size_t size)
{
    const struct clf_model_options defaults = {.size = sizeof defaults};
    clf__options_init(options, size, &defaults);
}

clf_status clf_model_load(struct clf_model **out, struct clf_device *device, const char *folder,
                          const struct clf_model_options *options)
{
    *out = NULL;
    if (device == NULL || folder == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, device == NULL
                                               ? "device is NULL; open a device with clf_device_open()"
                                               : "folder is NULL; pass a model folder");
    }
    struct clf_model_options own;
    clf_model_options_init(&own);
    CLF__TRY(clf__options_take(&own, sizeof own, options, "clf_model_options"));
    if ((unsigned)own.precision > CLF_PRECISION_INT8) {
        return clf__fail(
            CLF_BAD_ARGUMENT,
            "the model options have the unknown precision %d; start from clf_model_options_init()",
            (int)own.precision);
    }
    struct clf_model *model;
    CLF__TRY(clf__allocate(&model, 1, sizeof *model));
    clf_status status = load(model, device, folder, own.precision);
    if (status != CLF_OK) {
        clf_model_free(model);
        return status;
    }
    warn_of_provider(model);
    *out = model;
    return CLF_OK;
}

clf_status clf__model_fail_not_finite(const struct clf_model *model)
{
    static const char *const causes[] = {
        [CLF__PRECISION_FP32] = "the weights are probably damaged",
        [CLF__PRECISION_FP16] =
            "a value is too large for fp16, or the weights are damaged; use --precision bf16",
        [CLF__PRECISION_BF16] = "the weights are probably damaged",
        [CLF__PRECISION_INT8] =
            "a value is too large for int8, or the weights are damaged; use --precision fp32",
    };
    return clf__fail(
        CLF_TEXT,
        "the model computed NaN or infinity (%s); run `clformer inspect` to find tensors with such values",
        causes[model->transformer->precision]);
}

const struct clf_model_info *clf_model_describe(const struct clf_model *model)
{
    return &model->info;
}

void clf_model_free(struct clf_model *model)
{
    if (model == NULL) {
        return;
    }
    if (!model->is_borrowed) {
        clf__tokenizer_free(model->tokenizer);
        clf__transformer_free(model->transformer);
    }
    clf__free(model->folder);
    clf__free(model);
}

const char *clf_model_token(const struct clf_model *model, int32_t id)
{
    return clf__tokenizer_target_token(model->tokenizer, id);
}

int32_t clf_model_token_id(const struct clf_model *model, const char *token)
{
    return clf__tokenizer_target_id(model->tokenizer, token);
}
