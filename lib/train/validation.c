#include <limits.h>
#include <math.h>

#include "base/memory.h"
#include "model/config/architectures/architecture.h"
#include "train/advice.h"
#include "train/translation.h"

/* Computes the losses of batches, which are assigned to the ranks in turn. */
static clf_status evaluate_batches(struct clf__batch_loss *losses, const struct clf__run *run, int count)
{
    const struct clf__communicator *ranks = run->communicator;
    for (int i = ranks->rank; i < count; i += ranks->size) {
        struct clf__training_batch batch;
        struct clf__training_loss loss;
        CLF__TRY(clf__dataset_batch(run->valid, i, &batch));
        CLF__TRY(clf__training_evaluate(run->training, &batch, &loss));
        losses[i] = (struct clf__batch_loss){loss.loss, loss.nll};
    }
    return CLF_OK;
}

/* Computes the loss of the whole validation text, without dropout. */
static clf_status evaluate(struct clf__run *run, struct clf__validated *out)
{
    struct clf__batch_loss *losses = NULL, sum;
    int64_t labels = 0, source_tokens, its_labels;
    CLF__TRY(clf__dataset_plan(run->valid, &run->batching, 0, -1));
    int count = clf__dataset_batches(run->valid);
    for (int i = 0; i < count; i++) {
        clf__dataset_batch_tokens(run->valid, i, &source_tokens, &its_labels);
        labels += its_labels;
    }
    CLF__TRY(clf__allocate(&losses, (size_t)count, sizeof *losses));
    clf_status status = evaluate_batches(losses, run, count);
    if (status == CLF_OK) {
        status = clf__run_sum_losses(&sum, run, losses, count);
    }
    clf__free(losses);
    CLF__TRY(status);
    out->loss = sum.loss / (double)labels - run->entropy;
    out->nll = sum.nll / (double)labels;
    if (clf__architecture_of((enum clf__architecture_id)run->settings.preset)->validates_unsmoothed) {
        out->loss = out->nll;
    }
    return CLF_OK;
}

/* Returns the epoch of a validation: at the end of an epoch, the state is already at the start of the next
 * one. */
static int epoch_of(const struct clf__train_state *state)
{
    return state->batch == 0 ? state->epoch - 1 : state->epoch;
}

/* Returns the measure by which the last validation is the best; NULL if it is not the best. */
static const char *better_by(const struct clf__train_state *state, enum clf__best by)
{
    struct clf__train_state before = *state;
    const struct clf__validated *last = &state->history[--before.count];
    const struct clf__validated *best = clf__train_state_best(&before, by);
    if (!best || !clf__validated_is_better(last, best, by)) {
        return NULL;
    }
    return clf__validated_is_by_bleu(last, best, by) ? "BLEU" : "loss";
}

static void tell(const struct clf__run *run, const struct clf__validated *validated,
                 const struct clf__translated *translated)
{
    if (!run->hooks.validated) {
        return;
    }
    const struct clf__train_state *state = &run->state;
    enum clf__best by = (enum clf__best)run->settings.best;
    struct clf_train_validation validation = {
        .size = sizeof validation,
        .update = validated->update,
        .epoch = validated->epoch,
        .loss = validated->loss,
        .nll = validated->nll,
        .perplexity = exp(validated->nll),
        .bleu = validated->bleu,
        .is_best = clf__train_state_best(state, by) == &state->history[state->count - 1],
        .better_by = better_by(state, by),
        .samples = translated->lines,
        .sample_count =
            translated->count < run->settings.samples ? translated->count : (int)run->settings.samples,
        .checkpoint = run->saved,
    };
    run->hooks.validated(&validation, run->hooks.payload);
}

/* Reports a validation before recording it, so that a run killed in between reports it twice rather than
 * never. */
static clf_status note(struct clf__run *run, const struct clf__validated *validated,
                       const struct clf__translated *translated)
{
    CLF__TRY(clf__train_state_add(&run->state, validated));
    if (run->communicator->rank > 0) {
        return CLF_OK;
    }
    tell(run, validated, translated);
    CLF__TRY(clf__checkpoints_note(&run->checkpoints, &run->state));
    return clf__checkpoints_prune(&run->checkpoints, &run->state, &run->settings);
}

/* Rank 0 translates, and broadcasts BLEU to every rank. */
static clf_status translate(struct clf__run *run, struct clf__validated *validated,
                            struct clf__translated *translated)
{
    const struct clf__communicator *ranks = run->communicator;
    int has_bleu = run->settings.bleu != CLF__BLEU_NONE;
    clf_status status = CLF_OK;
    if (ranks->rank == 0) {
        status = clf__translated_make(translated, run, has_bleu ? INT_MAX : (int)run->settings.samples);
    }
    if (ranks->rank == 0 && status == CLF_OK && has_bleu) {
        status = clf__translated_bleu(&validated->bleu, translated, &run->settings);
    }
    CLF__TRY(ranks->agree(ranks, status));
    return ranks->broadcast(ranks, &validated->bleu, sizeof validated->bleu);
}

clf_status clf__run_validate(struct clf__run *run)
{
    struct clf__validated validated = {
        .update = run->state.update,
        .epoch = epoch_of(&run->state),
        .bleu = -1,
        .is_cut = run->settings.validate_every == 0 && run->state.batch > 0,
    };
    struct clf__translated translated = {0};
    CLF__TRY(evaluate(run, &validated));
    if (!isfinite(validated.loss) || !isfinite(validated.nll)) {
        return clf__fail(CLF_UNSUPPORTED,
                         "the validation loss at update %lld is not finite; " CLF__ADVICE_DIVERGED,
                         (long long)run->state.update);
    }
    clf_status status = translate(run, &validated, &translated);
    if (status == CLF_OK) {
        status = note(run, &validated, &translated);
    }
    clf__translated_free(&translated);
    return status;
}
