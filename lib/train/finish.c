/* The final model: the mean of the last validated checkpoints, the best one, or the last. */
#include <inttypes.h>

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "model/save.h"
#include "train/checkpoint_files.h"
#include "train/run.h"

/* Copies the model, config.json last: a folder without config.json is not a model. */
static clf_status publish(const char *output, const char *model)
{
    char *from = NULL, *to = NULL;
    CLF__TRY(clf__path_join(&from, model, "model.safetensors"));
    clf_status status = clf__path_join(&to, output, "model.safetensors");
    if (status == CLF_OK) {
        status = clf__file_copy(to, from);
    }
    clf__free(to);
    clf__free(from);
    return status == CLF_OK ? clf__checkpoint_files_copy(output, model, clf__file_copy) : status;
}

/* Lists the paths of the last validated checkpoints, newest first, without validations in mid-epoch. */
static clf_status list_validated(struct clf__names *paths, const struct clf__run *run, int64_t most)
{
    clf_status status = CLF_OK;
    for (int i = run->state.count - 1; i >= 0 && paths->count < most && status == CLF_OK; i--) {
        char *path;
        CLF__TRY(clf__checkpoints_path(&path, &run->checkpoints, run->state.history[i].update));
        if (clf__folder_exists(path) && !run->state.history[i].is_cut) {
            status = clf__names_add(paths, path);
        }
        clf__free(path);
    }
    return status;
}

/* Averages the checkpoints into a temporary folder, publishes the result and removes the folder. */
static clf_status publish_mean(const struct clf__run *run, const struct clf__names *folders)
{
    char *mean = NULL;
    CLF__TRY(clf__format(&mean, "%s/update-%08" PRId64 "-average.tmp", run->checkpoints.folder,
                         run->state.update));
    clf_status status = clf__folder_remove(mean);
    if (status == CLF_OK) {
        status = clf__model_average(mean, (const char *const *)folders->items, folders->count,
                                    CLF__PRECISION_FP32);
    }
    if (status == CLF_OK) {
        status = publish(run->output, mean);
    }
    status = status == CLF_OK ? clf__folder_remove(mean) : clf__folder_discard(mean, status);
    clf__free(mean);
    return status;
}

/* Finds the best validated checkpoint that still exists; *path is NULL if there is none. The caller frees it.
 */
static clf_status find_best(char **path, int64_t *update, const struct clf__run *run)
{
    const struct clf__validated *best = NULL;
    *path = NULL;
    for (int i = 0; i < run->state.count; i++) {
        const struct clf__validated *entry = &run->state.history[i];
        if (best && !clf__validated_is_better(entry, best, (enum clf__best)run->settings.best)) {
            continue;
        }
        char *folder;
        clf_status status = clf__checkpoints_path(&folder, &run->checkpoints, entry->update);
        if (status != CLF_OK) {
            clf__free(*path);
            return status;
        }
        if (clf__folder_exists(folder)) {
            clf__free(*path);
            *path = folder;
            best = entry;
            *update = entry->update;
        } else {
            clf__free(folder);
        }
    }
    return CLF_OK;
}

/* The best remaining checkpoint is not the best of the history if an earlier start had a lower keep-best or
 * another `best`. */
static clf_status publish_best(const struct clf__run *run)
{
    const struct clf__validated *best =
        clf__train_state_best(&run->state, (enum clf__best)run->settings.best);
    char *path;
    int64_t update = run->saved_update;
    CLF__TRY(find_best(&path, &update, run));
    if (best && update != best->update) {
        clf__log(CLF_LOG_WARNING,
                 "%s: the model is the checkpoint of update %lld, the best one that still exists; the "
                 "checkpoint of update %lld, with the best validation, was not kept",
                 run->output, (long long)update, (long long)best->update);
    }
    clf_status status = publish(run->output, path ? path : run->saved);
    clf__free(path);
    return status;
}

static clf_status finish_average(const struct clf__run *run)
{
    struct clf__names paths = {0};
    clf_status status = list_validated(&paths, run, run->settings.average);
    if (status == CLF_OK && paths.count == 0) {
        clf__log(CLF_LOG_WARNING,
                 "%s: the model is the best checkpoint, because there are no checkpoints to average",
                 run->output);
        status = publish_best(run);
    } else if (status == CLF_OK) {
        if (paths.count < run->settings.average) {
            clf__log(CLF_LOG_WARNING,
                     "%s: the model is the average of only %d checkpoints, because there are no more",
                     run->output, paths.count);
        }
        status = publish_mean(run, &paths);
    }
    clf__names_free(&paths);
    return status;
}

clf_status clf__run_finish(struct clf__run *run)
{
    const struct clf__communicator *ranks = run->communicator;
    clf_status status = CLF_OK;
    if (ranks->rank == 0) {
        status = run->settings.average > 0 ? finish_average(run) : publish_best(run);
    }
    return ranks->agree(ranks, status);
}
