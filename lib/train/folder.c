/* Checks the output folder when a run starts or resumes. */
#include <stdio.h>

#include "base/file.h"
#include "base/memory.h"
#include "train/checkpoint_files.h"
#include "train/corpus.h"
#include "train/run.h"

static clf_status check_text(const struct clf__texts *texts)
{
    struct clf__corpus corpus;
    if (texts->count > 0) {
        CLF__TRY(clf__corpus_open(&corpus, texts->items[0], texts->count > 1 ? texts->items[1] : NULL));
        clf_status status = clf__corpus_check(&corpus);
        clf__corpus_close(&corpus);
        return status;
    }
    return CLF_OK;
}

static clf_status check_file(const char *path)
{
    struct clf__file file;
    if (path) {
        CLF__TRY(clf__file_open(&file, path));
        clf__file_close(&file);
    }
    return CLF_OK;
}

clf_status clf__run_check_files(const struct clf__run *run)
{
    const struct clf__settings *settings = &run->settings;
    CLF__TRY(check_text(&settings->train));
    CLF__TRY(check_text(&settings->valid));
    CLF__TRY(check_file(settings->source_vocabulary));
    return check_file(settings->target_vocabulary);
}

/* Compares the recipe with recipe.json of the run in this folder, if there is one. */
static clf_status check_recipe(const struct clf_recipe *recipe, const char *path, const char *output)
{
    if (!clf__file_exists(path)) {
        return CLF_OK;
    }
    struct clf_recipe *begun;
    CLF__TRY(clf_recipe_create(&begun));
    clf_status status = clf_recipe_load(begun, path);
    if (status == CLF_OK) {
        status = clf__recipe_check_same(recipe, begun, output);
    }
    clf_recipe_free(begun);
    return status;
}

/* Refuses limits below the run's current update or epoch, because recipe.json would contradict the run. */
static clf_status check_end(const struct clf__run *run)
{
    const struct clf__settings *settings = &run->settings;
    const struct clf__train_state *state = &run->state;
    int epochs = state->epoch - (state->batch == 0); /* number of epochs begun */
    if (settings->max_updates > 0 && settings->max_updates < state->update) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "max-updates: is %lld, but the run in %s has already made %lld updates; use at "
                         "least that number, or another folder",
                         (long long)settings->max_updates, run->output, (long long)state->update);
    }
    if (settings->max_epochs > 0 && settings->max_epochs < epochs) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "max-epochs: is %lld, but the run in %s has already started epoch %d; use at least "
                         "that number, or another folder",
                         (long long)settings->max_epochs, run->output, epochs);
    }
    return CLF_OK;
}

/* A checkpoint or a finished model fixes the recipe of a run; a failed start does not. */
static clf_status keep_recipe(const struct clf__run *run)
{
    char *path = NULL;
    int is_model;
    CLF__TRY(clf__file_exists_in(&is_model, run->output, "config.json"));
    CLF__TRY(clf__path_join(&path, run->output, "recipe.json"));
    clf_status status = run->saved || is_model ? check_recipe(run->recipe, path, run->output) : CLF_OK;
    if (status == CLF_OK && run->saved) {
        status = check_end(run);
    }
    if (status == CLF_OK) {
        status = clf_recipe_write(run->recipe, path);
    }
    clf__free(path);
    return status;
}

/* Refuses to overwrite a finished model that was not trained here, or whose run left no checkpoint. If all
 * checkpoints are damaged, the same run may start again from the beginning. */
static clf_status check_owner(const char *output, const char *from)
{
    int is_model, is_run, has_checkpoints = 0;
    if (clf__file_exists(output)) {
        return clf__fail(CLF_BAD_ARGUMENT, "%s: is a file; choose a folder for the model", output);
    }
    if (from && clf__folder_is(output, from)) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         "%s: is also the folder of from; choose another folder for the model", output);
    }
    CLF__TRY(clf__file_exists_in(&is_model, output, "config.json"));
    CLF__TRY(clf__file_exists_in(&is_run, output, "recipe.json"));
    if (is_model) {
        CLF__TRY(clf__checkpoints_exist(&has_checkpoints, output));
    }
    return is_model && !(is_run && has_checkpoints)
               ? clf__fail(CLF_BAD_ARGUMENT,
                           "%s: holds a model that %s; choose another folder, and to train this model "
                           "further, pass its folder as from",
                           output,
                           is_run ? "was finished and has no checkpoint to resume from"
                                  : "was not trained there (recipe.json is missing)")
               : CLF_OK;
}

/* Records which files and folders do not exist yet, before the run creates any. */
static clf_status note_missing(struct clf__run *run)
{
    int is_begun;
    CLF__TRY(clf__file_exists_in(&is_begun, run->output, "recipe.json"));
    if (!is_begun) {
        CLF__TRY(clf__path_join(&run->made.recipe, run->output, "recipe.json"));
    }
    CLF__TRY(clf__path_join(&run->made.folders, run->output, "checkpoints"));
    run->made.missing = clf__folder_missing(run->made.folders);
    return CLF_OK;
}

clf_status clf__run_discard(struct clf__run *run, clf_status status)
{
    if (!run->made.folders || run->made.missing == 0) {
        return status;
    }
    struct clf__failure first = clf__failure_keep(status);
    int has_updates,
        is_locked = run->checkpoints.lock > 0; /* without the lock, the files may belong to another run */
    if (is_locked && clf__checkpoints_have_updates(&has_updates, run->output) == CLF_OK && !has_updates) {
        if (run->made.recipe) {
            clf__folder_remove(run->made.recipe);
        }
        clf__folder_remove(run->made.folders); /* last, because another run may start without the lock */
    }
    clf__folder_remove_empty(run->made.folders, run->made.missing);
    return clf__failure_again(&first);
}

/* Update 0 has no state to read. */
clf_status clf__run_follow_checkpoint(struct clf__run *run, int64_t update)
{
    CLF__TRY(clf__checkpoints_watch(&run->checkpoints, run->output));
    CLF__TRY(clf__checkpoints_path(&run->saved, &run->checkpoints, update));
    if (!clf__folder_exists(run->saved)) {
        return clf__fail(CLF_FILE,
                         "%s: exists on rank 0 but not on this rank; all ranks need the same folder %s",
                         run->saved, run->output);
    }
    run->state = (struct clf__train_state){.epoch = 1};
    run->saved_update = update;
    return update > 0 ? clf__checkpoints_read(&run->state, run->saved) : CLF_OK;
}

clf_status clf__run_find_checkpoint(struct clf__run *run)
{
    CLF__TRY(check_owner(run->output, run->settings.from));
    CLF__TRY(note_missing(run));
    CLF__TRY(clf__folder_create(run->output));
    CLF__TRY(clf__checkpoints_open(&run->checkpoints, run->output));
    CLF__TRY(clf__checkpoint_files_sweep(run->output));
    CLF__TRY(clf__checkpoints_newest(&run->saved, &run->state, &run->checkpoints));
    CLF__TRY(keep_recipe(run));
    if (!run->saved) {
        run->state = (struct clf__train_state){.epoch = 1};
        CLF__TRY(clf__run_make_initial_model(run));
        CLF__TRY(clf__checkpoints_path(&run->saved, &run->checkpoints, 0));
    }
    run->saved_update = run->state.update;
    return CLF_OK;
}
