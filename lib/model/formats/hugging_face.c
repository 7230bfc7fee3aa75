/* Folders written by transformers and clformer. */
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "model/config/config.h"
#include "model/formats/copy.h"
#include "model/formats/format.h"

static const char configuration[] = "config.json";

static clf_status load_tokenizer(struct clf__tokenizer **out, const char *folder,
                                 const struct clf__config *config)
{
    struct clf__tokenizer_options options = clf__tokenizer_options_of(config);
    return clf__tokenizer_load(out, folder, &options);
}

/* Replaces the type of the weights if the object has this key; returns 0 if out of memory. */
static int set_type(json_t *object, const char *key, const char *type)
{
    return !json_is_string(json_object_get(object, key)) ||
           json_object_set_new(object, key, json_string(type)) == 0;
}

/* Copies config.json with the new type of the weights, because transformers would round the weights to the
 * old type. */
static clf_status copy_config(const char *target, const char *folder,
                              const struct clf__format_weights *weights)
{
    char *path = NULL;
    struct clf__json json;
    CLF__TRY(clf__path_join(&path, target, configuration));
    clf_status status = clf__json_load_in(&json, folder, configuration);
    if (status == CLF_OK) {
        int is_set =
            set_type(json.root, "dtype", weights->type) && set_type(json.root, "torch_dtype", weights->type);
        is_set = is_set &&
                 (weights->precision == NULL ||
                  json_object_set_new(json.root, CLF__PRECISION_KEY, json_string(weights->precision)) == 0);
        status = clf__json_write(path, is_set ? json.root : NULL, JSON_REAL_PRECISION(15));
    }
    clf__json_free(&json);
    clf__free(path);
    return status;
}

static clf_status copy_files(const char *target, const char *folder,
                             const struct clf__format_weights *weights)
{
    CLF__TRY(copy_config(target, folder, weights));
    return clf__format_copy_others(target, folder, NULL); /* skips config.json, which already exists */
}

const struct clf__format clf__format_hugging_face = {
    .name = "Hugging Face",
    .find = NULL,
    .read_config = clf__config_load,
    .open_weights = clf__weights_open,
    .load_tokenizer = load_tokenizer,
    .weights = "model.safetensors",
    .copy_files = copy_files,
};
