/* Moments by rank: each keeps those of its share of every stretch of the gradients, takes the steps of that
 * share, and then they send each other the weights. */
#include "backprop/internal.h"
#include "base/larger.h"
#include "base/memory.h"
#include "cluster/tree.h"
#include "device/lock.h"

static struct clf__tensor part_of(struct clf__tensor array, size_t first, size_t count)
{
    return clf__tensor_columns(array, (int)first, (int)count);
}

/* The part of an array, by its gradient's place, that lies from `from` to `to`. */
static int find_part(struct clf__piece *out, const struct clf__training *training, int index, size_t from,
                     size_t to)
{
    const struct clf__trained *trained = &training->trained[index];
    size_t end = trained->place + (size_t)trained->arrays[CLF__GRADIENTS].columns;
    from = clf__larger_size(from, trained->place);
    to = clf__smaller_size(to, end);
    if (from >= to) {
        return 0;
    }
    *out = (struct clf__piece){.trained = index, .first = from - trained->place, .count = to - from};
    return 1;
}

/* Where this rank's share of a stretch begins and ends among all gradients. */
static void find_own(size_t own[2], const struct clf__training *training, const struct clf__stretch *stretch)
{
    own[0] = stretch->place + clf__tree_shares_before(stretch->shares, training->ranks->rank);
    own[1] = own[0] + stretch->shares[training->ranks->rank];
}

static clf_status add_piece(struct clf__training *training, const struct clf__piece *piece)
{
    CLF__TRY(clf__resize(&training->pieces, (size_t)training->piece_count + 1, sizeof *training->pieces));
    training->pieces[training->piece_count++] = *piece;
    return CLF_OK;
}

static clf_status reserve_moments(struct clf__training *training, struct clf__piece *piece)
{
    for (int i = 0; i < 2; i++) {
        struct clf__buffer *buffer;
        CLF__TRY(clf__pool_reserve(&buffer, &training->shards, piece->count * sizeof(float),
                                   "a share of the moments"));
        piece->moments[i] = clf__tensor_floats(buffer, 1, (int)piece->count);
    }
    return CLF_OK;
}

static clf_status take_share(struct clf__training *training, int index)
{
    size_t own[2];
    find_own(own, training, &training->lending.stretches[index]);
    for (int i = 0; i < training->trained_count; i++) {
        struct clf__piece piece;
        if (find_part(&piece, training, i, own[0], own[1])) {
            piece.stretch = index;
            clf_status status = reserve_moments(training, &piece);
            status = status == CLF_OK ? add_piece(training, &piece) : status;
            if (status != CLF_OK) {
                clf__buffer_free(piece.moments[0].buffer);
                clf__buffer_free(piece.moments[1].buffer);
                return status;
            }
        }
    }
    return CLF_OK;
}

static clf_status create_shares(struct clf__training *training)
{
    training->shards.device = training->transformer->device;
    for (int i = 0; i < training->lending.stretch_count; i++) {
        CLF__TRY(take_share(training, i));
    }
    for (int i = 0; i < CLF__TICKETS; i++) {
        CLF__TRY(
            clf__allocate(&training->gathered[i], training->lending.longest, sizeof *training->gathered[i]));
    }
    return clf__pool_allocate(&training->shards, "room for a share of the moments");
}

clf_status clf__shards_create(struct clf__training *training)
{
    if (training->options.shards_moments) {
        return create_shares(training);
    }
    for (int i = 0; i < training->trained_count; i++) {
        const struct clf__trained *trained = &training->trained[i];
        struct clf__piece piece = {
            .trained = i,
            .count = (size_t)trained->arrays[CLF__VALUES].columns,
            .moments = {trained->arrays[CLF__FIRST_MOMENTS], trained->arrays[CLF__SECOND_MOMENTS]},
        };
        CLF__TRY(add_piece(training, &piece));
    }
    return CLF_OK;
}

void clf__shards_free(struct clf__training *training)
{
    for (int i = 0; i < training->piece_count && training->options.shards_moments; i++) {
        clf__buffer_free(training->pieces[i].moments[0].buffer);
        clf__buffer_free(training->pieces[i].moments[1].buffer);
    }
    clf__pool_free(&training->shards);
    for (int i = 0; i < CLF__TICKETS; i++) {
        clf__free(training->gathered[i]);
    }
    clf__free(training->pieces);
}

/* What goes to everybody: values, to the same place, or moments, to that of the gradients. */
struct gathering {
    struct clf__training *training;
    enum clf__training_values from, to;
    int next_piece;
};

static clf_status read_own(struct gathering *gathering, int index, float *stretch)
{
    const struct clf__training *training = gathering->training;
    size_t start = training->lending.stretches[index].place;
    for (; gathering->next_piece < training->piece_count; gathering->next_piece++) {
        const struct clf__piece *piece = &training->pieces[gathering->next_piece];
        const struct clf__trained *trained = &training->trained[piece->trained];
        if (piece->stretch != index) {
            break;
        }
        struct clf__tensor from = gathering->from == CLF__VALUES
                                      ? part_of(trained->arrays[CLF__VALUES], piece->first, piece->count)
                                      : piece->moments[gathering->from - CLF__FIRST_MOMENTS];
        CLF__TRY(clf__tensor_read(from, stretch + (trained->place + piece->first - start)));
    }
    return CLF_OK;
}

static clf_status write_range(const struct gathering *gathering, int index, const float *stretch, size_t from,
                              size_t to)
{
    const struct clf__training *training = gathering->training;
    size_t start = training->lending.stretches[index].place;
    struct clf__piece part;
    for (int i = 0; i < training->trained_count; i++) {
        const struct clf__trained *trained = &training->trained[i];
        if (find_part(&part, training, i, from, to)) {
            CLF__TRY(clf__tensor_write(part_of(trained->arrays[gathering->to], part.first, part.count),
                                       stretch + (trained->place + part.first - start)));
        }
    }
    return CLF_OK;
}

static clf_status write_others(const struct gathering *gathering, int index, const float *stretch)
{
    const struct clf__training *training = gathering->training;
    const struct clf__stretch *its = &training->lending.stretches[index];
    size_t own[2];
    find_own(own, training, its);
    if (gathering->from != gathering->to) {
        own[1] = own[0]; /* its own are elsewhere, too */
    }
    CLF__TRY(write_range(gathering, index, stretch, its->place, own[0]));
    return write_range(gathering, index, stretch, own[1], its->place + its->count);
}

static clf_status gather(struct gathering *gathering)
{
    const struct clf__training *training = gathering->training;
    const struct clf__communicator *ranks = training->ranks;
    const struct clf__lending *lending = &training->lending;
    clf_status status =
        CLF_OK; /* the first failure; after it the rank sends on, for the others wait for it */
    for (int i = 0; i < lending->stretch_count + CLF__TICKETS; i++) {
        int ticket = i % CLF__TICKETS;
        float *stretch = training->gathered[ticket];
        if (i >= CLF__TICKETS && i - CLF__TICKETS < lending->stretch_count) {
            CLF__TRY(ranks->finish(ranks, ticket));
            status = status == CLF_OK ? write_others(gathering, i - CLF__TICKETS, stretch) : status;
        }
        if (i < lending->stretch_count) {
            status = status == CLF_OK ? read_own(gathering, i, stretch) : status;
            CLF__TRY(
                ranks->begin_gather(ranks, ticket, sizeof *stretch, stretch, lending->stretches[i].shares));
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
    for (int i = 0; i < training->piece_count; i++) {
        const struct clf__piece *piece = &training->pieces[i];
        struct clf__tensor gradients = training->trained[piece->trained].arrays[CLF__GRADIENTS];
        struct clf__tensor moments = piece->moments[which - CLF__FIRST_MOMENTS];
        CLF__TRY(clf__buffer_copy(moments.buffer, moments.offset * sizeof(float), gradients.buffer,
                                  (gradients.offset + piece->first) * sizeof(float),
                                  piece->count * sizeof(float)));
    }
    return CLF_OK;
}
