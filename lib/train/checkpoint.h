/* The checkpoints of a run: folders checkpoints/update-NNNNNNNN. Each is a model folder with
 * optimizer.safetensors (the moments; one file per rank if they are sharded) and state.json. A checkpoint is
 * written as update-NNNNNNNN.tmp, synced and renamed, so it is always complete. */
#ifndef CLF_TRAIN_CHECKPOINT_H
#define CLF_TRAIN_CHECKPOINT_H

#include "model/backprop/training.h"
#include "train/recipe.h"
#include "train/state.h"

struct clf__checkpoints {
    char *folder; /* OUTPUT/checkpoints */
    int lock;     /* descriptor of the lock file plus 1, while a run holds the lock; 0: none */
};

/* Determines whether the folder OUTPUT has any checkpoint, complete or not. */
clf_status clf__checkpoints_exist(int *out, const char *output);

/* Determines from the names in OUTPUT whether training could resume from a checkpoint. */
clf_status clf__checkpoints_have_updates(int *out, const char *output);

/* Creates and locks the folder, and removes the remains of killed runs. */
clf_status clf__checkpoints_open(struct clf__checkpoints *out, const char *output);
/* Opens the folder for reading only, while another rank holds the lock. */
clf_status clf__checkpoints_watch(struct clf__checkpoints *out, const char *output);
void clf__checkpoints_close(struct clf__checkpoints *checkpoints);

/* Returns the path of the checkpoint at an update; the caller frees *out. */
clf_status clf__checkpoints_path(char **out, const struct clf__checkpoints *checkpoints, int64_t update);

/* Finds the newest intact checkpoint, except update 0, which can be recreated; *path is NULL if there is
 * none. Renames damaged checkpoints with a warning; fails with CLF_FILE if a checkpoint cannot be read at the
 * moment, because it may be intact. The caller frees *path and *state. */
clf_status clf__checkpoints_newest(char **path, struct clf__train_state *state,
                                   const struct clf__checkpoints *checkpoints);

/* Reads a checkpoint's state after checking its files. Returns CLF_FORMAT if the checkpoint is damaged and
 * CLF_FILE if it cannot be read at the moment. */
clf_status clf__checkpoints_read(struct clf__train_state *state, const char *path);

/* Creates the folder for a checkpoint of this update, which replaces an existing one. clf__checkpoints_end()
 * completes it. */
clf_status clf__checkpoints_begin(char **path, const struct clf__checkpoints *checkpoints, int64_t update);
/* Completes the checkpoint and frees `making`. With CLF_OK, records the checksums in state.json and gives the
 * folder its final name. Otherwise removes the folder and returns the status. */
clf_status clf__checkpoints_end(char *making, const struct clf__checkpoints *checkpoints,
                                const struct clf__train_state *state, clf_status status);

/* Returns the path of the folder that clf__checkpoints_begin() creates; the caller frees *path. */
clf_status clf__checkpoints_making(char **path, const struct clf__checkpoints *checkpoints, int64_t update);

/* Writes weights, moments unless they are sharded, and the other files of the folder `model` to the folder
 * `making`. */
clf_status clf__checkpoints_fill(const char *making, const struct clf__training *training,
                                 const struct clf__train_state *state, const char *model);

/* Makes a checkpoint with the other files of the folder `model`. On failure nothing remains. */
clf_status clf__checkpoints_save(const struct clf__checkpoints *checkpoints,
                                 const struct clf__training *training, const struct clf__train_state *state,
                                 const char *model);

/* Writes state.json of the newest checkpoint again, after its validation. */
clf_status clf__checkpoints_note(const struct clf__checkpoints *checkpoints,
                                 const struct clf__train_state *state);

/* Removes checkpoints that are neither among the last or best ones nor needed for averaging, all damaged ones
 * except the newest, and the untrained update 0 once there is a later checkpoint. */
clf_status clf__checkpoints_prune(const struct clf__checkpoints *checkpoints,
                                  const struct clf__train_state *state, const struct clf__settings *settings);

#endif
