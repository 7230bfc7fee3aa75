#include "model/embedder.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "math/ops/positions.h"
#include "model/relative.h"

struct clf__position_rows clf__position_rows(const struct clf__config *config, enum clf__side side)
{
    if (clf__config_positions(config, side) != CLF__POSITIONS_SINUSOID) {
        return (struct clf__position_rows){.first = config->position_offset, .pad = config->pad_id};
    }
    int rows = clf__config_max_positions(config, side) + config->position_offset;
    int is_inside = config->pad_id >= 0 && config->pad_id < rows;
    int has_pad = config->position_padding_aware && is_inside;
    return (struct clf__position_rows){.first = has_pad, .pad = has_pad ? 0 : -1};
}

/* Writes in blocks, so that the host needs no copy of the whole table. */
static clf_status write_sinusoids(struct clf__tensor table, const struct clf__config *config,
                                  enum clf__side side)
{
    enum { BLOCK = 1 << 18 }; /* floats per block */
    size_t width = (size_t)table.columns;
    struct clf__position_rows places = clf__position_rows(config, side);
    int at_once = BLOCK / table.columns + 1;
    float *rows;
    at_once = at_once < table.rows ? at_once : table.rows;
    CLF__TRY(clf__allocate(&rows, (size_t)at_once * width, sizeof *rows));
    clf_status status = CLF_OK;
    for (int first = 0; first < table.rows && status == CLF_OK; first += at_once) {
        int left = table.rows - first, count = left < at_once ? left : at_once;
        clf__sinusoid_table(rows, first + config->position_offset - places.first, count, table.columns,
                            config->sinusoid_layout, config->sinusoid_frequency);
        if (first == 0 && places.pad == 0) { /* as in fairseq, a pad token has no position */
            memset(rows, 0, width * sizeof *rows);
        }
        status = clf__buffer_write(table.buffer, (size_t)first * width * sizeof *rows,
                                   (size_t)count * width * sizeof *rows, rows);
    }
    clf__free(rows);
    return status;
}

static clf_status reach_positions(struct clf__embedder *embedder, struct clf_device *device,
                                  const struct clf__config *config, enum clf__side side, int length)
{
    int most = clf__config_max_positions(config, side), tokens = length < most ? length : most;
    int rows = tokens + clf__position_rows(config, side).first, width = config->d_model;
    if (clf__config_positions(config, side) != CLF__POSITIONS_SINUSOID || rows <= embedder->positions.rows) {
        return CLF_OK;
    }
    struct clf__tensor table = clf__tensor_floats(NULL, rows, width);
    CLF__TRY(clf__buffer_create(&table.buffer, device, (size_t)rows * (size_t)width * sizeof(float),
                                "the table of positions"));
    clf_status status = write_sinusoids(table, config, side);
    if (status != CLF_OK) {
        clf__buffer_free(table.buffer);
        return status;
    }
    clf__buffer_free(embedder->positions.buffer);
    embedder->positions = table;
    return CLF_OK;
}

/* Allocates host memory for the biases by bucket and the biases by distance. */
static clf_status allocate_relative(float **values, struct clf__tensor by_bucket, struct clf__tensor table)
{
    size_t buckets = (size_t)by_bucket.rows * (size_t)by_bucket.columns;
    return clf__allocate(values, buckets + (size_t)table.rows * (size_t)table.columns, sizeof **values);
}

/* The two tables of a relative bias: sizes and host memory. */
struct relative_tables {
    struct clf__relative sizes;
    float *by_bucket, *by_distance;
};

static struct relative_tables tables_of(const struct clf__relative_bias *relative,
                                        const struct clf__config *config, enum clf__side side)
{
    return (struct relative_tables){
        .sizes = {.heads = relative->table.rows,
                  .buckets = config->relative_buckets,
                  .max_distance = config->relative_distance,
                  .bidirectional = side == CLF__ENCODER,
                  .reach = (relative->table.columns - 1) / 2},
        .by_bucket = relative->values,
        .by_distance =
            relative->values + (size_t)relative->by_bucket.rows * (size_t)relative->by_bucket.columns,
    };
}

static clf_status renew(const struct clf__relative_bias *relative, const struct clf__config *config,
                        enum clf__side side)
{
    if (relative->table.buffer == NULL) {
        return CLF_OK;
    }
    struct relative_tables tables = tables_of(relative, config, side);
    CLF__TRY(clf__tensor_read(relative->by_bucket, tables.by_bucket));
    clf__relative_table(tables.by_distance, tables.by_bucket, &tables.sizes);
    return clf__tensor_write(relative->table, tables.by_distance);
}

clf_status clf__relative_bias_ensure_positions(struct clf__relative_bias *relative, struct clf_device *device,
                                               const struct clf__config *config, enum clf__side side,
                                               int length)
{
    int reach = length < config->relative_distance ? length : config->relative_distance;
    int heads = relative->by_bucket.columns, width = 2 * reach + 1;
    if (relative->by_bucket.buffer == NULL || width <= relative->table.columns) {
        return CLF_OK;
    }
    struct clf__relative_bias other = *relative;
    other.table = clf__tensor_floats(NULL, heads, width);
    other.values = NULL;
    CLF__TRY(clf__buffer_create(&other.table.buffer, device, (size_t)heads * (size_t)width * sizeof(float),
                                "the table of relative biases"));
    clf_status status = allocate_relative(&other.values, other.by_bucket, other.table);
    if (status == CLF_OK) {
        status = renew(&other, config, side);
    }
    struct clf__relative_bias *spare = status == CLF_OK ? relative : &other;
    clf__relative_bias_free_table(spare);
    if (status == CLF_OK) {
        *relative = other;
    }
    return status;
}

void clf__relative_bias_free_table(struct clf__relative_bias *relative)
{
    clf__buffer_free(relative->table.buffer);
    clf__free(relative->values);
    relative->table.buffer = NULL;
    relative->values = NULL;
}

clf_status clf__embedder_ensure_positions(struct clf__embedder *embedder, struct clf_device *device,
                                          const struct clf__config *config, enum clf__side side, int length)
{
    CLF__TRY(reach_positions(embedder, device, config, side, length));
    CLF__TRY(clf__relative_bias_ensure_positions(&embedder->global_relative, device, config, side, length));
    return clf__relative_bias_ensure_positions(&embedder->relative, device, config, side, length);
}

clf_status clf__embedder_reserve_zero_relative(struct clf__embedder *out, struct clf__pool *pool,
                                               const struct clf__embedder *like)
{
    struct clf__relative_bias *relative = &out->relative;
    relative->table = like->relative.table;
    relative->table.buffer = NULL;
    CLF__TRY(clf__pool_reserve(&relative->table.buffer, pool, clf__buffer_bytes(like->relative.table.buffer),
                               "the gradients of relative biases"));
    return allocate_relative(&relative->values, relative->by_bucket, relative->table);
}

void clf__embedder_free_tables(struct clf__embedder *embedder)
{
    clf__buffer_free(embedder->positions.buffer); /* only a table of sinusoids is owned */
    embedder->positions.buffer = NULL;
    clf__relative_bias_free_table(&embedder->relative);
    clf__relative_bias_free_table(&embedder->global_relative);
}

clf_status clf__embedder_forward(struct clf__tensor y, const struct clf__embedder *embedder,
                                 const struct clf__front_end_input *input, struct clf__tensor positions)
{
    const struct clf__front_end *front_end = &embedder->front_end;
    struct clf__tensor table = embedder->norms_tokens ? CLF__NO_TENSOR : embedder->positions;
    CLF__TRY(front_end->kind->forward(y, front_end, input, table, positions));
    if (embedder->norm.gamma.buffer != NULL) {
        CLF__TRY(clf__norm_forward(y, y, &embedder->norm));
    }
    return embedder->norms_tokens ? clf__positions_forward(y, y, embedder->positions, positions) : CLF_OK;
}

/* Applies dropout in place. The backward pass is the same operation. */
static clf_status drop(struct clf__tensor y, const struct clf__dropout *dropout)
{
    return dropout->rate > 0.0f ? clf__dropout_forward(y, y, CLF__NO_TENSOR, dropout) : CLF_OK;
}

clf_status clf__embedder_record(struct clf__tensor y, const struct clf__embedder *embedder,
                                const struct clf__embedder_training *training)
{
    int has_norm = embedder->norm.gamma.buffer != NULL;
    assert(!embedder->norms_tokens);
    struct clf__tensor sums = has_norm ? training->sums : y;
    CLF__TRY(embedder->front_end.kind->forward(sums, &embedder->front_end, &training->input,
                                               embedder->positions, training->positions));
    if (has_norm && training->drops_before_norm) {
        CLF__TRY(drop(sums, &training->dropout));
    }
    if (has_norm) {
        CLF__TRY(clf__norm_forward(y, sums, &embedder->norm));
    }
    return has_norm && training->drops_before_norm ? CLF_OK : drop(y, &training->dropout);
}

clf_status clf__embedder_backward(const struct clf__embedder *gradient, struct clf__tensor dy,
                                  const struct clf__embedder *embedder,
                                  const struct clf__embedder_training *training, struct clf__tensor scratch)
{
    int has_norm = embedder->norm.gamma.buffer != NULL;
    if (!has_norm || !training->drops_before_norm) {
        CLF__TRY(drop(dy, &training->dropout));
    }
    if (has_norm) {
        CLF__TRY(clf__norm_backward(dy, &gradient->norm, dy, training->sums, &embedder->norm, scratch));
    }
    if (has_norm && training->drops_before_norm) {
        CLF__TRY(drop(dy, &training->dropout));
    }
    if (gradient->positions.buffer != NULL) {
        CLF__TRY(clf__positions_backward(gradient->positions, dy, &training->position_groups));
    }
    return embedder->front_end.kind->backward(&gradient->front_end, dy, &embedder->front_end,
                                              &training->input, scratch);
}

clf_status clf__embedder_renew_relative(const struct clf__embedder *embedder,
                                        const struct clf__config *config, enum clf__side side)
{
    return renew(&embedder->relative, config, side);
}

clf_status clf__embedder_relative_backward(const struct clf__embedder *gradient,
                                           const struct clf__config *config, enum clf__side side)
{
    const struct clf__relative_bias *relative = &gradient->relative;
    if (relative->table.buffer == NULL) {
        return CLF_OK;
    }
    struct relative_tables tables = tables_of(relative, config, side);
    CLF__TRY(clf__tensor_read(relative->table, tables.by_distance));
    clf__relative_table_backward(tables.by_bucket, tables.by_distance, &tables.sizes);
    return clf__tensor_write(relative->by_bucket, tables.by_bucket);
}
