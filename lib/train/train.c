/* The training loop: alternates updates, checkpoints and validations. */
#include "train/run.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/options.h"
#include "runtime/cluster/ranks.h"
#include "train/advice.h"
#include "train/checkpoint_files.h"

/* Returns the number of validations since the best one. */
static int64_t count_since_best(const struct clf__run *run)
{
    const struct clf__train_state *state = &run->state;
    const struct clf__validated *best = clf__train_state_best(state, (enum clf__best)run->settings.best);
    return best ? state->count - 1 - (best - state->history) : 0;
}

/* Returns the setting whose limit the run has reached; NULL if it has reached none. */
static const char *find_end(const struct clf__run *run)
{
    const struct clf__settings *settings = &run->settings;
    const struct clf__train_state *state = &run->state;
    if (settings->patience > 0 && count_since_best(run) >= settings->patience) {
        return "patience";
    }
    if (settings->max_updates > 0 && state->update >= settings->max_updates) {
        return "max-updates";
    }
    if (settings->max_epochs > 0 && state->epoch > settings->max_epochs) {
        return "max-epochs";
    }
    return run->is_late ? "minutes" : NULL;
}

static int is_done(const struct clf__run *run)
{
    return find_end(run) != NULL;
}

static void say_end(const struct clf__run *run)
{
    const char *end = find_end(run);
    if (strcmp(end, "patience") == 0) {
        const struct clf__validated *best =
            clf__train_state_best(&run->state, (enum clf__best)run->settings.best);
        clf__log(CLF_LOG_NOTICE,
                 "training stops early: %lld validations without improvement since update %lld",
                 (long long)count_since_best(run), (long long)best->update);
    } else if (strcmp(end, "minutes") == 0) {
        clf__log(CLF_LOG_NOTICE,
                 "training ends after %g minutes, at update %lld; run the same command to resume",
                 run->settings.minutes, (long long)run->state.update);
    } else {
        clf__log(
            CLF_LOG_NOTICE, "training ends: %s %lld reached", end,
            (long long)(strcmp(end, "max-updates") == 0 ? run->state.update : (int64_t)run->state.epoch - 1));
    }
}

static int is_due(int64_t every, int64_t update)
{
    return every > 0 && update % every == 0;
}

/* Returns whether to validate now; also at a checkpoint whose validation was missed because the run was
 * killed. */
static int is_validation_due(const struct clf__run *run)
{
    const struct clf__train_state *state = &run->state;
    int64_t every = run->settings.validate_every;
    int has_turn = every > 0 ? is_due(every, state->update) : state->batch == 0;
    return run->valid && state->update > 0 && (has_turn || is_done(run)) &&
           !clf__train_state_find(state, state->update);
}

/* Update 0 does not count as a checkpoint, because its model can be recreated. */
static const char *last_checkpoint(const struct clf__run *run)
{
    return run->saved_update > 0 ? run->saved : "none";
}

static clf_status interrupted(const struct clf__run *run)
{
    if (run->saved_update == 0) {
        return clf__fail(
            CLF_INTERRUPTED,
            "training was interrupted before its first update; run the same command to start again");
    }
    return clf__fail(CLF_INTERRUPTED,
                     "training was interrupted after update %lld; run the same command to resume from %s, "
                     "which can also be used as a model",
                     (long long)run->state.update, run->saved);
}

/* Fails after too many updates with non-finite gradients in a row; called before the weights are saved. */
static clf_status check_gradients(const struct clf__run *run)
{
    const struct clf__train_state *state = &run->state;
    if (state->skipped_in_a_row < run->settings.bad_updates) {
        return CLF_OK;
    }
    return clf__fail(CLF_UNSUPPORTED,
                     "the gradients of %lld consecutive updates are not finite, the last of them update "
                     "%lld; " CLF__ADVICE_DIVERGED "; the last checkpoint is %s",
                     (long long)state->skipped_in_a_row, (long long)state->update, last_checkpoint(run));
}

/* Saves a checkpoint and validates it. If the validation is interrupted, the resumed run repeats it. */
static clf_status save_and_validate(struct clf__run *run)
{
    int validates = is_validation_due(run);
    double start = clf__seconds();
    if (validates || is_due(run->settings.save_every, run->state.update) || is_done(run)) {
        CLF__TRY(clf__run_save(run));
        CLF__TRY(clf__run_stage(run, &run->times.checkpoint, &start));
    }
    if (!validates) {
        return CLF_OK;
    }
    clf_status status = clf__run_validate(run);
    if (status == CLF_OK) {
        status = clf__run_stage(run, &run->times.validation, &start);
    }
    return status == CLF_INTERRUPTED ? interrupted(run) : status;
}

/* Determines whether any rank was asked to stop, so that all ranks stop. */
static clf_status hear_interruption(int *out, const struct clf__run *run)
{
    int64_t asked = run->hooks.interrupted && run->hooks.interrupted(run->hooks.payload);
    CLF__TRY(run->communicator->sum_integers(run->communicator, &asked, 1));
    *out = asked > 0;
    return CLF_OK;
}

/* Determines whether the time limit has passed, so that all ranks stop after the same update. */
static clf_status look_at_clock(struct clf__run *run)
{
    if (run->settings.minutes > 0) {
        int64_t late = clf__seconds() - run->begun >= 60 * run->settings.minutes;
        CLF__TRY(run->communicator->sum_integers(run->communicator, &late, 1));
        run->is_late = late > 0;
    }
    return CLF_OK;
}

static clf_status train(struct clf__run *run)
{
    CLF__TRY(save_and_validate(run));
    while (!is_done(run)) {
        struct clf_train_update update;
        int is_interrupted;
        CLF__TRY(hear_interruption(&is_interrupted, run));
        if (is_interrupted) {
            double start = clf__seconds();
            CLF__TRY(clf__run_save(run));
            CLF__TRY(clf__run_stage(run, &run->times.checkpoint, &start));
            return interrupted(run);
        }
        clf_status status = clf__run_update(run, &update);
        if (status != CLF_OK) {
            return status == CLF_INTERRUPTED ? interrupted(run) : status; /* interrupted during compilation
                                                                           * of kernels */
        }
        if (run->hooks.updated) {
            run->hooks.updated(&update, run->hooks.payload);
        }
        CLF__TRY(check_gradients(run));
        CLF__TRY(look_at_clock(run));
        CLF__TRY(save_and_validate(run));
    }
    say_end(run);
    double start = clf__seconds();
    CLF__TRY(clf__run_finish(run));
    return clf__run_stage(run, &run->times.checkpoint, &start);
}

/* Rank 0 creates the folder, each rank writes its share of the moments there, and rank 0 renames the
 * folder. */
static clf_status save_shards(struct clf__run *run)
{
    const struct clf__communicator *ranks = run->communicator;
    int is_first = ranks->rank == 0;
    char *making = NULL;
    clf_status status = is_first ? clf__checkpoints_begin(&making, &run->checkpoints, run->state.update)
                                 : clf__checkpoints_making(&making, &run->checkpoints, run->state.update);
    if (status == CLF_OK && is_first) {
        status = clf__checkpoints_fill(making, run->training, &run->state, run->saved);
    }
    status = ranks->agree(ranks, status);
    if (status == CLF_OK) {
        status = clf__checkpoint_files_write_shard(making, run->training, ranks);
        status = ranks->agree(ranks, status);
    }
    if (is_first && making != NULL) {
        return clf__checkpoints_end(making, &run->checkpoints, &run->state, status);
    }
    clf__free(making);
    return status;
}

clf_status clf__run_save(struct clf__run *run)
{
    if (run->saved_update == run->state.update) {
        return CLF_OK;
    }
    const struct clf__communicator *ranks = run->communicator;
    clf_status status = CLF_OK;
    if (clf__training_shards_moments(run->training)) {
        status = save_shards(run);
    } else if (ranks->rank == 0) {
        status = clf__checkpoints_save(&run->checkpoints, run->training, &run->state, run->saved);
    }
    status = ranks->agree(ranks, status);
    if (status == CLF_FILE || status == CLF_UNSUPPORTED) {
        return clf__fail_in(status, "update %lld was not saved (last checkpoint: %s)",
                            (long long)run->state.update, last_checkpoint(run));
    }
    CLF__TRY(status);
    char *path;
    CLF__TRY(clf__checkpoints_path(&path, &run->checkpoints, run->state.update));
    clf__free(run->saved);
    run->saved = path;
    run->saved_update = run->state.update;
    return ranks->rank == 0 ? clf__checkpoints_prune(&run->checkpoints, &run->state, &run->settings) : CLF_OK;
}

void clf_train_hooks_init_sized(struct clf_train_hooks *hooks, size_t size)
{
    const struct clf_train_hooks defaults = {.size = sizeof defaults};
    clf__options_init(hooks, size, &defaults);
}

clf_status clf_train(struct clf_device *device, const struct clf_recipe *recipe, const char *output,
                     const struct clf_train_hooks *hooks)
{
    if (device == NULL || recipe == NULL || output == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "there is no %s to train",
                         device == NULL   ? "device on which"
                         : recipe == NULL ? "recipe by which"
                                          : "folder for the model");
    }
    struct clf__run run = {.device = device, .begun = clf__seconds()};
    clf_train_hooks_init(&run.hooks);
    CLF__TRY(clf__options_take(&run.hooks, sizeof run.hooks, hooks, "clf_train_hooks"));
    run.communicator = clf__ranks_communicator(run.hooks.ranks);
    if (run.communicator->rank > 0) {
        run.hooks.started = NULL;
        run.hooks.updated = NULL;
        run.hooks.validated = NULL;
    }
    clf_status status = clf__run_open(&run, device, recipe, output);
    if (status == CLF_OK) {
        status = train(&run);
    }
    if (status != CLF_OK) {
        status = run.communicator->agree(run.communicator, status); /* reports the failure to the other
                                                                     * ranks */
        status = clf__run_discard(&run, status);
    }
    if (run.hooks.ended) {
        run.hooks.ended(&run.times, run.hooks.payload);
    }
    clf__run_close(&run);
    return status;
}
