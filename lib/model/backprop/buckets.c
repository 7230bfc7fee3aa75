/* Gradient buckets. Once the backward pass of a layer is enqueued, the layer's gradients are mapped to the
 * host while the device computes the layers below. */
#include "base/memory.h"
#include "base/minmax.h"
#include "model/backprop/internal.h"
#include "model/config/sides.h"

enum {
    LEAST_RANGE = 1 << 14, /* floats; layers with fewer are combined */
    BUCKET = 1 << 18,      /* floats per bucket, which fits in the cache; each rank reduces a share of it */
    LEAST_SHARE = 1 << 14, /* large enough that sending a share takes longer than the latency of a message */
};

/* Stages are the decoder layers from top to bottom, then the encoder layers, then the rest. */
int clf__gradient_stage(const struct clf__config *config, enum clf__side side, int layer)
{
    if (layer < 0) {
        return config->decoder_layers + config->encoder_layers;
    }
    return side == CLF__DECODER ? config->decoder_layers - 1 - layer
                                : config->decoder_layers + config->encoder_layers - 1 - layer;
}

/* Returns the offset at which the complete gradients begin after a stage; `before`: the offset after the
 * previous stage. In models with relative biases, which the host completes, all gradients are complete only
 * after the last stage. */
static size_t complete_from(const struct clf__training *training, int stage, size_t before)
{
    const struct clf__config *config = &training->transformer->config;
    size_t place = before;
    if (stage == clf__gradient_stage(config, CLF__ENCODER, -1)) {
        return 0;
    }
    if (clf__training_has_relative(training)) {
        return before;
    }
    for (int i = 0; i < training->trained_count; i++) {
        const struct clf__trained *trained = &training->trained[i];
        place = trained->stage == stage ? clf__min_size(place, trained->place) : place;
    }
    return place;
}

/* Returns the largest offset, at most `place`, where an array can be split (see CLF__ADAM_BLOCK). */
static size_t cut_before(const struct clf__training *training, size_t place)
{
    for (int i = 0; i < training->trained_count; i++) {
        const struct clf__trained *trained = &training->trained[i];
        size_t count = (size_t)trained->arrays[CLF__GRADIENTS].columns;
        if (place >= trained->place && place < trained->place + count) {
            return place - (place - trained->place) % CLF__ADAM_BLOCK;
        }
    }
    return place;
}

/* Computes each rank's share of a bucket; the shares are nearly equal. */
static void share_out(size_t *shares, const struct clf__training *training, const struct clf__bucket *its)
{
    size_t size = (size_t)training->ranks->size, from = its->place, end = its->place + its->count;
    for (size_t i = 0; i < size; i++) {
        size_t ideal = its->place + its->count * (i + 1) / size;
        size_t to = i + 1 < size ? clf__max_size(cut_before(training, ideal), from) : end;
        shares[i] = to - from;
        from = to;
    }
}

static clf_status add_buckets(struct clf__training *training, int range, size_t place)
{
    struct clf__gradient_buckets *buckets = &training->buckets;
    size_t end = place + buckets->ranges[range].count, start = place;
    size_t length = clf__max_size(BUCKET, (size_t)LEAST_SHARE * (size_t)training->ranks->size);
    while (place < end) {
        size_t to = place + length < end ? cut_before(training, place + length) : end;
        CLF__TRY(clf__resize(&buckets->items, (size_t)buckets->count + 1, sizeof *buckets->items));
        buckets->items[buckets->count++] =
            (struct clf__bucket){.range = range, .first = place - start, .count = to - place, .place = place};
        buckets->longest = clf__max_size(buckets->longest, to - place);
        place = to;
    }
    return CLF_OK;
}

/* Adds the gradients from `first` to `end`, in one mapping per chunk of the pool. */
static clf_status add_ranges(struct clf__training *training, int stage, size_t first, size_t end)
{
    struct clf__gradient_buckets *buckets = &training->buckets;
    const struct clf__pool *pool = &training->gradients.pool;
    size_t chunk_end = clf__pool_floats(pool);
    for (int chunk = pool->chunk_count - 1; chunk >= 0; chunk--) {
        size_t start = chunk_end - clf__pool_chunk_floats(pool, chunk);
        size_t from = clf__max_size(start, first), to = clf__min_size(chunk_end, end);
        if (from < to) {
            size_t count = (size_t)buckets->range_count + 1;
            CLF__TRY(clf__resize(&buckets->ranges, count, sizeof *buckets->ranges));
            CLF__TRY(clf__resize(&buckets->stages, count, sizeof *buckets->stages));
            buckets->stages[buckets->range_count] = stage;
            buckets->ranges[buckets->range_count++] =
                (struct clf__mapped_range){.chunk = chunk, .first = from - start, .count = to - from};
            CLF__TRY(add_buckets(training, buckets->range_count - 1, from));
        }
        chunk_end = start;
    }
    return CLF_OK;
}

static clf_status make_shares(struct clf__training *training)
{
    struct clf__gradient_buckets *buckets = &training->buckets;
    size_t size = (size_t)training->ranks->size;
    CLF__TRY(clf__allocate(&buckets->shares, (size_t)buckets->count * size, sizeof *buckets->shares));
    for (int i = 0; i < buckets->count; i++) {
        size_t *shares = buckets->shares + (size_t)i * size;
        share_out(shares, training, &buckets->items[i]);
        buckets->items[i].shares = shares;
        for (size_t k = 0; k < size; k++) {
            buckets->largest_share = clf__max_size(buckets->largest_share, shares[k]);
        }
    }
    return CLF_OK;
}

clf_status clf__buckets_create(struct clf__training *training)
{
    int last = clf__gradient_stage(&training->transformer->config, CLF__ENCODER, -1);
    size_t end = clf__pool_floats(&training->gradients.pool);
    for (int stage = 0; stage <= last; stage++) {
        size_t first = complete_from(training, stage, end);
        if (stage == last || end - first >= LEAST_RANGE) {
            CLF__TRY(add_ranges(training, stage, first, end));
            end = first;
        }
    }
    return make_shares(training);
}

void clf__buckets_free(struct clf__training *training)
{
    struct clf__gradient_buckets *buckets = &training->buckets;
    for (int i = 0; i < buckets->range_count; i++) {
        if (buckets->ranges[i].memory != NULL) { /* still mapped after a failure, whose message is kept */
            struct clf__failure failure = clf__failure_keep(CLF_DEVICE);
            (void)clf__pool_unmap_range(&training->gradients.pool, &buckets->ranges[i]);
            (void)clf__failure_again(&failure);
        }
    }
    clf__free(buckets->ranges);
    clf__free(buckets->stages);
    clf__free(buckets->items);
    clf__free(buckets->shares);
    *buckets = (struct clf__gradient_buckets){.count = 0};
}

clf_status clf__buckets_map_until(struct clf__training *training, int stage)
{
    struct clf__gradient_buckets *buckets = &training->buckets;
    while (buckets->is_on && buckets->begun < buckets->range_count &&
           buckets->stages[buckets->begun] <= stage) {
        CLF__TRY(clf__pool_map_range(&training->gradients.pool, &buckets->ranges[buckets->begun]));
        buckets->begun++;
    }
    return CLF_OK;
}
