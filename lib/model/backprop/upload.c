#include <assert.h>
#include <string.h>

#include "model/backprop/internal.h"

int64_t clf__training_upload_size(const struct clf__training_limits *limits)
{
    int64_t sources = limits->source_tokens, targets = limits->target_tokens, sequences = limits->sequences;
    int64_t id_groups = 2 * (3 * sources + 1) + 2 * (3 * targets + 1); /* ids and positions of both stacks */
    return 3 * sources + 4 * targets + 12 * sequences + id_groups;
}

/* Moves distinct id number `u` of `count`, with its rows, to the end. */
static void leave_out(int32_t *distinct, int32_t *first, int32_t *order, int count, int u)
{
    int rows = first[u + 1] - first[u];
    memmove(order + first[u], order + first[u + 1], (size_t)(first[count] - first[u + 1]) * sizeof *order);
    for (int i = u + 1; i < count; i++) {
        distinct[i - 1] = distinct[i];
        first[i] = first[i + 1] - rows;
    }
}

/* Groups rows by id, except rows with the id `padding` (-1: none). */
static clf_status take_groups(struct clf__id_groups *out, struct clf__upload *upload, const int32_t *ids,
                              int count, int padding)
{
    int32_t *distinct, *first, *order;
    int distinct_count;
    out->distinct = clf__upload_take(upload, count, &distinct);
    out->first = clf__upload_take(upload, count + 1, &first);
    out->order = clf__upload_take(upload, count, &order);
    CLF__TRY(clf__gather_ids(distinct, first, order, &distinct_count, ids, count));
    for (int u = 0; u < distinct_count; u++) {
        if (distinct[u] == padding) {
            leave_out(distinct, first, order, distinct_count--, u);
            break;
        }
    }
    out->distinct = clf__tensor_columns(out->distinct, 0, distinct_count);
    out->first = clf__tensor_columns(out->first, 0, distinct_count + 1);
    return CLF_OK;
}

/* Groups the rows of a stack by id and, if positions are learned, by position. */
static clf_status take_both_groups(struct clf__pass_side *its, struct clf__upload *upload,
                                   const struct clf__config *config, enum clf__side side,
                                   const struct clf__sequences *sequences)
{
    if (sequences->ids != NULL) {
        CLF__TRY(take_groups(&its->ids, upload, sequences->ids, its->rows, clf__padding_row(config)));
    }
    return clf__config_positions(config, side) == CLF__POSITIONS_LEARNED
               ? take_groups(&its->positions, upload, its->views.host_positions, its->rows, -1)
               : CLF_OK;
}

static void take_cross(struct clf__sequence_ranges *out, struct clf__upload *upload,
                       const struct clf__sequences *sources, const struct clf__sequences *inputs)
{
    int32_t *ranges;
    *out = clf__upload_take_ranges(upload, inputs->count, &ranges);
    for (int b = 0; b < inputs->count; b++) {
        int queries = inputs->first[b + 1] - inputs->first[b];
        int keys = sources->first[b + 1] - sources->first[b];
        memcpy(ranges + 4 * b, (int32_t[4]){inputs->first[b], queries, sources->first[b], keys},
               4 * sizeof *ranges);
        out->max_queries = queries > out->max_queries ? queries : out->max_queries;
        out->max_keys = keys > out->max_keys ? keys : out->max_keys;
    }
    clf__ranges_count(out, ranges, 0);
}

/* Returns the sources with their encoder row counts. */
static struct clf__sequences rows_of(const struct clf__training *training,
                                     const struct clf__sequences *sources)
{
    const struct clf__front_end *front_end = &training->transformer->encoder.embedder.front_end;
    int *first = training->source_first;
    for (int b = 0; b < sources->count; b++) {
        first[b + 1] = first[b] + front_end->kind->rows(sources->first[b + 1] - sources->first[b]);
    }
    return (struct clf__sequences){.count = sources->count, .first = first, .ids = sources->ids};
}

clf_status clf__training_upload(struct clf__training *training, struct clf__pass *pass,
                                const struct clf__training_batch *batch)
{
    const struct clf__config *config = &training->transformer->config;
    const struct clf__sequences *given = &batch->sources, *inputs = &batch->inputs;
    struct clf__upload *upload = &training->upload;
    struct clf__pass_side *encoder = &pass->sides[CLF__ENCODER], *decoder = &pass->sides[CLF__DECODER];
    int tokens = given->first[given->count];
    assert(given->count == inputs->count && inputs->count <= training->limits.sequences);
    assert(tokens <= training->limits.source_tokens);
    struct clf__sequences sources = rows_of(training, given);
    pass->sources = given;
    encoder->rows = sources.first[sources.count];
    decoder->rows = inputs->first[inputs->count];
    assert(encoder->rows <= training->source_rows && decoder->rows <= training->limits.target_tokens);
    upload->count = 0;
    clf__upload_take_sequences(&encoder->views, upload, config, &sources, CLF__ENCODER);
    clf__upload_take_sequences(&decoder->views, upload, config, inputs, CLF__DECODER);
    take_cross(&pass->cross, upload, &sources, inputs);
    int32_t *labels;
    pass->labels = clf__upload_take(upload, decoder->rows, &labels);
    memcpy(labels, batch->labels, (size_t)decoder->rows * sizeof *labels);
    for (int i = 0; i < decoder->rows; i++) {
        if (labels[i] >= config->target_vocabulary) {
            return clf__fail(CLF_BAD_ARGUMENT,
                             "label %d is outside the vocabulary of %d; pass ids of the vocabulary or -1",
                             (int)labels[i], config->target_vocabulary);
        }
        pass->counted += labels[i] >= 0;
    }
    CLF__TRY(take_both_groups(encoder, upload, config, CLF__ENCODER, &sources));
    CLF__TRY(take_both_groups(decoder, upload, config, CLF__DECODER, inputs));
    if (given->frames != NULL) {
        CLF__TRY(clf__tensor_write(clf__tensor_rows(training->frames, 0, tokens), given->frames));
    }
    return clf__upload_send(upload);
}
