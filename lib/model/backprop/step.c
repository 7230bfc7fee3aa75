/* One pass over a batch, the gradient norm and the update. */
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "model/backprop/internal.h"
#include "runtime/device/lock.h"

static clf_status zero(struct clf__tensor vector)
{
    return clf__buffer_fill(vector.buffer, vector.offset * sizeof(float),
                            (size_t)vector.columns * sizeof(float), 0.0f);
}

/* Completes the gradients that the layers' backward passes leave incomplete. */
static clf_status finish_gradients(struct clf__training *training)
{
    const struct clf__config *config = &training->transformer->config;
    for (int i = 0; i < training->untrained_count; i++) {
        CLF__TRY(zero(training->untrained[i]));
    }
    if (training->options.keeps_padding && config->pad_id < config->target_vocabulary) {
        CLF__TRY(clf__weight_write(training->gradients.decoder.projection.weight, config->pad_id, 1,
                                   training->zeros));
    }
    CLF__TRY(clf__embedder_relative_backward(&training->gradients.encoder.embedder, config, CLF__ENCODER));
    return clf__embedder_relative_backward(&training->gradients.decoder.embedder, config, CLF__DECODER);
}

static clf_status run(struct clf__training *training, const struct clf__training_batch *batch)
{
    struct clf__pass *pass = &training->pass;
    CLF__TRY(clf__training_upload(training, pass, batch));
    CLF__TRY(clf__training_stacks_forward(training, pass));
    CLF__TRY(clf__training_project(training, pass));
    return pass->is_training ? clf__training_stacks_backward(training, pass) : CLF_OK;
}

/* With relative biases, the host completes their gradients before it maps gradients. Without them, the
 * gradients of untrained parts are cleared after the reduction, without waiting for the device. */
clf_status clf__training_backward_begin(struct clf__training *training,
                                        const struct clf__training_batch *batch, float gradient_scale,
                                        uint32_t pass, int maps_gradients)
{
    CLF__LOCK_DEVICE(training->transformer->device);
    struct clf__gradient_buckets *buckets = &training->buckets;
    training->pass = (struct clf__pass){.is_training = 1, .number = pass, .gradient_scale = gradient_scale};
    buckets->is_on = maps_gradients;
    buckets->begun = 0;
    CLF__TRY(run(training, batch));
    if (clf__training_has_relative(training)) {
        CLF__TRY(finish_gradients(training));
    }
    return clf__buckets_map_until(training, INT_MAX);
}

clf_status clf__training_complete_sums(struct clf__training *training)
{
    CLF__LOCK_DEVICE(training->transformer->device);
    return clf__training_has_relative(training) ? CLF_OK : finish_gradients(training);
}

clf_status clf__training_backward_end(struct clf__training *training, struct clf__training_loss *loss)
{
    CLF__LOCK_DEVICE(training->transformer->device);
    CLF__TRY(clf__training_read_losses(training, &training->pass, loss));
    return clf__training_complete_sums(training);
}

clf_status clf__training_backward(struct clf__training *training, const struct clf__training_batch *batch,
                                  float gradient_scale, uint32_t pass, struct clf__training_loss *loss)
{
    CLF__LOCK_DEVICE(training->transformer->device);
    CLF__TRY(clf__training_backward_begin(training, batch, gradient_scale, pass, 0));
    return clf__training_backward_end(training, loss);
}

clf_status clf__training_evaluate(struct clf__training *training, const struct clf__training_batch *batch,
                                  struct clf__training_loss *loss)
{
    CLF__LOCK_DEVICE(training->transformer->device);
    training->pass = (struct clf__pass){.is_training = 0};
    CLF__TRY(run(training, batch));
    return clf__training_read_losses(training, &training->pass, loss);
}

/* Computes the partial sums of squares of this rank's share. Each sum is stored at its index among the sums
 * of all arrays; the sums of other ranks are zero. */
static clf_status sum_squares(struct clf__training *training, int count)
{
    if (training->options.shards_moments) {
        CLF__TRY(clf__buffer_fill(training->parts.buffer, 0, (size_t)count * sizeof(float), 0.0f));
    }
    for (int i = 0; i < training->share_part_count; i++) {
        const struct clf__share_part *part = &training->share_parts[i];
        const struct clf__trained *trained = &training->trained[part->trained];
        int first = trained->first_part + (int)(part->first / CLF__ADAM_BLOCK);
        CLF__TRY(clf__sum_squares(
            clf__tensor_columns(training->parts, first, clf__sum_squares_parts(part->count)),
            clf__tensor_columns(trained->arrays[CLF__GRADIENTS], (int)part->first, (int)part->count)));
    }
    return clf__tensor_read(clf__tensor_columns(training->parts, 0, count), training->host);
}

/* Exchanges the partial sums by adding them over the ranks: each sum is computed by one rank and is zero on
 * the others. */
static clf_status share_squares(struct clf__training *training, int count, clf_status status)
{
    const struct clf__communicator *ranks = training->ranks;
    CLF__TRY(ranks->agree(ranks, status));
    CLF__TRY(ranks->begin_sum(ranks, 0, training->host, (size_t)count));
    return ranks->finish(ranks, 0);
}

clf_status clf__training_gradient_norm(struct clf__training *training, double *norm)
{
    CLF__LOCK_DEVICE(training->transformer->device);
    const struct clf__trained *last = &training->trained[training->trained_count - 1];
    int count = last->first_part + last->parts;
    clf_status status = sum_squares(training, count);
    CLF__TRY(training->options.shards_moments ? share_squares(training, count, status) : status);
    double sum = 0.0;
    for (int i = 0; i < count; i++) {
        sum += training->host[i];
    }
    *norm = sqrt(sum);
    return CLF_OK;
}

/* Recomputes the tables of the relative biases from the parameters. */
static clf_status renew_relative(struct clf__training *training)
{
    const struct clf__config *config = &training->transformer->config;
    CLF__TRY(clf__embedder_renew_relative(&training->transformer->encoder.embedder, config, CLF__ENCODER));
    return clf__embedder_renew_relative(&training->transformer->decoder.embedder, config, CLF__DECODER);
}

/* Clears the gradients of relative biases by distance. The biases by distance are not parameters, so Adam
 * does not clear these gradients.
 */
static clf_status clear_relative(struct clf__training *training)
{
    struct clf__tensor tables[] = {training->gradients.encoder.embedder.relative.table,
                                   training->gradients.decoder.embedder.relative.table};
    for (int i = 0; i < 2; i++) {
        size_t count = (size_t)tables[i].rows * (size_t)tables[i].columns;
        if (count > 0) {
            CLF__TRY(clf__buffer_fill(tables[i].buffer, 0, count * sizeof(float), 0.0f));
        }
    }
    return CLF_OK;
}

static clf_status take_steps(struct clf__training *training, const struct clf__adam *adam)
{
    for (int i = 0; i < training->share_part_count; i++) {
        const struct clf__share_part *part = &training->share_parts[i];
        const struct clf__trained *trained = &training->trained[part->trained];
        int first = (int)part->first, count = (int)part->count;
        struct clf__adam its = *adam;
        if (!trained->decays) {
            its.decay = its.coupled_decay = 0.0f;
        }
        CLF__TRY(clf__adam_update(clf__tensor_columns(trained->arrays[CLF__VALUES], first, count),
                                  part->moments[0], part->moments[1],
                                  clf__tensor_columns(trained->arrays[CLF__GRADIENTS], first, count), &its));
        if (trained->weight != NULL && !training->options.shards_moments) {
            CLF__TRY(clf__weight_changed(trained->weight));
        }
    }
    return CLF_OK;
}

clf_status clf__training_update(struct clf__training *training, const struct clf__adam *adam)
{
    CLF__LOCK_DEVICE(training->transformer->device);
    clf_status status = take_steps(training, adam);
    if (training->options.shards_moments) {
        CLF__TRY(training->ranks->agree(training->ranks, status));
        CLF__TRY(clf__shards_exchange_values(training));
        status = clf__training_clear(training); /* clears the gradients in other ranks' shares */
    }
    CLF__TRY(status);
    CLF__TRY(clear_relative(training));
    return renew_relative(training);
}

clf_status clf__training_clear(struct clf__training *training)
{
    CLF__LOCK_DEVICE(training->transformer->device);
    return clf__pool_clear(&training->gradients.pool);
}

const struct clf__parameter_list *clf__training_parameters(const struct clf__training *training)
{
    return &training->list;
}

/* Returns the array of a parameter that is stored in a vector. */
static struct clf__tensor vector_at(const struct clf__training *training, enum clf__training_values which,
                                    int index)
{
    const struct clf__parameter_place *place = &training->places[index];
    const struct clf__parameter *item = &training->list.items[index];
    return clf__tensor_columns(place->vectors[which], place->first, item->rows * item->columns);
}

clf_status clf__training_read(const struct clf__training *training, enum clf__training_values which,
                              int index, float *target)
{
    CLF__LOCK_DEVICE(training->transformer->device);
    assert(index >= 0 && index < training->list.count && (int)which < clf__training_kinds(training));
    const struct clf__parameter_place *place = &training->places[index];
    const struct clf__parameter *item = &training->list.items[index];
    if (place->weights[which] != NULL) {
        return clf__weight_read(place->weights[which], place->first, item->rows, target);
    }
    if (place->vectors[which].buffer == NULL) {
        memset(target, 0, (size_t)item->rows * (size_t)item->columns * sizeof *target);
        return CLF_OK;
    }
    return clf__tensor_read(vector_at(training, which, index), target);
}

clf_status clf__training_write(struct clf__training *training, enum clf__training_values which, int index,
                               const float *source)
{
    CLF__LOCK_DEVICE(training->transformer->device);
    assert(index >= 0 && index < training->list.count && (int)which < clf__training_kinds(training));
    const struct clf__parameter_place *place = &training->places[index];
    const struct clf__parameter *item = &training->list.items[index];
    if (place->weights[which] != NULL) {
        return clf__weight_write(place->weights[which], place->first, item->rows, source);
    }
    if (place->vectors[which].buffer != NULL) {
        CLF__TRY(clf__tensor_write(vector_at(training, which, index), source));
    }
    return which == CLF__VALUES ? renew_relative(training) : CLF_OK;
}
