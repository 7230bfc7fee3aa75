/* A training run, shared by the files that implement it. */
#ifndef CLF_TRAIN_RUN_H
#define CLF_TRAIN_RUN_H

#include <clformer/train.h>

#include "model/backprop/sums.h"
#include "model/backprop/training.h"
#include "model/model.h"
#include "model/transformer.h"
#include "text/tokenizers/tokenizer.h"
#include "train/checkpoint.h"
#include "train/dataset.h"
#include "train/recipe.h"
#include "train/state.h"

struct clf__run {
    struct clf_device *device;
    const struct clf__communicator *communicator;
    struct clf_recipe *recipe; /* the caller's recipe, with the preset of `from` */
    const char *output;
    struct clf_train_hooks hooks;
    struct clf_train_times times;
    double begun;         /* start of the call, in seconds */
    int64_t first_update; /* first update of this call; 0: no update yet */
    int is_late;          /* the time limit has passed on at least one rank */
    struct clf__settings settings;
    struct {
        char *folders;  /* the path of checkpoints/; NULL: nothing was created yet */
        size_t missing; /* number of leading folders that did not exist: see clf__folder_missing() */
        char *recipe;   /* the path of recipe.json; NULL: it existed */
    } made;             /* files and folders that this run created, not the user */
    struct clf__checkpoints checkpoints;
    struct clf__train_state state;
    char *saved;          /* the checkpoint that the run started from, or the last saved one */
    int64_t saved_update; /* update of `saved` */
    struct clf__transformer *transformer;
    uint64_t weight_bytes; /* device memory of the transformer */
    struct clf__tokenizer *tokenizer;
    struct clf_model *model; /* transformer and tokenizer as a model, for translations in validation */
    struct clf__dataset *train, *valid; /* valid NULL: no validation text */
    struct clf__dataset_report train_report, valid_report;
    struct clf__batching batching;
    struct clf__training *training;
    struct clf__gradient_sums *sums;
    double entropy; /* entropy of a label's smoothed distribution: the difference between cross-entropy and
                     * KL; 0 if the loss is cross-entropy */
};

/* Checks, before any text is read, that the recipe's `config` pairs can describe a model. */
clf_status clf__run_check_config(const struct clf__settings *settings);

/* Opens every file that the recipe names, so that a wrong path or a missing second file fails before anything
 * is created. */
clf_status clf__run_check_files(const struct clf__run *run);

/* Finds the newest checkpoint of the output folder and resumes from it, or makes the first one; stores the
 * recipe in the folder. */
clf_status clf__run_find_checkpoint(struct clf__run *run);

/* clf__run_find_checkpoint() on a rank other than 0: rank 0 found or made the checkpoint at `update`. */
clf_status clf__run_follow_checkpoint(struct clf__run *run, int64_t update);

/* Cleans up after a failure: removes what this run created, unless there is a checkpoint to resume from.
 * Returns `status` and keeps its message. */
clf_status clf__run_discard(struct clf__run *run, clf_status status);

/* Makes the checkpoint of update 0: tokenizer, configuration and initial weights, or the weights of
 * `from`. */
clf_status clf__run_make_initial_model(const struct clf__run *run);

/* Fails if this rank's version, recipe, texts, device or weights differ from rank 0's. */
clf_status clf__run_check_ranks(const struct clf__run *run);

/* Prepares everything before the first update; call clf__run_close() also after a failure. */
clf_status clf__run_open(struct clf__run *run, struct clf_device *device, const struct clf_recipe *recipe,
                         const char *output);
void clf__run_close(struct clf__run *run);

/* Ends a stage: adds the seconds since *start to it, and sets *start to now. */
clf_status clf__run_stage(struct clf__run *run, double *stage, double *start);

/* Estimates the total updates of the run, which ends by max-updates, max-epochs or minutes; 0 if it has no
 * end. Assumes that later epochs have the size of this one and that updates take the average time of this
 * call. */
int64_t clf__run_expected_updates(const struct clf__run *run);

/* Runs the batches, backward passes and the Adam step of one update. */
clf_status clf__run_update(struct clf__run *run, struct clf_train_update *out);

/* The contribution of one batch to the sums of a loss. */
struct clf__batch_loss {
    double loss, nll;
};
/* Sums the losses of `count` batches in order. Losses of batches that other ranks computed are zero on entry
 * and are filled in. */
clf_status clf__run_sum_losses(struct clf__batch_loss *out, const struct clf__run *run,
                               struct clf__batch_loss *losses, int count);

/* Saves a checkpoint of the state, unless the last checkpoint has the same update. */
clf_status clf__run_save(struct clf__run *run);

/* Computes loss, BLEU and samples with the last checkpoint, which must match the state, and adds them to the
 * state. */
clf_status clf__run_validate(struct clf__run *run);

/* Writes the final model to the output folder. */
clf_status clf__run_finish(struct clf__run *run);

#endif
