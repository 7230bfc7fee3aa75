/* A training run: what its files share. */
#ifndef CLF_TRAIN_RUN_H
#define CLF_TRAIN_RUN_H

#include <clformer/train.h>

#include "backprop/sums.h"
#include "backprop/training.h"
#include "model/transformer.h"
#include "text/tokenizer.h"
#include "train/checkpoint.h"
#include "train/dataset.h"
#include "train/recipe.h"
#include "train/state.h"
#include "translate/internal.h"

struct clf__run {
    struct clf_device *device;
    const struct clf__communicator *communicator;
    struct clf_recipe *recipe; /* the caller's, with the preset of `from` */
    const char *output;
    struct clf_train_hooks hooks;
    struct clf_train_times times;
    double begun;         /* when the call began, in seconds */
    int64_t first_update; /* of this call; 0: it is not known yet */
    int is_late;          /* the recipe's minutes are over, on one of the ranks at least */
    struct clf__settings settings;
    struct {
        char *folders;  /* the path of checkpoints/; NULL: nothing was made yet */
        size_t missing; /* what of it was not there: see clf__folder_missing() */
        char *recipe;   /* the path of recipe.json; NULL: it was there */
    } made;             /* by this run, and not the user's */
    struct clf__checkpoints checkpoints;
    struct clf__train_state state;
    char *saved;          /* the checkpoint that was begun from, or the last one that was saved */
    int64_t saved_update; /* of it */
    struct clf__transformer *transformer;
    uint64_t weight_bytes; /* that it took of the device */
    struct clf__tokenizer *tokenizer;
    struct clf_model *model;            /* over both: validations translate with it */
    struct clf__dataset *train, *valid; /* valid NULL: there is none */
    struct clf__dataset_report train_report, valid_report;
    struct clf__batching batching;
    struct clf__training *training;
    struct clf__gradient_sums *sums;
    double entropy; /* of a label's smoothed distribution: what KL's loss leaves out of the cross-entropy; 0
                     * where the loss is that */
};

/* Whether the recipe's `config` pairs can describe a model: before any text is read. */
clf_status clf__run_check_config(const struct clf__settings *settings);

/* Opens every file that the recipe names, so that a wrong path, or one file where there should be two, shows
 * before anything is made. */
clf_status clf__run_check_files(const struct clf__run *run);

/* Goes on from the newest checkpoint of the output folder, or makes the first; keeps the recipe in it. */
clf_status clf__run_find_checkpoint(struct clf__run *run);

/* The same of a rank other than 0, which made it or found it at `update`. */
clf_status clf__run_follow_checkpoint(struct clf__run *run, int64_t update);

/* After a failure: removes what this run made, unless there is a checkpoint to go on from. Returns the
 * failure's status, with its sentence kept. */
clf_status clf__run_discard(struct clf__run *run, clf_status status);

/* Makes the checkpoint of update 0: tokenizer, configuration and first weights, or those of `from`. */
clf_status clf__run_make_initial_model(const struct clf__run *run);

/* Fails where this rank's version, recipe, texts, device or weights are not rank 0's. */
clf_status clf__run_check_ranks(const struct clf__run *run);

/* Everything before the first update; clf__run_close() also after a failure. */
clf_status clf__run_open(struct clf__run *run, struct clf_device *device, const struct clf_recipe *recipe,
                         const char *output);
void clf__run_close(struct clf__run *run);

/* The end of a stage: adds the seconds since *start to it, and sets *start to now. */
clf_status clf__run_stage(struct clf__run *run, double *stage, double *start);

/* How many updates the run has when it ends by max-updates, max-epochs or minutes, as it looks now; 0: none
 * ends it. The epochs to come are taken to be as long as this one, and updates to take as long as those of
 * this call. */
int64_t clf__run_expected_updates(const struct clf__run *run);

/* Batches, backward passes and Adam of one update. */
clf_status clf__run_update(struct clf__run *run, struct clf_train_update *out);

/* What one batch adds to the sums of a loss. */
struct clf__batch_loss {
    double loss, nll;
};
/* Adds up the losses of `count` batches in their order; those that other ranks computed are zero here, and
 * are filled in. */
clf_status clf__run_sum_losses(struct clf__batch_loss *out, const struct clf__run *run,
                               struct clf__batch_loss *losses, int count);

/* Saves a checkpoint of the state, unless that is the last one. */
clf_status clf__run_save(struct clf__run *run);

/* Loss, BLEU and samples of the last checkpoint, which must be of the state; adds them to it. */
clf_status clf__run_validate(struct clf__run *run);

/* Writes the final model to the output folder. */
clf_status clf__run_finish(struct clf__run *run);

#endif
