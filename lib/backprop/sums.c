#include "backprop/sums.h"

#include <string.h>

#include "backprop/internal.h"
#include "base/memory.h"
#include "device/pool.h"

struct clf__gradient_sums {
    struct clf__training *training;
    const struct clf__communicator *communicator;
    int64_t most;
    int is_any_order;
    struct clf__tree_sum tree;
    size_t length; /* of all gradients, in floats */
    /* Sums that wait for their right halves, in the host's memory: the device has room for one. */
    float **waiting; /* (capacity), of `length` */
    int capacity, count;
    struct clf__tree_node nodes[CLF__TREE_NODES]; /* which they are */
};

static clf_status make(struct clf__gradient_sums *sums)
{
    struct clf__tree_leaves share =
        clf__tree_share(sums->most, sums->most, sums->communicator->size, sums->communicator->rank);
    sums->length = clf__pool_floats(&sums->training->gradients.pool);
    sums->capacity = clf__tree_waiting(share);
    CLF__TRY(clf__allocate(&sums->waiting, (size_t)sums->capacity, sizeof *sums->waiting));
    for (int i = 0; i < sums->capacity; i++) {
        CLF__TRY(clf__allocate(&sums->waiting[i], sums->length, sizeof *sums->waiting[i]));
    }
    return clf__tree_sum_create(&sums->tree, sums->communicator, sums->most);
}

clf_status clf__gradient_sums_create(struct clf__gradient_sums **out, struct clf__training *training,
                                     const struct clf__communicator *communicator, int64_t most,
                                     int is_any_order)
{
    struct clf__gradient_sums *sums;
    *out = NULL;
    CLF__TRY(clf__allocate(&sums, 1, sizeof *sums));
    *sums = (struct clf__gradient_sums){
        .training = training, .communicator = communicator, .most = most, .is_any_order = is_any_order};
    clf_status status = is_any_order || most == 1 ? CLF_OK : make(sums);
    if (status != CLF_OK) {
        clf__gradient_sums_free(sums);
        return status;
    }
    *out = sums;
    return CLF_OK;
}

void clf__gradient_sums_free(struct clf__gradient_sums *sums)
{
    if (sums == NULL) {
        return;
    }
    for (int i = 0; sums->waiting != NULL && i < sums->capacity; i++) {
        clf__free(sums->waiting[i]);
    }
    clf__free(sums->waiting);
    clf__tree_sum_free(&sums->tree);
    clf__free(sums);
}

uint64_t clf__gradient_sums_bytes(const struct clf__gradient_sums *sums)
{
    if (sums->is_any_order || sums->most == 1) {
        return 0;
    }
    return (uint64_t)sums->capacity * sums->length * sizeof(float) +
           clf__tree_sum_bytes(sums->communicator, sums->most);
}

/* What happens to each chunk of the gradients. */
struct visit {
    struct clf__gradient_sums *sums;
    size_t *place;         /* of the chunk in all gradients */
    int halves;            /* as many sums that wait are left halves, the last one first */
    int waits;             /* the sum waits in its turn */
    int64_t micro_batches; /* of the update */
};

static clf_status merge(const void *context, float *values, size_t count)
{
    const struct visit *visit = context;
    struct clf__gradient_sums *sums = visit->sums;
    for (int i = 0; i < visit->halves; i++) {
        const float *half = sums->waiting[sums->count - 1 - i] + *visit->place;
        for (size_t k = 0; k < count; k++) {
            values[k] += half[k];
        }
    }
    if (visit->waits) {
        memcpy(sums->waiting[sums->count - visit->halves] + *visit->place, values, count * sizeof *values);
    }
    *visit->place += count;
    return CLF_OK;
}

clf_status clf__gradient_sums_take(struct clf__gradient_sums *sums, int64_t number, int is_last)
{
    struct clf__tree_node node = {number, 0};
    size_t place = 0;
    struct visit visit = {.sums = sums, .place = &place, .waits = !is_last};
    if (sums->is_any_order) {
        return CLF_OK;
    }
    while (visit.halves < sums->count &&
           clf__tree_are_halves(&sums->nodes[sums->count - 1 - visit.halves], &node)) {
        node = (struct clf__tree_node){node.index / 2, node.level + 1};
        visit.halves++;
    }
    if (visit.halves > 0 || visit.waits) {
        CLF__TRY(clf__pool_lend(&sums->training->gradients.pool, merge, &visit));
    }
    sums->count -= visit.halves;
    if (visit.waits) {
        sums->nodes[sums->count++] = node;
        CLF__TRY(clf__training_clear(sums->training));
    }
    return CLF_OK;
}

/* This rank's nodes are the sums that wait and, unless it had no micro-batch, what lies in the gradients. */
static clf_status add_chunk(const void *context, float *values, size_t count)
{
    const struct visit *visit = context;
    struct clf__gradient_sums *sums = visit->sums;
    float *nodes[CLF__TREE_NODES];
    for (int i = 0; i < sums->count; i++) {
        nodes[i] = sums->waiting[i] + *visit->place;
    }
    nodes[sums->count] = values;
    *visit->place += count;
    return clf__tree_add(&sums->tree, sums->most, visit->micro_batches, nodes, values, count);
}

clf_status clf__gradient_sums_finish(struct clf__gradient_sums *sums, int64_t count)
{
    size_t place = 0;
    struct visit visit = {.sums = sums, .place = &place, .micro_batches = count};
    if (sums->is_any_order) {
        return clf__training_sum_gradients(sums->training, sums->communicator);
    }
    if (sums->communicator->size == 1 && sums->count == 0) {
        return CLF_OK; /* the sum of one is there, and stays on the device */
    }
    CLF__TRY(clf__pool_lend(&sums->training->gradients.pool, add_chunk, &visit));
    sums->count = 0;
    return CLF_OK;
}
