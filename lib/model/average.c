#include <string.h>

#include "base/ascii.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "model/save.h"

/* The models that are averaged. */
struct models {
    const char *const *folders;
    int count;
    clf_precision precision;        /* of the mean */
    struct clf__parameters **items; /* (count) */
};

/* Keys of config.json that say nothing of what a model computes. */
static int is_remark(const char *key)
{
    static const char *const remarks[] = {"transformers_version", "_name_or_path",    "dtype",
                                          "torch_dtype",          "dropout",          "attention_dropout",
                                          "activation_dropout",   "embedding_dropout"};
    for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++) {
        if (strcmp(key, remarks[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Fails where b lacks one of a's keys or has another value. */
static clf_status compare_keys(const struct clf__json *a, const struct clf__json *b)
{
    const char *key;
    json_t *value;
    json_object_foreach(a->root, key, value)
    {
        if (!is_remark(key) && !json_equal(value, json_object_get(b->root, key))) {
            return clf__fail(CLF_FORMAT,
                             "%s and %s differ in \"%s\"; models of one configuration can be averaged",
                             a->path, b->path, key);
        }
    }
    return CLF_OK;
}

static clf_status load_config(struct clf__json *out, const char *folder)
{
    *out = (struct clf__json){0};
    CLF__TRY(clf__config_check_folder(folder));
    return clf__json_load_in(out, folder, "config.json");
}

static clf_status compare_configs(const char *first, const char *other)
{
    struct clf__json a, b;
    CLF__TRY(load_config(&a, first));
    clf_status status = load_config(&b, other);
    if (status == CLF_OK) {
        status = compare_keys(&a, &b);
    }
    if (status == CLF_OK) {
        status = compare_keys(&b, &a);
    }
    clf__json_free(&a);
    clf__json_free(&b);
    return status;
}

/* Whether two files hold the same, both missing included. */
static clf_status compare_file(const char *first, const char *other, const char *name)
{
    char *paths[2] = {NULL, NULL};
    struct clf__file files[2] = {{0}, {0}};
    const char *const folders[2] = {first, other};
    clf_status status = CLF_OK;
    int same = 0;
    for (int i = 0; i < 2 && status == CLF_OK; i++) {
        status = clf__path_join(&paths[i], folders[i], name);
        if (status == CLF_OK && !clf__file_is_missing(paths[i])) {
            status = clf__file_open(&files[i], paths[i]);
        }
    }
    if (status == CLF_OK && files[0].size == files[1].size) { /* what is missing has no bytes, as ever */
        status = clf__file_same(&same, &files[0], 0, &files[1], 0, files[0].size);
    }
    if (status == CLF_OK && !same) {
        status = clf__fail(CLF_FORMAT, "%s and %s are not the same; models of one vocabulary can be averaged",
                           paths[0], paths[1]);
    }
    for (int i = 0; i < 2; i++) {
        clf__file_close(&files[i]);
        clf__free(paths[i]);
    }
    return status;
}

static clf_status compare_folders(const char *first, const char *other)
{
    static const char *const files[] = {"vocab.json", "target_vocab.json", "source.spm", "target.spm"};
    CLF__TRY(compare_configs(first, other));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        CLF__TRY(compare_file(first, other, files[i]));
    }
    return CLF_OK;
}

/* A clf__parameter_reader: the mean of one parameter. */
static clf_status read_mean(void *user, int index, float *target)
{
    struct models *models = user;
    const struct clf__parameter *parameter = &clf__parameters_list(models->items[0])->items[index];
    size_t count = (size_t)parameter->rows * (size_t)parameter->columns;
    double *sums = NULL;
    CLF__TRY(clf__allocate(&sums, count, sizeof *sums));
    clf_status status = CLF_OK;
    for (int i = 0; i < models->count && status == CLF_OK; i++) {
        status = clf__parameters_read(models->items[i], parameter->name, target);
        for (size_t k = 0; k < count && status == CLF_OK; k++) {
            sums[k] += target[k];
        }
    }
    for (size_t k = 0; k < count; k++) {
        target[k] = (float)(sums[k] / models->count);
    }
    clf__free(sums);
    return status;
}

/* Weights and config.json, which are written anew, the state of a training, and what a killed program left.
 */
static int is_left_behind(const char *name)
{
    static const char *const ends[] = {".safetensors", ".safetensors.index.json", ".bin", ".tmp"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (clf__ends_with(name, ends[i])) {
            return 1;
        }
    }
    return strcmp(name, "state.json") == 0 || strcmp(name, "config.json") == 0;
}

/* Whether a model's other files have such a name: where one cannot be read the mean would not be that model.
 */
static int is_of_model(const char *name)
{
    const char *ending = strrchr(name, '.');
    return ending != NULL && (strcmp(ending, ".json") == 0 || strcmp(ending, ".spm") == 0);
}

/* Leaves out folders, and broken links unless a model reads a file of that name. */
static clf_status copy_file(const char *target, const char *source, const char *name)
{
    char *from = NULL, *to = NULL;
    CLF__TRY(clf__path_join(&from, source, name));
    clf_status status = clf__path_join(&to, target, name);
    if (status == CLF_OK && !clf__folder_exists(from) && (clf__file_exists(from) || is_of_model(name))) {
        status = clf__file_copy(to, from);
    }
    clf__free(to);
    clf__free(from);
    return status;
}

static clf_status copy_others(const char *target, const char *source)
{
    struct clf__names names;
    CLF__TRY(clf__folder_list(&names, source));
    clf_status status = CLF_OK;
    for (int i = 0; i < names.count && status == CLF_OK; i++) {
        if (!is_left_behind(names.items[i])) {
            status = copy_file(target, source, names.items[i]);
        }
    }
    clf__names_free(&names);
    return status;
}

/* Whether an object that says a type of its weights says this one now. */
static int say_type(json_t *object, const char *key, const char *type)
{
    return !json_is_string(json_object_get(object, key)) ||
           json_object_set_new(object, key, json_string(type)) == 0;
}

/* What config.json says of the weights' type becomes true: transformers would round them to it. */
static clf_status copy_config(const char *target, const char *source, clf_precision precision)
{
    static const char *const types[] = {[CLF_PRECISION_FP32] = "float32",
                                        [CLF_PRECISION_FP16] = "float16",
                                        [CLF_PRECISION_BF16] = "bfloat16"};
    const char *type = types[precision];
    char *path = NULL;
    struct clf__json json;
    CLF__TRY(clf__path_join(&path, target, "config.json"));
    clf_status status = clf__json_load_in(&json, source, "config.json");
    if (status == CLF_OK) {
        int is_said = say_type(json.root, "dtype", type) && say_type(json.root, "torch_dtype", type);
        status = clf__json_write(path, is_said ? json.root : NULL, JSON_REAL_PRECISION(15));
    }
    clf__json_free(&json);
    clf__free(path);
    return status;
}

static clf_status write_folder(const char *folder, struct models *models)
{
    CLF__TRY(clf__folder_create(folder));
    CLF__TRY(copy_config(folder, models->folders[0], models->precision));
    CLF__TRY(copy_others(folder, models->folders[0]));
    char *path = NULL;
    CLF__TRY(clf__path_join(&path, folder, "model.safetensors"));
    clf_status status = clf__parameters_save(path, clf__parameters_list(models->items[0]), NULL,
                                             models->precision, read_mean, models);
    clf__free(path);
    return status;
}

/* Under another name first, so that the folder appears whole. */
static clf_status write_beside(const char *output, struct models *models)
{
    char *temporary = NULL;
    CLF__TRY(clf__temporary_path(&temporary, output));
    clf_status status = write_folder(temporary, models);
    if (status == CLF_OK) {
        status = clf__folder_rename(temporary, output);
    }
    if (status != CLF_OK) {
        status = clf__folder_discard(temporary, status);
    }
    clf__free(temporary);
    return status;
}

static clf_status write_whole(const char *output, struct models *models)
{
    size_t length = strlen(output);
    while (length > 1 && output[length - 1] == '/') {
        length--;
    }
    char *plain = NULL; /* a name beside "folder/" would be inside it */
    CLF__TRY(clf__copy_bytes(&plain, output, length));
    clf_status status = write_beside(plain, models);
    clf__free(plain);
    return status;
}

static clf_status open_models(struct models *models)
{
    CLF__TRY(clf__allocate(&models->items, (size_t)models->count, sizeof *models->items));
    for (int i = 0; i < models->count; i++) {
        struct clf__config config;
        CLF__TRY(compare_folders(models->folders[0], models->folders[i]));
        CLF__TRY(clf__config_load(&config, models->folders[i]));
        clf_status status = clf__parameters_load(&models->items[i], &config, models->folders[i]);
        clf__config_free(&config);
        CLF__TRY(status);
    }
    return CLF_OK;
}

clf_status clf__model_average(const char *output, const char *const *folders, int count,
                              clf_precision precision)
{
    if (precision != CLF_PRECISION_FP32 && precision != CLF_PRECISION_FP16 &&
        precision != CLF_PRECISION_BF16) {
        return clf__fail(CLF_UNSUPPORTED, "weights are stored in fp32, fp16 or bf16 alone");
    }
    if (count < 1) {
        return clf__fail(CLF_BAD_ARGUMENT, "there is no model to average");
    }
    if (clf__folder_exists(output) || clf__file_exists(output)) {
        return clf__fail(CLF_FILE, "%s: exists already; name a folder that does not", output);
    }
    struct models models = {.folders = folders, .count = count, .precision = precision};
    clf_status status = open_models(&models);
    if (status == CLF_OK) {
        status = write_whole(output, &models);
    }
    for (int i = 0; models.items && i < count; i++) {
        clf__parameters_free(models.items[i]);
    }
    clf__free(models.items);
    return status;
}
