/* One update: batches, backward passes, clipping, Adam. */
#include <math.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "train/run.h"
#include "train/schedule.h"

/* The batches of an update on all ranks, and the share of this rank. */
struct plan {
    int count;             /* number of batches; fewer at the end of an epoch */
    int64_t micro_batches; /* number of micro-batches */
    struct clf__tree_leaves own;
};

static struct plan plan_update(const struct clf__run *run)
{
    const struct clf__settings *settings = &run->settings;
    int left = clf__dataset_batches(run->train) - run->state.batch;
    int64_t most = settings->micro_batches * settings->accumulate;
    struct plan plan = {.count = left < most ? left : (int)most};
    plan.micro_batches = (plan.count + settings->accumulate - 1) / settings->accumulate;
    plan.own = clf__tree_share(settings->micro_batches, plan.micro_batches, run->communicator->size,
                               run->communicator->rank);
    return plan;
}

/* Counts the tokens of an update on all ranks: every rank knows the plan of all batches. */
static void count_tokens(const struct clf__run *run, const struct plan *plan, struct clf_train_update *out)
{
    for (int i = 0; i < plan->count; i++) {
        int64_t source_tokens, labels;
        clf__dataset_batch_tokens(run->train, run->state.batch + i, &source_tokens, &labels);
        out->source_tokens += source_tokens;
        out->target_tokens += labels;
    }
}

/* The batches of one update on all ranks, and their losses. */
struct pass {
    struct clf__run *run;
    const struct plan *plan;
    float scale;
    struct clf__batch_loss *losses;
};

/* Runs the last pass of this rank in the update, which overlaps with the all-reduce of its gradients. */
static clf_status run_last(const struct pass *pass, int index, const struct clf__training_batch *batch,
                           struct clf__training_loss *loss)
{
    struct clf__run *run = pass->run;
    int64_t number = index / run->settings.accumulate;
    CLF__TRY(clf__training_backward_begin(run->training, batch, pass->scale,
                                          (uint32_t)(run->state.pass + index),
                                          clf__gradient_sums_borrow(run->sums)));
    CLF__TRY(clf__gradient_sums_finish(run->sums, number, pass->plan->micro_batches));
    return clf__training_backward_end(run->training, loss);
}

static clf_status run_batch(const struct pass *pass, int index, int is_last)
{
    struct clf__run *run = pass->run;
    struct clf__training_batch batch;
    struct clf__training_loss loss;
    double start = clf__seconds();
    CLF__TRY(clf__dataset_batch(run->train, run->state.batch + index, &batch));
    CLF__TRY(clf__run_stage(run, &run->times.data, &start));
    CLF__TRY(is_last ? run_last(pass, index, &batch, &loss)
                     : clf__training_backward(run->training, &batch, pass->scale,
                                              (uint32_t)(run->state.pass + index), &loss));
    CLF__TRY(clf__run_stage(run, &run->times.passes, &start));
    pass->losses[index] = (struct clf__batch_loss){loss.loss, loss.nll};
    return CLF_OK;
}

/* Runs the batches of an update. Losses are summed in the order of the batches, so that the sums do not
 * depend on the ranks. */
static clf_status run_batches(struct clf__run *run, const struct plan *plan, struct clf__batch_loss *losses,
                              struct clf_train_update *out)
{
    int each = (int)run->settings.accumulate;
    struct pass pass = {run, plan, 1, losses};
    if (run->settings.normalize == CLF__NORMALIZE_LABELS) {
        pass.scale = 1 / (float)out->target_tokens;
    }
    for (int64_t i = 0; i < plan->own.count; i++) {
        int first = (int)(plan->own.first + i) * each, is_last = i + 1 == plan->own.count;
        int count = plan->count - first < each ? plan->count - first : each;
        for (int k = first; k < first + count; k++) {
            CLF__TRY(run_batch(&pass, k, is_last && k + 1 == first + count));
        }
        CLF__TRY(is_last ? CLF_OK : clf__gradient_sums_take(run->sums, plan->own.first + i));
    }
    if (plan->own.count == 0) {
        CLF__TRY(clf__gradient_sums_finish(run->sums, -1, plan->micro_batches));
        CLF__TRY(clf__training_complete_sums(run->training));
    }
    struct clf__batch_loss sum;
    CLF__TRY(clf__run_sum_losses(&sum, run, losses, plan->count));
    out->loss = sum.loss / (double)out->target_tokens - run->entropy;
    out->nll = sum.nll / (double)out->target_tokens;
    run->state.batch += plan->count;
    run->state.pass += plan->count;
    return CLF_OK;
}

clf_status clf__run_sum_losses(struct clf__batch_loss *out, const struct clf__run *run,
                               struct clf__batch_loss *losses, int count)
{
    const struct clf__communicator *ranks = run->communicator;
    size_t numbers = (size_t)count * (sizeof *losses / sizeof(double));
    CLF__TRY(ranks->sum_doubles(ranks, (double *)losses, numbers));
    *out = (struct clf__batch_loss){0};
    for (int i = 0; i < count; i++) {
        out->loss += losses[i].loss;
        out->nll += losses[i].nll;
    }
    return CLF_OK;
}

static clf_status skip(struct clf__run *run)
{
    struct clf__train_state *state = &run->state;
    state->skipped++;
    state->skipped_in_a_row++;
    CLF__TRY(clf__training_clear(run->training));
    clf__log(CLF_LOG_WARNING, "update %lld is skipped, because its gradients are not finite",
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

/* Starts the next epoch after the last batch. */
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
    double start = clf__seconds(), waited = *run->communicator->waited;
    run->state.update++;
    *out = (struct clf_train_update){
        .size = sizeof *out, .update = run->state.update, .epoch = run->state.epoch};
    out->learning_rate =
        clf__schedule_rate(&run->settings, run->transformer->config.d_model, run->state.update);
    struct plan plan = plan_update(run);
    struct clf__batch_loss *losses = NULL;
    count_tokens(run, &plan, out);
    CLF__TRY(clf__allocate(&losses, (size_t)plan.count, sizeof *losses));
    clf_status status = run_batches(run, &plan, losses, out);
    clf__free(losses);
    CLF__TRY(status);
    double stage = clf__seconds();
    CLF__TRY(clf__training_gradient_norm(run->training, &out->gradient_norm));
    int is_finite = isfinite(out->gradient_norm) && isfinite(out->loss);
    CLF__TRY(is_finite ? step(run, out->learning_rate, out->gradient_norm) : skip(run));
    CLF__TRY(clf__run_stage(run, &run->times.update, &stage));
    out->skipped = run->state.skipped;
    out->seconds = clf__seconds() - start;
    out->waited = *run->communicator->waited - waited;
    CLF__TRY(turn_epoch(run));
    out->expected_updates = clf__run_expected_updates(run);
    return clf__run_stage(run, &run->times.data, &stage);
}
