/* Before the first update, checks everything that must be equal on all ranks. */
#include <stdio.h>
#include <string.h>

#include <clformer/device.h>

#include "base/hash.h"
#include "base/memory.h"
#include "runtime/cluster/compare.h"
#include "train/run.h"

static clf_status compare(const struct clf__run *run, const char *what, const char *value)
{
    return clf__ranks_compare(run->communicator, what, value);
}

static clf_status compare_hash(const struct clf__run *run, const char *what, uint64_t hash)
{
    return clf__ranks_compare_hash(run->communicator, what, hash);
}

static clf_status compare_recipe(const struct clf__run *run)
{
    int count;
    const struct clf_recipe_key *keys = clf_recipe_keys(&count);
    for (int i = 0; i < count; i++) {
        struct clf__texts words = clf__recipe_words(run->recipe, i);
        char text[CLF__FACT_BYTES] = "";
        size_t used = 0;
        uint64_t hash = CLF__FNV_BEGIN;
        for (int k = 0; k < words.count; k++) {
            hash = clf__fnv(hash, words.items[k], strlen(words.items[k]) + 1);
            int more = snprintf(text + used, sizeof text - used, "%s%s", k > 0 ? " " : "", words.items[k]);
            used = used + (size_t)more < sizeof text ? used + (size_t)more : sizeof text - 1;
        }
        CLF__TRY(compare(run, keys[i].name, words.count > 0 ? text : "not chosen"));
        if (used == sizeof text - 1) {
            CLF__TRY(compare_hash(run, "a long value of the recipe", hash));
        }
    }
    return CLF_OK;
}

static clf_status hash_values(uint64_t *hash, const struct clf__training *training,
                              enum clf__training_values which)
{
    const struct clf__parameter_list *list = clf__training_parameters(training);
    clf_status status = CLF_OK;
    for (int i = 0; i < list->count && status == CLF_OK; i++) {
        size_t count = (size_t)list->items[i].rows * (size_t)list->items[i].columns;
        float *values = NULL;
        CLF__TRY(clf__allocate(&values, count, sizeof *values));
        status = clf__training_read(training, which, i, values);
        uint64_t sum = status == CLF_OK ? clf__checksum(values, count * sizeof *values) : 0;
        *hash = clf__fnv(*hash, &sum, sizeof sum);
        clf__free(values);
    }
    return status;
}

/* Each rank computes the same Adam steps; on different devices their weights would diverge. */
static clf_status compare_device(const struct clf__run *run)
{
    const struct clf_device_info *info = clf_device_describe(run->device);
    CLF__TRY(compare(run, "the device", info->name));
    return compare(run, "the device's driver", info->driver);
}

clf_status clf__run_check_ranks(const struct clf__run *run)
{
    if (run->communicator->size == 1) {
        return CLF_OK;
    }
    CLF__TRY(compare(run, "the version of clformer", CLF_VERSION_STRING));
    CLF__TRY(compare_recipe(run));
    CLF__TRY(compare(run, "the checksum of train", run->state.train_checksum));
    CLF__TRY(compare(run, "the checksum of valid", run->state.valid_checksum));
    CLF__TRY(compare_device(run));
    uint64_t hash = CLF__FNV_BEGIN;
    int last = run->settings.shard_optimizer ? CLF__VALUES : CLF__SECOND_MOMENTS;
    for (int which = CLF__VALUES; which <= last; which++) {
        if (which != CLF__GRADIENTS) {
            CLF__TRY(hash_values(&hash, run->training, (enum clf__training_values)which));
        }
    }
    return compare_hash(run, "the checksum of the weights", hash);
}
