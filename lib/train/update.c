/* One update: batches, backward passes, clipping, Adam. */
#include <math.h>

#include "base/clock.h"
#include "base/log.h"
#include "train/run.h"
#include "train/schedule.h"

/* How many batches of the epoch are left for this update. */
static int count_batches(const struct clf__run *run)
{
    int left = clf__dataset_batches(run->train) - run->state.batch;
    return left < run->settings.accumulate ? left : (int)run->settings.accumulate;
}

/* Of all ranks together. */
static clf_status count_tokens(const struct clf__run *run, int batches, struct clf_train_update *out)
{
    int64_t sums[2] = {0};
    for (int i = 0; i < batches; i++) {
        int64_t source_tokens, labels;
        clf__dataset_batch_tokens(run->train, run->state.batch + i, &source_tokens, &labels);
        sums[0] += source_tokens;
        sums[1] += labels;
    }
    CLF__TRY(run->communicator->sum_integers(run->communicator, sums, 2));
    out->source_tokens = sums[0];
    out->target_tokens = sums[1];
    return CLF_OK;
}

static clf_status run_batches(struct clf__run *run, struct clf_train_update *out)
{
    int batches = count_batches(run);
    double sums[2] = {0}; /* of loss and nll */
    CLF__TRY(count_tokens(run, batches, out));
    double labels = (double)out->target_tokens;
    float scale = run->settings.normalize == CLF__NORMALIZE_LABELS ? 1 / (float)out->target_tokens : 1;
    for (int i = 0; i < batches; i++) {
        struct clf__training_batch batch;
        struct clf__training_loss loss;
        double start = clf__seconds();
        CLF__TRY(clf__dataset_batch(run->train, run->state.batch, &batch));
        CLF__TRY(clf__run_stage(run, &run->times.data, &start));
        CLF__TRY(clf__training_backward(run->training, &batch, scale, (uint32_t)run->state.pass, &loss));
        CLF__TRY(clf__run_stage(run, &run->times.passes, &start));
        sums[0] += loss.loss;
        sums[1] += loss.nll;
        run->state.batch++;
        run->state.pass++;
    }
    CLF__TRY(run->communicator->sum_doubles(run->communicator, sums, 2));
    out->loss = sums[0] / labels - run->entropy;
    out->nll = sums[1] / labels;
    return CLF_OK;
}

static clf_status skip(struct clf__run *run)
{
    struct clf__train_state *state = &run->state;
    state->skipped++;
    state->skipped_in_a_row++;
    CLF__TRY(clf__training_clear(run->training));
    clf__log(CLF_LOG_WARNING, "update %lld is skipped: its gradients are not finite",
             (long long)state->update);
    return CLF_OK;
}

static clf_status step(struct clf__run *run, double rate, double norm)
{
    const struct clf__settings *settings = &run->settings;
    double steps = (double)(run->state.update - run->state.skipped);
    int is_clipped = settings->clip_norm > 0 && norm > settings->clip_norm;
    struct clf__adam adam = {
        .rate = rate,
        .beta1 = settings->beta1,
        .beta2 = settings->beta2,
        .epsilon = settings->epsilon,
        .correction1 = 1 - pow(settings->beta1, steps),
        .correction2 = 1 - pow(settings->beta2, steps),
        .decay = settings->optimizer == CLF__ADAMW ? settings->decay : 0,
        .coupled_decay = settings->optimizer == CLF__ADAM ? settings->decay : 0,
        .gradient_scale = is_clipped ? settings->clip_norm / norm : 1,
    };
    run->state.skipped_in_a_row = 0;
    return clf__training_update(run->training, &adam);
}

/* After the last batch comes the next epoch. */
static clf_status turn_epoch(struct clf__run *run)
{
    if (run->state.batch < clf__dataset_batches(run->train)) {
        return CLF_OK;
    }
    run->state.epoch++;
    run->state.batch = 0;
    return clf__dataset_plan(run->train, &run->batching, (uint64_t)run->settings.seed, run->state.epoch);
}

clf_status clf__run_update(struct clf__run *run, struct clf_train_update *out)
{
    double start = clf__seconds();
    run->state.update++;
    *out = (struct clf_train_update){.update = run->state.update, .epoch = run->state.epoch};
    out->learning_rate =
        clf__schedule_rate(&run->settings, run->transformer->config.d_model, run->state.update);
    CLF__TRY(run_batches(run, out));
    double stage = clf__seconds();
    CLF__TRY(clf__training_sum_gradients(run->training, run->communicator));
    CLF__TRY(clf__training_gradient_norm(run->training, &out->gradient_norm));
    CLF__TRY(isfinite(out->gradient_norm) ? step(run, out->learning_rate, out->gradient_norm) : skip(run));
    CLF__TRY(clf__run_stage(run, &run->times.update, &stage));
    out->skipped = run->state.skipped;
    out->seconds = clf__seconds() - start;
    CLF__TRY(turn_epoch(run));
    out->expected_updates = clf__run_expected_updates(run);
    return clf__run_stage(run, &run->times.data, &stage);
}
