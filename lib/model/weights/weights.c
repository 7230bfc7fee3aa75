#include "model/weights/weights.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/json.h"
#include "base/memory.h"
#include "model/weights/format.h"
#include "model/weights/marian.h"

/* MAX_VALUES: JSON values in an index, one per tensor */
enum { MAX_INDEX_BYTES = 100000000, MAX_VALUES = 1 << 20, MAX_SHARDS = 512 };

typedef clf_status file_opener(struct clf__shard *shard, struct clf__tensor_list *list);

/* Formats in order of preference. */
static const struct format {
    const char *file, *index;
    file_opener *open;
} formats[] = {
    {"model.safetensors", "model.safetensors.index.json", clf__safetensors_open},
    {"pytorch_model.bin", "pytorch_model.bin.index.json", clf__pytorch_open},
    {"model.bin", NULL, clf__ctranslate2_open},
};

struct clf__weights {
    char *path; /* path of the file or the index */
    const struct format *format;
    struct clf__shard *shards;
    int shard_count;
    struct clf__tensor_list list;   /* sorted by name once open */
    struct clf__tensor_list mapped; /* result of clf__weights_map() */
    int mapped_capacity;
    struct clf__names names; /* names of the tensors in `mapped` */
};

static int by_name(const void *left, const void *right)
{
    const struct clf__stored_tensor *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static clf_status add_shard(struct clf__weights *weights, const char *folder, const char *name)
{
    for (int i = 0; i < weights->shard_count; i++) {
        if (strcmp(weights->shards[i].name, name) == 0) {
            return CLF_OK;
        }
    }
    if (weights->shard_count == MAX_SHARDS) {
        return clf__fail(CLF_FORMAT,
                         "%s: the index names more than %d files; download or save the index again",
                         weights->path, MAX_SHARDS);
    }
    size_t count = (size_t)weights->shard_count + 1;
    CLF__TRY(clf__resize(&weights->shards, count, sizeof *weights->shards));
    struct clf__shard *shard = &weights->shards[weights->shard_count++];
    *shard = (struct clf__shard){0};
    CLF__TRY(clf__copy_string(&shard->name, name));
    return clf__path_join(&shard->path, folder, name);
}

static clf_status sort_tensors(struct clf__weights *weights)
{
    struct clf__stored_tensor *tensors = weights->list.items;
    if (tensors != NULL) {
        qsort(tensors, (size_t)weights->list.count, sizeof *tensors, by_name);
    }
    for (int i = 1; i < weights->list.count; i++) {
        if (strcmp(tensors[i - 1].name, tensors[i].name) == 0) {
            return clf__fail(CLF_FORMAT,
                             "%s: tensor \"%.200s\" is also in %s; download or save both files again",
                             tensors[i].file, tensors[i].name, tensors[i - 1].file);
        }
    }
    return CLF_OK;
}

static clf_status open_single(struct clf__weights *weights, const char *folder, const char *name)
{
    CLF__TRY(add_shard(weights, folder, name));
    CLF__TRY(weights->format->open(&weights->shards[0], &weights->list));
    return sort_tensors(weights);
}

/* Returns 1 if a shard's name has no folder part, because shards must be in the folder of the index. */
static int is_plain_name(const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Returns 1 for matrices that transformers may tie to another matrix. An index may list a tied matrix that no
 * shard contains, or omit one that a shard contains; loading fails later if a required matrix is missing. */
static int may_be_tied(const char *name)
{
    static const char *const endings[] = {"shared.weight", "embed_tokens.weight", "lm_head.weight",
                                          "proj_out.weight"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (clf__ends_with(name, endings[i])) {
            return 1;
        }
    }
    return 0;
}

static clf_status check_index(const struct clf__weights *weights, const json_t *weight_map)
{
    const char *name;
    json_t *file;
    json_object_foreach((json_t *)weight_map, name, file)
    {
        const struct clf__stored_tensor *tensor = clf__weights_find(weights, name);
        const char *found = tensor ? strrchr(tensor->file, '/') : NULL;
        if (!tensor && may_be_tied(name)) {
            continue;
        }
        if (!found || strcmp(found + 1, json_string_value(file)) != 0) {
            return clf__fail(CLF_FORMAT,
                             "%s: tensor \"%.200s\" is not in %.200s; download or save both files again",
                             weights->path, name, json_string_value(file));
        }
    }
    for (int i = 0; i < weights->list.count; i++) {
        const char *stored = weights->list.items[i].name;
        if (!json_object_get(weight_map, stored) && !may_be_tied(stored)) {
            return clf__fail(CLF_FORMAT,
                             "%s: tensor \"%.200s\" of %s is not listed; download or save both files again",
                             weights->path, stored, weights->list.items[i].file);
        }
    }
    return CLF_OK;
}

static clf_status open_indexed(struct clf__weights *weights, const char *folder,
                               const struct clf__json *index)
{
    const json_t *weight_map = json_object_get(index->root, "weight_map");
    if (!json_is_object(weight_map) || json_object_size(weight_map) == 0) {
        return clf__fail(CLF_FORMAT,
                         "%s: \"weight_map\" is not an object with tensors; download or save the file again",
                         index->path);
    }
    const char *name;
    json_t *file;
    json_object_foreach((json_t *)weight_map, name, file)
    {
        if (!json_is_string(file) || !is_plain_name(json_string_value(file))) {
            return clf__fail(CLF_FORMAT,
                             "%s: tensor \"%.200s\" is not mapped to the name of a file in the folder; "
                             "download or save the index again",
                             index->path, name);
        }
        CLF__TRY(add_shard(weights, folder, json_string_value(file)));
    }
    for (int i = 0; i < weights->shard_count; i++) {
        clf_status status = weights->format->open(&weights->shards[i], &weights->list);
        if (status == CLF_FILE) {
            return clf__fail(
                status, "%s lists a shard: %s%s", index->path, clf_last_error(),
                clf__file_is_missing(weights->shards[i].path) ? "; download or save the shard again" : "");
        }
        CLF__TRY(status);
    }
    CLF__TRY(sort_tensors(weights));
    return check_index(weights, weight_map);
}

static clf_status open_with_index(struct clf__weights *weights, const char *folder)
{
    struct clf__json index;
    struct clf__json_limits limits = {MAX_INDEX_BYTES, MAX_VALUES};
    CLF__TRY(clf__json_load(&index, weights->path, limits));
    clf_status status = open_indexed(weights, folder, &index);
    clf__json_free(&index);
    return status;
}

/* Opens the first of a format's two files that exists in the folder; *found is 0 if neither exists. */
static clf_status open_format(struct clf__weights *weights, const char *folder, int *found)
{
    const char *const names[] = {weights->format->file, weights->format->index};
    for (int i = 0; i < 2 && names[i] != NULL; i++) {
        CLF__TRY(clf__file_find(found, folder, names[i]));
        if (*found) {
            clf__free(weights->path);
            weights->path = NULL;
            CLF__TRY(clf__path_join(&weights->path, folder, names[i]));
            return i == 0 ? open_single(weights, folder, names[i]) : open_with_index(weights, folder);
        }
    }
    return CLF_OK;
}

/* Opens the weights of a model folder, one file or several shards; if `name` is not NULL, opens only the file
 * `name`. */
static clf_status open_folder(struct clf__weights *weights, const char *folder, const char *name)
{
    weights->format = &formats[0];
    CLF__TRY(clf__path_join(&weights->path, folder, name != NULL ? name : formats[0].file));
    if (name != NULL) {
        for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
            weights->format = strcmp(formats[i].file, name) == 0 ? &formats[i] : weights->format;
        }
        return open_single(weights, folder, name);
    }
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        int found;
        weights->format = &formats[i];
        CLF__TRY(open_format(weights, folder, &found));
        if (found) {
            return CLF_OK;
        }
    }
    return clf__fail(CLF_FILE,
                     "%s: no such file, and no model.safetensors.index.json or pytorch_model.bin in the "
                     "folder; download one of them, or save the model again",
                     weights->path);
}

clf_status clf__weights_open(struct clf__weights **out, const char *folder)
{
    return clf__weights_open_file(out, folder, NULL);
}

clf_status clf__weights_open_file(struct clf__weights **out, const char *folder, const char *name)
{
    *out = NULL;
    CLF__TRY(clf__allocate(out, 1, sizeof **out));
    clf_status status = open_folder(*out, folder, name);
    if (status != CLF_OK) {
        clf__weights_close(*out);
        *out = NULL;
    }
    return status;
}

static clf_status open_file(struct clf__weights *weights, const char *path, file_opener *open)
{
    CLF__TRY(clf__copy_string(&weights->path, path));
    CLF__TRY(clf__allocate(&weights->shards, 1, sizeof *weights->shards));
    struct clf__shard *shard = &weights->shards[weights->shard_count++];
    CLF__TRY(clf__copy_string(&shard->path, path));
    CLF__TRY(open(shard, &weights->list));
    return sort_tensors(weights);
}

static clf_status open_path(struct clf__weights **out, const char *path, file_opener *open)
{
    *out = NULL;
    CLF__TRY(clf__allocate(out, 1, sizeof **out));
    clf_status status = open_file(*out, path, open);
    if (status != CLF_OK) {
        clf__weights_close(*out);
        *out = NULL;
    }
    return status;
}

clf_status clf__weights_open_marian(struct clf__weights **out, const char *path)
{
    return open_path(out, path, clf__marian_open);
}

clf_status clf__weights_open_network(struct clf__weights **out, const char *path)
{
    int is_safetensors = clf__ends_with(path, ".safetensors");
    return open_path(out, path, is_safetensors ? clf__safetensors_open : clf__onnx_open);
}

clf_status clf__weights_open_pytorch(struct clf__weights **out, const char *path)
{
    return open_path(out, path, clf__pytorch_open);
}

void clf__weights_close(struct clf__weights *weights)
{
    if (!weights) {
        return;
    }
    for (int i = 0; i < weights->shard_count; i++) {
        struct clf__shard *shard = &weights->shards[i];
        json_decref(shard->header);
        clf__free(shard->names);
        clf__names_free(&shard->name_list);
        clf__file_close(&shard->file);
        clf__free(shard->path);
        clf__free(shard->name);
    }
    clf__free(weights->shards);
    clf__free(weights->list.items);
    clf__free(weights->mapped.items);
    clf__names_free(&weights->names);
    clf__free(weights->path);
    clf__free(weights);
}

const struct clf__stored_tensor *clf__weights_find(const struct clf__weights *weights, const char *name)
{
    struct clf__stored_tensor wanted = {.name = name};
    return weights->list.items != NULL
               ? bsearch(&wanted, weights->list.items, (size_t)weights->list.count, sizeof wanted, by_name)
               : NULL;
}

int clf__weights_count(const struct clf__weights *weights)
{
    return weights->list.count;
}

const struct clf__stored_tensor *clf__weights_at(const struct clf__weights *weights, int index)
{
    return index >= 0 && index < weights->list.count ? &weights->list.items[index] : NULL;
}

const char *clf__weights_path(const struct clf__weights *weights)
{
    return weights->path;
}

struct clf__specification clf__weights_specification(const struct clf__weights *weights)
{
    return weights->shards[0].specification;
}

const json_t *clf__weights_metadata(const struct clf__weights *weights)
{
    const json_t *metadata = json_object_get(weights->shards[0].header, CLF__METADATA_KEY);
    return json_is_object(metadata) ? metadata : NULL;
}

void clf__beside_free(struct clf__beside *beside)
{
    json_decref(beside->metadata);
    clf__weights_close(beside->tensors);
    *beside = (struct clf__beside){.metadata = NULL};
}

clf_status clf__weights_add(struct clf__weights *weights, const struct clf__stored_tensor *tensor,
                            const char *name)
{
    struct clf__tensor_list *mapped = &weights->mapped;
    CLF__TRY(clf__grow(&mapped->items, mapped->count, &weights->mapped_capacity, sizeof *mapped->items));
    CLF__TRY(clf__names_add(&weights->names, name));
    struct clf__stored_tensor *added = &mapped->items[mapped->count++];
    *added = *tensor;
    added->name = weights->names.items[weights->names.count - 1];
    return CLF_OK;
}

clf_status clf__weights_map(struct clf__weights *weights, clf__tensor_mapper *map, void *user)
{
    for (int i = 0; i < weights->list.count; i++) {
        CLF__TRY(map(weights, &weights->list.items[i], user));
    }
    clf__free(weights->list.items);
    weights->list = weights->mapped;
    weights->mapped = (struct clf__tensor_list){.items = NULL, .count = 0};
    weights->mapped_capacity = 0;
    return sort_tensors(weights);
}
