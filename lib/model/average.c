#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "model/config/config.h"
#include "model/formats/format.h"
#include "model/new_folder.h"
#include "model/save.h"

/* The models to average. */
struct models {
    const char *const *folders;
    int count;
    enum clf__precision precision;  /* precision of the mean */
    struct clf__parameters **items; /* (count) */
};

/* Returns 1 for keys of config.json that do not affect the results. */
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

/* Fails unless all keys of `a` have the same value in `b`. */
static clf_status compare_keys(const struct clf__json *a, const struct clf__json *b)
{
    const char *key;
    json_t *value;
    json_object_foreach(a->root, key, value)
    {
        if (!is_remark(key) && !json_equal(value, json_object_get(b->root, key))) {
            return clf__fail(
                CLF_FORMAT,
                "%s and %s have different values for \"%s\"; average only models with the same configuration",
                a->path, b->path, key);
        }
    }
    return CLF_OK;
}

static clf_status load_config(struct clf__json *out, const char *folder)
{
    *out = (struct clf__json){0};
    const struct clf__format *format;
    CLF__TRY(clf__format_of(&format, folder));
    if (format != &clf__format_hugging_face) {
        return clf__fail(CLF_UNSUPPORTED,
                         "%s: a %s folder with converted weights cannot be averaged; use the original model, "
                         "written by `clformer train` or Hugging Face",
                         folder, format->name);
    }
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

/* Compares the content of two files; two missing files are equal. */
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
    if (status == CLF_OK && files[0].size == files[1].size) { /* a missing file has size 0 */
        status = clf__file_same(&same, &files[0], 0, &files[1], 0, files[0].size);
    }
    if (status == CLF_OK && !same) {
        status = clf__fail(CLF_FORMAT, "%s and %s differ; average only models with the same vocabulary",
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
    static const char *const files[] = {
        "vocab.json",   "target_vocab.json", "source.spm", "target.spm", "sentencepiece.bpe.model",
        "spiece.model", "tokenizer.json",    "merges.txt", "dict.txt"};
    CLF__TRY(compare_configs(first, other));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        CLF__TRY(compare_file(first, other, files[i]));
    }
    return CLF_OK;
}

/* A clf__parameter_reader: computes the mean of one parameter. */
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

static clf_status write_mean(void *user, const char *path, const struct clf__beside *beside)
{
    (void)beside; /* used only by formats that cannot be averaged */
    struct models *models = user;
    return clf__parameters_save_new(path, clf__parameters_list(models->items[0]), models->precision,
                                    read_mean, models);
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
                              enum clf__precision precision)
{
    if (precision != CLF__PRECISION_FP32 && precision != CLF__PRECISION_FP16 &&
        precision != CLF__PRECISION_BF16) {
        return clf__fail(CLF_UNSUPPORTED,
                         "averaged weights cannot be stored in int8; use fp32, fp16 or bf16");
    }
    if (count < 1) {
        return clf__fail(CLF_BAD_ARGUMENT, "no models to average; pass at least one folder");
    }
    CLF__TRY(clf__new_folder_check(output));
    struct models models = {.folders = folders, .count = count, .precision = precision};
    clf_status status = open_models(&models);
    if (status == CLF_OK) {
        static const char *const types[] = {[CLF__PRECISION_FP32] = "float32",
                                            [CLF__PRECISION_FP16] = "float16",
                                            [CLF__PRECISION_BF16] = "bfloat16"};
        struct clf__new_folder folder = {
            .from = folders[0], .weights = {.type = types[precision]}, .write = write_mean, .user = &models};
        status = clf__new_folder_write(output, &folder);
    }
    for (int i = 0; models.items && i < count; i++) {
        clf__parameters_free(models.items[i]);
    }
    clf__free(models.items);
    return status;
}
