/* The sharded optimizer: each rank updates its share of every gradient bucket and keeps the moments of that
 * share; the ranks then gather the values. */
#include "base/memory.h"
#include "base/minmax.h"
#include "model/backprop/internal.h"
#include "runtime/cluster/tree.h"
#include "runtime/device/lock.h"

static struct clf__tensor part_of(struct clf__tensor array, size_t first, size_t count)
{
    return clf__tensor_columns(array, (int)first, (int)count);
}

/* Finds the part of an array between the offsets `from` and `to` in all gradients. */
static int find_part(struct clf__share_part *out, const struct clf__training *training, int index,
                     size_t from, size_t to)
{
    const struct clf__trained *trained = &training->trained[index];
    size_t end = trained->place + (size_t)trained->arrays[CLF__GRADIENTS].columns;
    from = clf__max_size(from, trained->place);
    to = clf__min_size(to, end);
    if (from >= to) {
        return 0;
    }
    *out = (struct clf__share_part){.trained = index, .first = from - trained->place, .count = to - from};
    return 1;
}

/* Finds this rank's share of a bucket as offsets in all gradients. */
static void find_own(size_t own[2], const struct clf__training *training, const struct clf__bucket *bucket)
{
    own[0] = bucket->place + clf__tree_shares_before(bucket->shares, training->ranks->rank);
    own[1] = own[0] + bucket->shares[training->ranks->rank];
}

static clf_status add_part(struct clf__training *training, const struct clf__share_part *part)
{
    CLF__TRY(clf__resize(&training->share_parts, (size_t)training->share_part_count + 1,
                         sizeof *training->share_parts));
    training->share_parts[training->share_part_count++] = *part;
    return CLF_OK;
}

static clf_status reserve_moments(struct clf__training *training, struct clf__share_part *part)
{
    for (int i = 0; i < 2; i++) {
        struct clf__buffer *buffer;
        CLF__TRY(clf__pool_reserve(&buffer, &training->shards, part->count * sizeof(float),
                                   "a share of the moments"));
        part->moments[i] = clf__tensor_floats(buffer, 1, (int)part->count);
    }
    return CLF_OK;
}

static clf_status take_share(struct clf__training *training, int index)
{
    size_t own[2];
    find_own(own, training, &training->buckets.items[index]);
    for (int i = 0; i < training->trained_count; i++) {
        struct clf__share_part part;
        if (find_part(&part, training, i, own[0], own[1])) {
            part.bucket = index;
            clf_status status = reserve_moments(training, &part);
            status = status == CLF_OK ? add_part(training, &part) : status;
            if (status != CLF_OK) {
                clf__buffer_free(part.moments[0].buffer);
                clf__buffer_free(part.moments[1].buffer);
                return status;
            }
        }
    }
    return CLF_OK;
}

static clf_status create_shares(struct clf__training *training)
{
    training->shards.device = training->transformer->device;
    for (int i = 0; i < training->buckets.count; i++) {
        CLF__TRY(take_share(training, i));
    }
    for (int i = 0; i < CLF__TICKETS; i++) {
        CLF__TRY(
            clf__allocate(&training->gathered[i], training->buckets.longest, sizeof *training->gathered[i]));
    }
    return clf__pool_allocate(&training->shards, "memory for a share of the moments");
}

clf_status clf__shards_create(struct clf__training *training)
{
    if (training->options.shards_moments) {
        return create_shares(training);
    }
    for (int i = 0; i < training->trained_count; i++) {
        const struct clf__trained *trained = &training->trained[i];
        struct clf__share_part part = {
            .trained = i,
            .count = (size_t)trained->arrays[CLF__VALUES].columns,
            .moments = {trained->arrays[CLF__FIRST_MOMENTS], trained->arrays[CLF__SECOND_MOMENTS]},
        };
        CLF__TRY(add_part(training, &part));
    }
    return CLF_OK;
}

void clf__shards_free(struct clf__training *training)
{
    for (int i = 0; i < training->share_part_count && training->options.shards_moments; i++) {
        clf__buffer_free(training->share_parts[i].moments[0].buffer);
        clf__buffer_free(training->share_parts[i].moments[1].buffer);
    }
    clf__pool_free(&training->shards);
    for (int i = 0; i < CLF__TICKETS; i++) {
        clf__free(training->gathered[i]);
    }
    clf__free(training->share_parts);
}

/* Values are gathered in place, moments in the memory of the gradients. */
struct gathering {
    struct clf__training *training;
    enum clf__training_values from, to;
    int next_part;
};

static clf_status read_own(struct gathering *gathering, int index, float *bucket)
{
    const struct clf__training *training = gathering->training;
    size_t start = training->buckets.items[index].place;
    for (; gathering->next_part < training->share_part_count; gathering->next_part++) {
        const struct clf__share_part *part = &training->share_parts[gathering->next_part];
        const struct clf__trained *trained = &training->trained[part->trained];
        if (part->bucket != index) {
            break;
        }
        struct clf__tensor from = gathering->from == CLF__VALUES
                                      ? part_of(trained->arrays[CLF__VALUES], part->first, part->count)
                                      : part->moments[gathering->from - CLF__FIRST_MOMENTS];
        CLF__TRY(clf__tensor_read(from, bucket + (trained->place + part->first - start)));
    }
    return CLF_OK;
}

static clf_status write_range(const struct gathering *gathering, int index, const float *bucket, size_t from,
                              size_t to)
{
    const struct clf__training *training = gathering->training;
    size_t start = training->buckets.items[index].place;
    struct clf__share_part part;
    for (int i = 0; i < training->trained_count; i++) {
        const struct clf__trained *trained = &training->trained[i];
        if (find_part(&part, training, i, from, to)) {
            CLF__TRY(clf__tensor_write(part_of(trained->arrays[gathering->to], part.first, part.count),
                                       bucket + (trained->place + part.first - start)));
        }
    }
    return CLF_OK;
}

static clf_status write_others(const struct gathering *gathering, int index, const float *bucket)
{
    const struct clf__training *training = gathering->training;
    const struct clf__bucket *its = &training->buckets.items[index];
    size_t own[2];
    find_own(own, training, its);
    if (gathering->from != gathering->to) {
        own[1] = own[0]; /* this rank's share must also be copied */
    }
    CLF__TRY(write_range(gathering, index, bucket, its->place, own[0]));
    return write_range(gathering, index, bucket, own[1], its->place + its->count);
}

static clf_status gather(struct gathering *gathering)
{
    const struct clf__training *training = gathering->training;
    const struct clf__communicator *ranks = training->ranks;
    const struct clf__gradient_buckets *buckets = &training->buckets;
    clf_status status =
        CLF_OK; /* the first error; the rank keeps sending because the other ranks wait for its data */
    for (int i = 0; i < buckets->count + CLF__TICKETS; i++) {
        int ticket = i % CLF__TICKETS;
        float *bucket = training->gathered[ticket];
        if (i >= CLF__TICKETS && i - CLF__TICKETS < buckets->count) {
            CLF__TRY(ranks->finish(ranks, ticket));
            status = status == CLF_OK ? write_others(gathering, i - CLF__TICKETS, bucket) : status;
        }
        if (i < buckets->count) {
            status = status == CLF_OK ? read_own(gathering, i, bucket) : status;
            CLF__TRY(ranks->begin_gather(ranks, ticket, sizeof *bucket, bucket, buckets->items[i].shares));
        }
    }
    return ranks->agree(ranks, status);
}

clf_status clf__shards_exchange_values(struct clf__training *training)
{
    struct gathering gathering = {.training = training, .from = CLF__VALUES, .to = CLF__VALUES};
    CLF__TRY(gather(&gathering));
    for (int i = 0; i < training->trained_count; i++) {
        if (training->trained[i].weight != NULL) {
            CLF__TRY(clf__weight_changed(training->trained[i].weight));
        }
    }
    return CLF_OK;
}

int clf__training_shards_moments(const struct clf__training *training)
{
    return training->options.shards_moments;
}

clf_status clf__training_collect_moments(struct clf__training *training, enum clf__training_values which)
{
    CLF__LOCK_DEVICE(training->transformer->device);
    struct gathering gathering = {.training = training, .from = which, .to = CLF__GRADIENTS};
    return gather(&gathering);
}

clf_status clf__training_take_moments(struct clf__training *training, enum clf__training_values which)
{
    CLF__LOCK_DEVICE(training->transformer->device);
    for (int i = 0; i < training->share_part_count; i++) {
        const struct clf__share_part *part = &training->share_parts[i];
        struct clf__tensor gradients = training->trained[part->trained].arrays[CLF__GRADIENTS];
        struct clf__tensor moments = part->moments[which - CLF__FIRST_MOMENTS];
        CLF__TRY(clf__buffer_copy(moments.buffer, moments.offset * sizeof(float), gradients.buffer,
                                  (gradients.offset + part->first) * sizeof(float),
                                  part->count * sizeof(float)));
    }
    return CLF_OK;
}
