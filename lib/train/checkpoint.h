/* The checkpoints of a run: folders checkpoints/update-NNNNNNNN, each a model folder that also holds
 * optimizer.safetensors (the moments, in one file per rank if they are sharded) and state.json.
 *
 * A checkpoint appears completely: it is written as update-NNNNNNNN.tmp and renamed when everything is on
 * the disk.
 * */
#ifndef CLF_TRAIN_CHECKPOINT_H
#define CLF_TRAIN_CHECKPOINT_H

#include "backprop/training.h"
#include "train/recipe.h"
#include "train/state.h"

struct clf__checkpoints {
    char *folder; /* OUTPUT/checkpoints */
    int lock;     /* descriptor plus 1 of the file that is locked during a run; 0: none */
};

/* Finds whether the folder OUTPUT has any checkpoint, complete or not. */
clf_status clf__checkpoints_exist(int *out, const char *output);

/* Finds whether OUTPUT has a checkpoint that training could resume from, judged by its name. */
clf_status clf__checkpoints_have_updates(int *out, const char *output);

/* Creates and locks the folder, and removes what killed runs left. */
clf_status clf__checkpoints_open(struct clf__checkpoints *out, const char *output);
/* For reading only, while another rank holds the lock. */
clf_status clf__checkpoints_watch(struct clf__checkpoints *out, const char *output);
void clf__checkpoints_close(struct clf__checkpoints *checkpoints);

/* The path of the checkpoint at an update; the caller frees it. */
clf_status clf__checkpoints_path(char **out, const struct clf__checkpoints *checkpoints, int64_t update);

/* Finds the newest intact checkpoint after update 0, which holds no training and can be made again; *path
 * is NULL if there is none. Damaged ones are renamed, with a warning. One that cannot be read at the
 * moment may be intact, and is CLF_FILE. The caller frees both. */
clf_status clf__checkpoints_newest(char **path, struct clf__train_state *state,
                                   const struct clf__checkpoints *checkpoints);

/* Reads a checkpoint's state after checking its files; CLF_FORMAT if it is damaged, CLF_FILE if it cannot
 * be read at the moment. */
clf_status clf__checkpoints_read(struct clf__train_state *state, const char *path);

/* Creates the folder for a checkpoint of this update, replacing an existing one; ended by
 * clf__checkpoints_end(). */
clf_status clf__checkpoints_begin(char **path, const struct clf__checkpoints *checkpoints, int64_t update);
/* Ends the checkpoint and frees `making`. With CLF_OK the checksums are recorded in state.json and the
 * folder receives its final name. Any other status is returned, and nothing remains. */
clf_status clf__checkpoints_end(char *making, const struct clf__checkpoints *checkpoints,
                                const struct clf__train_state *state, clf_status status);

/* The path of the folder that clf__checkpoints_begin() makes. The caller frees it. */
clf_status clf__checkpoints_making(char **path, const struct clf__checkpoints *checkpoints, int64_t update);

/* Writes weights, moments unless they are sharded, and the other files of the folder `model` to the new
 * folder. */
clf_status clf__checkpoints_fill(const char *making, const struct clf__training *training,
                                 const struct clf__train_state *state, const char *model);

/* Makes a checkpoint with the other files of the folder `model`; nothing remains after a failure. */
clf_status clf__checkpoints_save(const struct clf__checkpoints *checkpoints,
                                 const struct clf__training *training, const struct clf__train_state *state,
                                 const char *model);

/* Writes state.json again, with the validation of the checkpoint itself. */
clf_status clf__checkpoints_note(const struct clf__checkpoints *checkpoints,
                                 const struct clf__train_state *state);

/* Removes checkpoints that are not among the last ones, the best ones or those to average. Also removes
 * the checkpoint of update 0, which holds no training, once there is a later one, and all damaged ones
 * except the newest. */
clf_status clf__checkpoints_prune(const struct clf__checkpoints *checkpoints,
                                  const struct clf__train_state *state, const struct clf__settings *settings);

#endif
