/* Describes a model folder as JSON, without a device. */
#include <clformer/inspect.h>

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "model/config/architectures/architecture.h"
#include "model/config/config.h"
#include "model/formats/format.h"
#include "model/formats/unpack.h"
#include "model/inspect_internal.h"
#include "model/model.h"
#include "model/parameters.h"
#include "text/tokenizers/segmenters/segmenter.h"
#include "text/tokenizers/tokenizer.h"

/* Data read from a folder; all of it is freed at the end. */
struct inspection {
    const struct clf__format *format;
    const char *path, *folder; /* the path that the caller passed; the folder to read */
    struct clf__config config;
    struct clf__json file; /* config.json */
    struct clf__parameters *parameters;
    struct clf__tokenizer *tokenizer;
    json_t *tensors, *unusual;
    int64_t values;
    uint64_t bytes;
};

/* Statistics of a tensor's finite values. */
struct statistics {
    double minimum, maximum, mean;
    size_t not_a_number, infinite;
};

static struct statistics measure(const float *values, size_t count)
{
    struct statistics result = {.minimum = INFINITY, .maximum = -INFINITY};
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (isfinite(values[i])) {
            result.minimum = fmin(result.minimum, (double)values[i]);
            result.maximum = fmax(result.maximum, (double)values[i]);
            sum += (double)values[i];
        } else if (isnan(values[i])) {
            result.not_a_number++;
        } else {
            result.infinite++;
        }
    }
    size_t finite = count - result.not_a_number - result.infinite;
    result.mean = finite > 0 ? sum / (double)finite : NAN;
    return result;
}

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static clf_status add_tensor(struct inspection *inspection, const char *name,
                             const struct clf__stored_tensor *stored, const struct statistics *statistics)
{
    CLF__TRY(clf__inspect_tensor(inspection->tensors, name, stored));
    json_t *last = json_array_get(inspection->tensors, json_array_size(inspection->tensors) - 1);
    int failed = json_object_set_new(last, "minimum", real(statistics->minimum)) != 0 ||
                 json_object_set_new(last, "maximum", real(statistics->maximum)) != 0 ||
                 json_object_set_new(last, "mean", real(statistics->mean)) != 0;
    return failed ? clf__inspect_no_memory() : CLF_OK;
}

static clf_status say_of_tensor(struct inspection *inspection, const struct clf__parameter *parameter,
                                const char *stored_name, const struct statistics *statistics)
{
    if (statistics->not_a_number + statistics->infinite > 0) {
        CLF__TRY(clf__inspect_say(inspection->unusual,
                                  "tensor \"%.200s\" contains %zu NaN and %zu infinite values", stored_name,
                                  statistics->not_a_number, statistics->infinite));
    }
    int is_constant = statistics->minimum == statistics->maximum;
    if (is_constant && parameter->rows > 1 && parameter->columns > 1) {
        CLF__TRY(clf__inspect_say(inspection->unusual, "tensor \"%.200s\" is constant (%g)", stored_name,
                                  statistics->minimum));
    }
    return CLF_OK;
}

static clf_status inspect_tensor(struct inspection *inspection, const struct clf__parameter *parameter)
{
    size_t count = (size_t)parameter->rows * (size_t)parameter->columns;
    inspection->values += (int64_t)count;
    const struct clf__stored_tensor *stored = clf__parameters_stored(inspection->parameters, parameter->name);
    if (stored == NULL) {
        return clf__inspect_say(inspection->unusual, "tensor \"%s\" is not stored; zeros are used",
                                parameter->name);
    }
    inspection->bytes += stored->size;
    float *values;
    CLF__TRY(clf__allocate(&values, count, sizeof *values));
    clf_status status = clf__stored_tensor_read(stored, values);
    struct statistics statistics = {.mean = NAN};
    if (status == CLF_OK) {
        statistics = measure(values, count);
    }
    clf__free(values);
    CLF__TRY(status);
    CLF__TRY(add_tensor(inspection, parameter->name, stored, &statistics));
    return say_of_tensor(inspection, parameter, stored->name, &statistics);
}

static clf_status inspect_tensors(struct inspection *inspection)
{
    const struct clf__parameter_list *list = clf__parameters_list(inspection->parameters);
    const char *first_type = NULL;
    int is_mixed = 0;
    for (int i = 0; i < list->count; i++) {
        CLF__TRY(inspect_tensor(inspection, &list->items[i]));
        const struct clf__stored_tensor *stored =
            clf__parameters_stored(inspection->parameters, list->items[i].name);
        if (stored != NULL) {
            first_type = first_type != NULL ? first_type : stored->type_name;
            is_mixed = is_mixed || strcmp(first_type, stored->type_name) != 0;
        }
    }
    if (is_mixed) {
        CLF__TRY(clf__inspect_say(inspection->unusual, "the tensors are stored in several types"));
    }
    return CLF_OK;
}

static json_t *token_text(const char *string)
{
    return string != NULL ? clf__inspect_text(string) : json_null();
}

static json_t *language_array(const struct clf__tokenizer *tokenizer)
{
    json_t *array = json_array();
    for (int i = 0; i < clf__tokenizer_languages(tokenizer); i++) {
        if (json_array_append_new(array, clf__inspect_text(clf__tokenizer_language(tokenizer, i))) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *tokenizer_object(const struct inspection *inspection)
{
    const struct clf__config *config = &inspection->config;
    const struct clf__tokenizer *tokenizer = inspection->tokenizer;
    int limit = clf__tokenizer_max_length(tokenizer);
    const char *kind = clf__tokenizer_segmenter(tokenizer)->name;
    return json_pack(
        "{s:s, s:o, s:b, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "kind",
        config->feature_size > 0 ? "frames" : kind, "class", token_text(clf__tokenizer_class_name(tokenizer)),
        "separate_vocabularies", config->separate_vocabularies, "source_vocabulary_size",
        config->source_vocabulary, "target_vocabulary_size", config->target_vocabulary, "model_max_length",
        limit > 0 ? json_integer(limit) : json_null(), "end_token",
        token_text(clf__tokenizer_target_token(tokenizer, config->end_id)), "pad_token",
        token_text(clf__tokenizer_target_token(tokenizer, config->pad_id)), "decoder_start_token",
        token_text(clf__tokenizer_target_token(tokenizer, config->decoder_start_id)), "source_language",
        token_text(clf__tokenizer_source_language(tokenizer)), "target_language",
        token_text(clf__tokenizer_target_language(tokenizer)), "languages", language_array(tokenizer));
}

static clf_status say_of_tokenizer(struct inspection *inspection)
{
    const struct clf__config *config = &inspection->config;
    int limit = clf__tokenizer_max_length(inspection->tokenizer);
    if (config->feature_size == 0 && limit > config->encoder_max_positions) {
        CLF__TRY(
            clf__inspect_say(inspection->unusual,
                             "model_max_length %d in tokenizer_config.json exceeds the model's %d positions",
                             limit, config->encoder_max_positions));
    }
    if (config->feature_size == 0 && !clf__tokenizer_segmenter(inspection->tokenizer)->has_model) {
        CLF__TRY(clf__inspect_say(inspection->unusual,
                                  "there is no SentencePiece model; text is split at white space"));
    }
    return CLF_OK;
}

static clf_status read_folder(struct inspection *inspection)
{
    CLF__TRY(clf__format_of(&inspection->format, inspection->folder));
    CLF__TRY(clf__format_read_config(&inspection->config, inspection->folder));
    CLF__TRY(clf__json_find_in(&inspection->file, inspection->folder, "config.json"));
    CLF__TRY(clf__parameters_load(&inspection->parameters, &inspection->config, inspection->folder));
    return clf__format_load_tokenizer(&inspection->tokenizer, inspection->folder, &inspection->config);
}

static clf_status describe(json_t **out, struct inspection *inspection)
{
    CLF__TRY(read_folder(inspection));
    inspection->tensors = json_array();
    inspection->unusual = json_array();
    CLF__TRY(clf__inspect_unusual(inspection->unusual, &inspection->config, inspection->file.root));
    CLF__TRY(inspect_tensors(inspection));
    CLF__TRY(say_of_tokenizer(inspection));
    json_t *tasks = json_object_get(inspection->file.root, "task_specific_params");
    tasks = json_is_object(tasks) ? json_incref(tasks) : json_object();
    *out = json_pack("{s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:O, s:I, s:I, s:O, s:n}", "folder",
                     clf__inspect_text(inspection->path), "format", inspection->format->name, "architecture",
                     clf__architecture_word(inspection->config.architecture), "configuration",
                     clf__inspect_configuration(&inspection->config), "generation",
                     clf__inspect_generation(&inspection->config), "tasks", tasks, "tokenizer",
                     tokenizer_object(inspection), "tensors", inspection->tensors, "parameters",
                     (json_int_t)inspection->values, "bytes", (json_int_t)inspection->bytes, "unusual",
                     inspection->unusual, "cannot_run");
    return *out != NULL ? CLF_OK : clf__inspect_no_memory();
}

static void free_inspection(struct inspection *inspection)
{
    json_decref(inspection->tensors);
    json_decref(inspection->unusual);
    clf__tokenizer_free(inspection->tokenizer);
    clf__parameters_free(inspection->parameters);
    clf__json_free(&inspection->file);
    clf__config_free(&inspection->config);
}

static clf_status inspect(char **json, const char *path, const struct clf__unpacked *unpacked)
{
    struct inspection inspection = {.path = path, .folder = unpacked->folder};
    json_t *object = NULL;
    clf_status status = clf__unpacked_rename_error(unpacked, path, describe(&object, &inspection));
    free_inspection(&inspection);
    char *reason = NULL;
    if (status == CLF_UNSUPPORTED) {
        status = clf__copy_string(&reason, clf_last_error());
        if (status == CLF_OK) {
            status = clf__inspect_unsupported(&object, path, unpacked->folder, reason);
        }
    }
    if (status == CLF_OK) {
        status = clf__json_text(json, object, JSON_COMPACT | JSON_REAL_PRECISION(9));
    }
    if (status == CLF_OK && reason != NULL) {
        status = clf__fail(CLF_UNSUPPORTED, "%s", reason);
    }
    clf__free(reason);
    json_decref(object);
    return status;
}

clf_status clf_inspect(char **json, const char *folder)
{
    struct clf__unpacked unpacked;
    *json = NULL;
    if (folder == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "folder is NULL; pass a model folder");
    }
    CLF__TRY(clf__unpack(&unpacked, folder));
    return clf__unpacked_close(&unpacked, folder, inspect(json, folder, &unpacked));
}

void clf_string_free(char *string)
{
    clf__free(string);
}
