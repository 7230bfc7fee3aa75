#include "model/backprop/sums.h"

#include <limits.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "model/backprop/internal.h"
#include "runtime/device/pool.h"

struct clf__gradient_sums {
    struct clf__training *training;
    const struct clf__communicator *ranks;
    struct clf__gradient_sums_options options;
    int has_tree;
    struct clf__tree_sum tree;
    size_t length; /* total floats of all gradients */
    /* Partial sums that wait for their right sibling. They are in host memory because the device has space
     * for only one. */
    float **waiting; /* (capacity), each of `length` */
    int capacity, count;
    struct clf__tree_node nodes[CLF__TREE_NODES]; /* (count) the tree node of each waiting sum */
    float *nothing; /* zeros, which a rank contributes after its device has failed */
};

/* Returns the maximum number of leaves: micro-batches or, if the order is free, ranks. */
static int64_t most_leaves(const struct clf__gradient_sums *sums)
{
    return sums->options.is_any_order ? sums->ranks->size : sums->options.most;
}

static struct clf__tree_options tree_options(const struct clf__gradient_sums *sums)
{
    const struct clf__gradient_buckets *buckets = &sums->training->buckets;
    return (struct clf__tree_options){
        .most = most_leaves(sums),
        .is_bf16 = sums->options.is_bf16,
        .is_scattered = sums->training->options.shards_moments,
        .bucket = buckets->longest,
        .share = buckets->largest_share,
    };
}

static clf_status make(struct clf__gradient_sums *sums)
{
    const struct clf__communicator *ranks = sums->ranks;
    struct clf__tree_options options = tree_options(sums);
    struct clf__tree_leaves share = clf__tree_share(options.most, options.most, ranks->size, ranks->rank);
    sums->length = clf__pool_floats(&sums->training->gradients.pool);
    sums->capacity = clf__tree_waiting(share);
    CLF__TRY(clf__allocate(&sums->nothing, options.bucket, sizeof *sums->nothing));
    CLF__TRY(clf__allocate(&sums->waiting, (size_t)sums->capacity, sizeof *sums->waiting));
    for (int i = 0; i < sums->capacity; i++) {
        CLF__TRY(clf__allocate(&sums->waiting[i], sums->length, sizeof *sums->waiting[i]));
    }
    return sums->has_tree ? clf__tree_sum_create(&sums->tree, ranks, &options) : CLF_OK;
}

clf_status clf__gradient_sums_create(struct clf__gradient_sums **out, struct clf__training *training,
                                     const struct clf__gradient_sums_options *options)
{
    struct clf__gradient_sums *sums;
    *out = NULL;
    CLF__TRY(clf__allocate(&sums, 1, sizeof *sums));
    *sums = (struct clf__gradient_sums){.training = training, .ranks = training->ranks, .options = *options};
    int is_plain = options->is_any_order && !options->is_bf16 && !training->options.shards_moments;
    sums->has_tree = most_leaves(sums) > 1 && !is_plain;
    clf_status status = make(sums);
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
    clf__free(sums->nothing);
    clf__tree_sum_free(&sums->tree);
    clf__free(sums);
}

uint64_t clf__gradient_sums_bytes(const struct clf__gradient_sums *sums)
{
    struct clf__tree_options options = tree_options(sums);
    return (uint64_t)sums->capacity * sums->length * sizeof(float) +
           (sums->has_tree ? clf__tree_sum_bytes(sums->ranks, &options) : 0);
}

int clf__gradient_sums_borrow(const struct clf__gradient_sums *sums)
{
    return sums->ranks->size > 1 || sums->count > 0 || (sums->has_tree && sums->options.is_bf16);
}

/* The host's reduction of a micro-batch's gradients. */
struct merge {
    struct clf__gradient_sums *sums;
    struct clf__tree_node node; /* the node of the sum */
    int halves;                 /* number of waiting sums to add, the last one first */
    size_t place;               /* offset of the next gradients in all gradients */
};

static struct merge begin_merge(struct clf__gradient_sums *sums, int64_t number)
{
    struct merge merge = {.sums = sums, .node = {number, 0}};
    while (merge.halves < sums->count &&
           clf__tree_are_halves(&sums->nodes[sums->count - 1 - merge.halves], &merge.node)) {
        merge.node = (struct clf__tree_node){merge.node.index / 2, merge.node.level + 1};
        merge.halves++;
    }
    return merge;
}

static void add_halves(const struct merge *merge, float *values, size_t place, size_t count)
{
    const struct clf__gradient_sums *sums = merge->sums;
    struct clf__tree_options options = tree_options(sums);
    if (options.is_bf16) {
        clf__tree_round(values, count);
    }
    for (int i = 0; i < merge->halves; i++) {
        clf__tree_add_halves(&options, values, sums->waiting[sums->count - 1 - i] + place, count);
    }
}

static clf_status store_sum(const void *context, float *values, size_t count)
{
    struct merge *merge = *(struct merge *const *)context;
    struct clf__gradient_sums *sums = merge->sums;
    add_halves(merge, values, merge->place, count);
    memcpy(sums->waiting[sums->count - merge->halves] + merge->place, values, count * sizeof *values);
    merge->place += count;
    return CLF_OK;
}

clf_status clf__gradient_sums_take(struct clf__gradient_sums *sums, int64_t number)
{
    if (sums->options.is_any_order) {
        return CLF_OK;
    }
    struct merge merge = begin_merge(sums, number), *visit = &merge;
    CLF__TRY(clf__pool_visit(&sums->training->gradients.pool, store_sum, &visit));
    sums->count -= merge.halves;
    sums->nodes[sums->count++] = merge.node;
    return clf__training_clear(sums->training);
}

/* Waits for the device and lets communication between the ranks progress. */
static clf_status wait_for(struct clf__gradient_sums *sums, const struct clf__mapped_range *range)
{
    enum { SHORTEST = 20000, LONGEST = 200000 }; /* nanoseconds */
    long pause = SHORTEST;
    for (;;) {
        int is_there;
        CLF__TRY(clf__pool_is_mapped(&is_there, &sums->training->gradients.pool, range));
        if (is_there) {
            return CLF_OK;
        }
        CLF__TRY(sums->ranks->progress(sums->ranks));
        nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
        pause = pause < LONGEST / 2 ? 2 * pause : LONGEST;
    }
}

/* The sums of one update. */
struct update {
    struct clf__gradient_sums *sums;
    struct merge merge;
    int has_own;       /* this rank has a micro-batch */
    int64_t pushed;    /* number of buckets sent */
    int unmapped;      /* number of ranges unmapped */
    clf_status status; /* status of this rank, which communicates even after a failure because the other ranks
                          wait for it */
};

/* Unmaps the ranges whose buckets have all been reduced. */
static void unmap_ranges(struct update *update, int64_t ended)
{
    struct clf__gradient_buckets *buckets = &update->sums->training->buckets;
    const struct clf__pool *pool = &update->sums->training->gradients.pool;
    int end = ended < buckets->count ? buckets->items[ended].range : buckets->range_count;
    for (; update->unmapped < end; update->unmapped++) {
        clf_status status = clf__pool_unmap_range(pool, &buckets->ranges[update->unmapped]);
        update->status = update->status == CLF_OK ? status : update->status;
    }
}

/* Sends buckets that are not part of a tree; each has its own ticket. */
static clf_status push_plain(struct update *update, float *values, size_t count)
{
    const struct clf__communicator *ranks = update->sums->ranks;
    int ticket = (int)(update->pushed % CLF__TICKETS);
    CLF__TRY(ranks->finish(ranks, ticket));
    CLF__TRY(ranks->begin_sum(ranks, ticket, values, count));
    update->pushed++;
    unmap_ranges(update, update->pushed - CLF__TICKETS < 0 ? 0 : update->pushed - CLF__TICKETS);
    return CLF_OK;
}

static clf_status push(struct update *update, const struct clf__bucket *bucket, float *values)
{
    struct clf__gradient_sums *sums = update->sums;
    float *nodes[CLF__TREE_NODES];
    int count = sums->count;
    if (update->has_own) {
        add_halves(&update->merge, values, bucket->place, bucket->count);
        count -= update->merge.halves;
    }
    if (!sums->has_tree) {
        return push_plain(update, values, bucket->count);
    }
    for (int i = 0; i < count; i++) {
        nodes[i] = sums->waiting[i] + bucket->place;
    }
    nodes[count] = values;
    CLF__TRY(clf__tree_push(&sums->tree, nodes, values, bucket->shares));
    unmap_ranges(update, sums->tree.ended);
    return CLF_OK;
}

/* Sends a range. A rank whose device has failed sends zeros, which the reduction overwrites. */
static clf_status push_range(struct update *update, int index, int *next)
{
    struct clf__gradient_sums *sums = update->sums;
    const struct clf__gradient_buckets *buckets = &sums->training->buckets;
    const struct clf__mapped_range *range = &buckets->ranges[index];
    if (update->status == CLF_OK) {
        update->status = wait_for(sums, range);
    }
    for (; *next < buckets->count && buckets->items[*next].range == index; ++*next) {
        const struct clf__bucket *bucket = &buckets->items[*next];
        int is_there = update->status == CLF_OK && range->values != NULL;
        CLF__TRY(push(update, bucket, is_there ? range->values + bucket->first : sums->nothing));
    }
    return CLF_OK;
}

static clf_status finish_sums(struct update *update)
{
    struct clf__gradient_sums *sums = update->sums;
    if (sums->has_tree) {
        return clf__tree_finish(&sums->tree);
    }
    for (int ticket = 0; ticket < CLF__TICKETS; ticket++) {
        CLF__TRY(sums->ranks->finish(sums->ranks, ticket));
    }
    return CLF_OK;
}

static clf_status add_up(struct update *update)
{
    const struct clf__gradient_buckets *buckets = &update->sums->training->buckets;
    int next = 0;
    for (int i = 0; i < buckets->range_count; i++) {
        CLF__TRY(push_range(update, i, &next));
    }
    CLF__TRY(finish_sums(update));
    unmap_ranges(update, buckets->count);
    return CLF_OK;
}

/* Maps the gradients of a rank without a micro-batch, which are zeros. */
static clf_status map_all(struct clf__training *training)
{
    training->buckets.is_on = 1;
    training->buckets.begun = 0;
    return clf__buckets_map_until(training, INT_MAX);
}

clf_status clf__gradient_sums_finish(struct clf__gradient_sums *sums, int64_t number, int64_t count)
{
    struct update update = {.sums = sums, .has_own = number >= 0 && !sums->options.is_any_order};
    if (!clf__gradient_sums_borrow(sums)) {
        return CLF_OK; /* the sum of a single micro-batch stays on the device */
    }
    update.merge = begin_merge(sums, number);
    if (number < 0) {
        update.status = map_all(sums->training);
    }
    CLF__TRY(sums->ranks->agree(sums->ranks, update.status));
    if (sums->has_tree) {
        clf__tree_begin(&sums->tree, sums->options.is_any_order ? sums->ranks->size : count);
    }
    CLF__TRY(add_up(&update));
    sums->count = 0;
    return sums->ranks->agree(sums->ranks, update.status);
}
