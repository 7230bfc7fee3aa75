/* The checkpoints of a run: folders checkpoints/update-NNNNNNNN, each a model folder that
 * also holds optimizer.safetensors (the moments, in a file of each rank where they are shared out) and
 * state.json.
 *
 * A checkpoint appears whole: it is made as update-NNNNNNNN.tmp and renamed when everything is on the disk.
 */
#ifndef CLF_TRAIN_CHECKPOINT_H
#define CLF_TRAIN_CHECKPOINT_H

#include "backprop/training.h"
#include "train/recipe.h"
#include "train/state.h"

struct clf__checkpoints {
    char *folder; /* OUTPUT/checkpoints */
    int lock;     /* the descriptor plus 1 of the file that is locked while a run is at work; 0: none is */
};

/* Finds whether the folder OUTPUT has any checkpoint, complete or not. */
clf_status clf__checkpoints_exist(int *out, const char *output);

/* Finds whether OUTPUT has a checkpoint that training could resume from, judged by its name. */
clf_status clf__checkpoints_have_updates(int *out, const char *output);

/* Makes the folder, locks it, and takes away what killed runs left. */
clf_status clf__checkpoints_open(struct clf__checkpoints *out, const char *output);
/* For who only reads them, while another one has the lock. */
clf_status clf__checkpoints_watch(struct clf__checkpoints *out, const char *output);
void clf__checkpoints_close(struct clf__checkpoints *checkpoints);

/* The path of the checkpoint at an update; the caller frees it. */
clf_status clf__checkpoints_path(char **out, const struct clf__checkpoints *checkpoints, int64_t update);

/* The newest whole checkpoint after update 0, which holds no training and is made anew; *path NULL where
 * there is none. Damaged ones are renamed, with a warning; one that cannot be read at this moment may be
 * whole, and is CLF_FILE. The caller frees both. */
clf_status clf__checkpoints_newest(char **path, struct clf__train_state *state,
                                   const struct clf__checkpoints *checkpoints);

/* A checkpoint's state, once its files were found to be as it says; CLF_FORMAT where it is damaged, CLF_FILE
 * where it cannot be read at this moment. */
clf_status clf__checkpoints_read(struct clf__train_state *state, const char *path);

/* Makes the folder in which a checkpoint of this update is made, and removes the one there was; the caller
 * ends it. */
clf_status clf__checkpoints_begin(char **path, const struct clf__checkpoints *checkpoints, int64_t update);
/* Ends it and frees `making`. With CLF_OK the folder's files are marked, state.json is written and the folder
 * gets its name. Any other status is returned, and leaves nothing. */
clf_status clf__checkpoints_end(char *making, const struct clf__checkpoints *checkpoints,
                                const struct clf__train_state *state, clf_status status);

/* The path of the folder that clf__checkpoints_begin() makes. The caller frees it. */
clf_status clf__checkpoints_making(char **path, const struct clf__checkpoints *checkpoints, int64_t update);

/* Puts weights, moments unless they are shared out among ranks, and the other files of the folder `model`
 * into one that is made. */
clf_status clf__checkpoints_fill(const char *making, const struct clf__training *training,
                                 const struct clf__train_state *state, const char *model);

/* Makes a checkpoint with the other files of the folder `model`; on failure nothing is left of it. */
clf_status clf__checkpoints_save(const struct clf__checkpoints *checkpoints,
                                 const struct clf__training *training, const struct clf__train_state *state,
                                 const char *model);

/* Writes a state.json with the validation of the checkpoint itself. */
clf_status clf__checkpoints_note(const struct clf__checkpoints *checkpoints,
                                 const struct clf__train_state *state);

/* Removes checkpoints that are not among the last ones, the best ones or those to average. Also removes
 * the checkpoint of update 0, which holds no training, once there is a later one, and all damaged ones
 * except the newest. */
clf_status clf__checkpoints_prune(const struct clf__checkpoints *checkpoints,
                                  const struct clf__train_state *state, const struct clf__settings *settings);

#endif
