/* The final model: the mean of the last validated checkpoints, the best one, or the last. */
#include <inttypes.h>

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "model/save.h"
#include "train/checkpoint_files.h"
#include "train/run.h"

/* The weights first: until the configuration is there the folder is no model. */
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
    return status == CLF_OK ? clf__checkpoint_files_copy(output, model) : status;
}

/* Paths of the last validated checkpoints that are there and no cut-off epoch's, the newest first. */
static clf_status list_validated(char **paths, int *count, const struct clf__run *run, int64_t most)
{
    *count = 0;
    for (int i = run->state.count - 1; i >= 0 && *count < most; i--) {
        char *path;
        CLF__TRY(clf__checkpoints_path(&path, &run->checkpoints, run->state.history[i].update));
        if (clf__folder_exists(path) && !run->state.history[i].is_cut) {
            paths[(*count)++] = path;
        } else {
            clf__free(path);
        }
    }
    return CLF_OK;
}

/* Averages into a folder of its own, which is removed again. */
static clf_status publish_mean(const struct clf__run *run, const char *const *folders, int count)
{
    char *mean = NULL;
    CLF__TRY(clf__format(&mean, "%s/update-%08" PRId64 "-average.tmp", run->checkpoints.folder,
                         run->state.update));
    clf_status status = clf__folder_remove(mean);
    if (status == CLF_OK) {
        status = clf__model_average(mean, folders, count, CLF_PRECISION_FP32);
    }
    if (status == CLF_OK) {
        status = publish(run->output, mean);
    }
    clf__checkpoints_abandon(mean, status);
    if (status == CLF_OK) {
        status = clf__folder_remove(mean);
    }
    clf__free(mean);
    return status;
}

static clf_status publish_best(const struct clf__run *run)
{
    const struct clf__validated *best =
        clf__train_state_best(&run->state, (enum clf__best)run->settings.best);
    char *path = NULL;
    CLF__TRY(clf__checkpoints_path(&path, &run->checkpoints, best ? best->update : run->state.update));
    if (!clf__folder_exists(path)) { /* keep-best is 0 */
        clf__free(path);
        return publish(run->output, run->saved);
    }
    clf_status status = publish(run->output, path);
    clf__free(path);
    return status;
}

static clf_status finish_average(const struct clf__run *run)
{
    char **paths = NULL;
    int count = 0;
    CLF__TRY(clf__allocate(&paths, (size_t)run->state.count, sizeof *paths));
    clf_status status = list_validated(paths, &count, run, run->settings.average);
    if (status == CLF_OK && count == 0) {
        clf__log(CLF_LOG_WARNING, "%s: the model is the best checkpoint, there is none to average",
                 run->output);
        status = publish_best(run);
    } else if (status == CLF_OK) {
        if (count < run->settings.average) {
            clf__log(CLF_LOG_WARNING,
                     "%s: the model is the mean of %d checkpoints, there are no more to average", run->output,
                     count);
        }
        status = publish_mean(run, (const char *const *)paths, count);
    }
    for (int i = 0; i < count; i++) {
        clf__free(paths[i]);
    }
    clf__free(paths);
    return status;
}

clf_status clf__run_finish(struct clf__run *run)
{
    return run->settings.average > 0 ? finish_average(run) : publish_best(run);
}
