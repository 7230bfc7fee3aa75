/* Gradient buckets. The gradients of a layer are mapped to the host as soon as its backward pass is
 * enqueued, while the device computes the layers below. */
#include "backprop/internal.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "config/sides.h"

enum {
    LEAST_LOAN = 1 << 14,  /* floats: smaller layers are combined */
    STRETCH = 1 << 18,     /* floats of a bucket, which the ranks reduce in shares; a bucket fits in the
                            * cache */
    LEAST_SHARE = 1 << 14, /* so that messages between many ranks take longer than their latency */
};

/* Decoder layers from the top down, then the encoder's, then the rest. */
int clf__lending_stage(const struct clf__config *config, enum clf__side side, int layer)
{
    if (layer < 0) {
        return config->decoder_layers + config->encoder_layers;
    }
    return side == CLF__DECODER ? config->decoder_layers - 1 - layer
                                : config->decoder_layers + config->encoder_layers - 1 - layer;
}

/* The pool has the order of the tree, which ends with the decoder's last layer: when a layer is complete,
 * so are all arrays from its first one on. The host completes tables of relative biases, at the end. */
static size_t complete_from(const struct clf__training *training, int stage, size_t before)
{
    const struct clf__config *config = &training->transformer->config;
    size_t place = before;
    if (stage == clf__lending_stage(config, CLF__ENCODER, -1)) {
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

/* The last offset up to `place` at which an array can be split: see CLF__ADAM_STRETCH. */
static size_t cut_before(const struct clf__training *training, size_t place)
{
    for (int i = 0; i < training->trained_count; i++) {
        const struct clf__trained *trained = &training->trained[i];
        size_t count = (size_t)trained->arrays[CLF__GRADIENTS].columns;
        if (place >= trained->place && place < trained->place + count) {
            return place - (place - trained->place) % CLF__ADAM_STRETCH;
        }
    }
    return place;
}

/* Computes each rank's share of a bucket, of about equal sizes. */
static void share_out(size_t *shares, const struct clf__training *training, const struct clf__stretch *its)
{
    size_t size = (size_t)training->ranks->size, from = its->place, end = its->place + its->count;
    for (size_t i = 0; i < size; i++) {
        size_t ideal = its->place + its->count * (i + 1) / size;
        size_t to = i + 1 < size ? clf__max_size(cut_before(training, ideal), from) : end;
        shares[i] = to - from;
        from = to;
    }
}

static clf_status add_stretches(struct clf__training *training, int loan, size_t place)
{
    struct clf__lending *lending = &training->lending;
    size_t end = place + lending->loans[loan].count, start = place;
    size_t length = clf__max_size(STRETCH, (size_t)LEAST_SHARE * (size_t)training->ranks->size);
    while (place < end) {
        size_t to = place + length < end ? cut_before(training, place + length) : end;
        CLF__TRY(
            clf__resize(&lending->stretches, (size_t)lending->stretch_count + 1, sizeof *lending->stretches));
        lending->stretches[lending->stretch_count++] =
            (struct clf__stretch){.loan = loan, .first = place - start, .count = to - place, .place = place};
        lending->longest = clf__max_size(lending->longest, to - place);
        place = to;
    }
    return CLF_OK;
}

/* Adds the gradients from `first` to `end`, one mapping per chunk of the pool. */
static clf_status add_loans(struct clf__training *training, int stage, size_t first, size_t end)
{
    struct clf__lending *lending = &training->lending;
    const struct clf__pool *pool = &training->gradients.pool;
    size_t chunk_end = clf__pool_floats(pool);
    for (int chunk = pool->chunk_count - 1; chunk >= 0; chunk--) {
        size_t start = chunk_end - clf__pool_chunk_floats(pool, chunk);
        size_t from = clf__max_size(start, first), to = clf__min_size(chunk_end, end);
        if (from < to) {
            size_t count = (size_t)lending->count + 1;
            CLF__TRY(clf__resize(&lending->loans, count, sizeof *lending->loans));
            CLF__TRY(clf__resize(&lending->stages, count, sizeof *lending->stages));
            lending->stages[lending->count] = stage;
            lending->loans[lending->count++] =
                (struct clf__loan){.chunk = chunk, .first = from - start, .count = to - from};
            CLF__TRY(add_stretches(training, lending->count - 1, from));
        }
        chunk_end = start;
    }
    return CLF_OK;
}

static clf_status make_shares(struct clf__training *training)
{
    struct clf__lending *lending = &training->lending;
    size_t size = (size_t)training->ranks->size;
    CLF__TRY(clf__allocate(&lending->shares, (size_t)lending->stretch_count * size, sizeof *lending->shares));
    for (int i = 0; i < lending->stretch_count; i++) {
        size_t *shares = lending->shares + (size_t)i * size;
        share_out(shares, training, &lending->stretches[i]);
        lending->stretches[i].shares = shares;
        for (size_t k = 0; k < size; k++) {
            lending->largest_share = clf__max_size(lending->largest_share, shares[k]);
        }
    }
    return CLF_OK;
}

clf_status clf__lending_create(struct clf__training *training)
{
    int last = clf__lending_stage(&training->transformer->config, CLF__ENCODER, -1);
    size_t end = clf__pool_floats(&training->gradients.pool);
    for (int stage = 0; stage <= last; stage++) {
        size_t first = complete_from(training, stage, end);
        if (stage == last || end - first >= LEAST_LOAN) {
            CLF__TRY(add_loans(training, stage, first, end));
            end = first;
        }
    }
    return make_shares(training);
}

void clf__lending_free(struct clf__training *training)
{
    struct clf__lending *lending = &training->lending;
    for (int i = 0; i < lending->count; i++) {
        if (lending->loans[i].memory != NULL) { /* after a failure, whose message is kept */
            struct clf__failure failure = clf__failure_keep(CLF_DEVICE);
            (void)clf__pool_take_back(&training->gradients.pool, &lending->loans[i]);
            (void)clf__failure_again(&failure);
        }
    }
    clf__free(lending->loans);
    clf__free(lending->stages);
    clf__free(lending->stretches);
    clf__free(lending->shares);
    *lending = (struct clf__lending){.count = 0};
}

clf_status clf__lending_reach(struct clf__training *training, int stage)
{
    struct clf__lending *lending = &training->lending;
    while (lending->is_on && lending->begun < lending->count && lending->stages[lending->begun] <= stage) {
        CLF__TRY(clf__pool_lend_later(&training->gradients.pool, &lending->loans[lending->begun]));
        lending->begun++;
    }
    return CLF_OK;
}
