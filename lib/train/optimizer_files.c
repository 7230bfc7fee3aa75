/* The optimizer's state in a checkpoint: one file, or one per rank with a share. Any number of ranks can
 * read either, with or without sharding. */
#include "train/checkpoint_files.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/file.h"
#include "base/memory.h"
#include "model/save.h"
#include "model/weights/weights.h"
#include "train/advice.h"

static const char whole_name[] = "optimizer.safetensors";
static const char shard_prefix[] = "optimizer-", shard_suffix[] = ".safetensors";
static const char *const moment_suffixes[] = {".exp_avg", ".exp_avg_sq"}; /* suffixes as in PyTorch */
static const enum clf__training_values moments[] = {CLF__FIRST_MOMENTS, CLF__SECOND_MOMENTS};
enum { MOMENTS = 2 };

/* Lists the moments of all parameters: entry MOMENTS * i + j is moment j of parameter i. */
static clf_status list_moments(struct clf__parameter_list *out, const struct clf__parameter_list *list)
{
    *out = (struct clf__parameter_list){0};
    CLF__TRY(clf__allocate(&out->items, (size_t)list->count * MOMENTS, sizeof *out->items));
    out->count = list->count * MOMENTS;
    for (int i = 0; i < out->count; i++) {
        struct clf__parameter *item = &out->items[i];
        *item = list->items[i / MOMENTS];
        size_t length = strlen(item->name);
        int written =
            snprintf(item->name + length, sizeof item->name - length, "%s", moment_suffixes[i % MOMENTS]);
        if (written < 0 || (size_t)written >= sizeof item->name - length) {
            clf__free(out->items);
            return clf__fail(CLF_UNSUPPORTED, "the name of parameter \"%s\" is too long to name its moments",
                             list->items[i / MOMENTS].name);
        }
    }
    return CLF_OK;
}

static clf_status read_value(void *user, int index, float *target)
{
    const struct clf__training *training = user;
    const struct clf__parameter *parameter = &clf__training_parameters(training)->items[index];
    size_t count = (size_t)parameter->rows * (size_t)parameter->columns;
    CLF__TRY(clf__training_read(training, CLF__VALUES, index, target));
    for (size_t i = 0; i < count && parameter->is_trained; i++) {
        if (!isfinite(target[i])) {
            return clf__fail(CLF_UNSUPPORTED,
                             "the weights contain NaN or infinity, first in %s; " CLF__ADVICE_DIVERGED,
                             parameter->name);
        }
    }
    return CLF_OK;
}

static clf_status read_moment(void *user, int index, float *target)
{
    return clf__training_read(user, moments[index % MOMENTS], index / MOMENTS, target);
}

static clf_status save(const char *folder, const char *name, const struct clf__parameter_list *list,
                       clf__parameter_reader *reader, void *user)
{
    char *path = NULL;
    CLF__TRY(clf__path_join(&path, folder, name));
    clf_status status = clf__parameters_save(path, list, NULL, CLF__PRECISION_FP32, reader, user);
    clf__free(path);
    return status;
}

static clf_status save_moments(const char *folder, const char *name, const struct clf__parameter_list *list,
                               clf__parameter_reader *reader, void *user)
{
    struct clf__parameter_list moment_list;
    CLF__TRY(list_moments(&moment_list, list));
    clf_status status = save(folder, name, &moment_list, reader, user);
    clf__parameter_list_free(&moment_list);
    return status;
}

clf_status clf__checkpoint_files_write(const char *folder, const struct clf__training *training,
                                       int has_moments)
{
    const struct clf__parameter_list *list = clf__training_parameters(training);
    CLF__TRY(save(folder, "model.safetensors", list, read_value, (void *)training));
    return has_moments ? save_moments(folder, whole_name, list, read_moment, (void *)training) : CLF_OK;
}

/* The share of one rank: consecutive parameters. Shares have nearly equal total sizes. */
struct shard {
    struct clf__training *training;
    int first, count;      /* range of parameters */
    float **first_moments; /* (count), kept until the second moments have been read */
};

static size_t numbers_of(const struct clf__parameter *parameter)
{
    return (size_t)parameter->rows * (size_t)parameter->columns;
}

static void find_shard(struct shard *shard, const struct clf__parameter_list *list,
                       const struct clf__communicator *ranks)
{
    size_t total = 0, before = 0;
    for (int i = 0; i < list->count; i++) {
        total += numbers_of(&list->items[i]);
    }
    for (int i = 0; i < list->count; i++) {
        int owner = (int)((double)before / (double)total * ranks->size);
        if (owner == ranks->rank) {
            shard->first = shard->count == 0 ? i : shard->first;
            shard->count++;
        }
        before += numbers_of(&list->items[i]);
    }
}

static clf_status keep_first_moments(struct shard *shard, const struct clf__parameter_list *list)
{
    CLF__TRY(clf__allocate(&shard->first_moments, (size_t)shard->count, sizeof *shard->first_moments));
    for (int i = 0; i < shard->count; i++) {
        float **values = &shard->first_moments[i];
        CLF__TRY(clf__allocate(values, numbers_of(&list->items[shard->first + i]), sizeof **values));
        CLF__TRY(clf__training_read(shard->training, CLF__GRADIENTS, shard->first + i, *values));
    }
    return CLF_OK;
}

static clf_status read_shard(void *user, int index, float *target)
{
    const struct shard *shard = user;
    int parameter = index / MOMENTS;
    if (index % MOMENTS != 0) {
        return clf__training_read(shard->training, CLF__GRADIENTS, shard->first + parameter, target);
    }
    const struct clf__parameter_list *list = clf__training_parameters(shard->training);
    memcpy(target, shard->first_moments[parameter],
           numbers_of(&list->items[shard->first + parameter]) * sizeof *target);
    return CLF_OK;
}

static clf_status save_shard(const char *folder, struct shard *shard, const struct clf__parameter_list *list,
                             const struct clf__communicator *ranks)
{
    char name[64];
    struct clf__parameter_list own = {.items = list->items + shard->first, .count = shard->count};
    snprintf(name, sizeof name, "%s%05d-of-%05d%s", shard_prefix, ranks->rank + 1, ranks->size, shard_suffix);
    return shard->count > 0 ? save_moments(folder, name, &own, read_shard, shard) : CLF_OK;
}

clf_status clf__checkpoint_files_write_shard(const char *folder, struct clf__training *training,
                                             const struct clf__communicator *ranks)
{
    const struct clf__parameter_list *list = clf__training_parameters(training);
    struct shard shard = {.training = training};
    find_shard(&shard, list, ranks);
    CLF__TRY(clf__training_collect_moments(training, CLF__FIRST_MOMENTS));
    clf_status status = ranks->agree(ranks, keep_first_moments(&shard, list));
    if (status == CLF_OK) {
        status = clf__training_collect_moments(training, CLF__SECOND_MOMENTS);
    }
    if (status == CLF_OK) {
        status = save_shard(folder, &shard, list, ranks);
    }
    for (int i = 0; i < shard.count && shard.first_moments != NULL; i++) {
        clf__free(shard.first_moments[i]);
    }
    clf__free(shard.first_moments);
    return status == CLF_OK ? clf__training_clear(training) : status;
}

/* The files that hold the moments. */
struct files {
    struct clf__weights **items;
    int count;
    const char *folder;
};

static clf_status open_file(struct files *files, const char *name)
{
    CLF__TRY(clf__resize(&files->items, (size_t)files->count + 1, sizeof *files->items));
    CLF__TRY(clf__weights_open_file(&files->items[files->count], files->folder, name));
    files->count++;
    return CLF_OK;
}

static clf_status open_files(struct files *files)
{
    int is_whole;
    struct clf__names names;
    CLF__TRY(clf__file_exists_in(&is_whole, files->folder, whole_name));
    if (is_whole) {
        return open_file(files, whole_name);
    }
    CLF__TRY(clf__folder_list(&names, files->folder));
    clf_status status = CLF_OK;
    for (int i = 0; i < names.count && status == CLF_OK; i++) {
        if (strncmp(names.items[i], shard_prefix, sizeof shard_prefix - 1) == 0 &&
            clf__ends_with(names.items[i], shard_suffix)) {
            status = open_file(files, names.items[i]);
        }
    }
    clf__names_free(&names);
    return status;
}

static const struct clf__stored_tensor *find(const struct files *files, const char *name)
{
    const struct clf__stored_tensor *tensor = NULL;
    for (int i = 0; i < files->count && tensor == NULL; i++) {
        tensor = clf__weights_find(files->items[i], name);
    }
    return tensor;
}

static clf_status restore_moment(struct clf__training *training, const struct files *files,
                                 const struct clf__parameter *parameter, int index)
{
    const struct clf__stored_tensor *tensor = find(files, parameter->name);
    size_t count = numbers_of(parameter);
    if (!tensor || tensor->type != CLF__STORED_F32 || tensor->size != count * sizeof(float)) {
        return clf__fail(CLF_FORMAT, "%s: optimizer tensor \"%s\" is missing or has another shape",
                         files->folder, parameter->name);
    }
    float *values = NULL;
    CLF__TRY(clf__allocate(&values, count, sizeof *values));
    clf_status status = clf__stored_tensor_read(tensor, values);
    if (status == CLF_OK) {
        enum clf__training_values which =
            clf__training_shards_moments(training) ? CLF__GRADIENTS : moments[index % MOMENTS];
        status = clf__training_write(training, which, index / MOMENTS, values);
    }
    clf__free(values);
    return status;
}

static clf_status restore(struct clf__training *training, const struct files *files,
                          const struct clf__parameter_list *list)
{
    for (int moment = 0; moment < MOMENTS; moment++) {
        for (int i = moment; i < list->count; i += MOMENTS) {
            CLF__TRY(restore_moment(training, files, &list->items[i], i));
        }
        if (clf__training_shards_moments(training)) {
            CLF__TRY(clf__training_take_moments(training, moments[moment]));
            CLF__TRY(clf__training_clear(training));
        }
    }
    return CLF_OK;
}

clf_status clf__checkpoint_files_restore(struct clf__training *training, const char *folder)
{
    struct clf__parameter_list list;
    struct files files = {.folder = folder};
    CLF__TRY(list_moments(&list, clf__training_parameters(training)));
    clf_status status = open_files(&files);
    if (status == CLF_OK) {
        status = restore(training, &files, &list);
    }
    for (int i = 0; i < files.count; i++) {
        clf__weights_close(files.items[i]);
    }
    clf__free(files.items);
    clf__parameter_list_free(&list);
    return status;
}
