/* The files of one checkpoint. */
#ifndef CLF_TRAIN_CHECKPOINT_FILES_H
#define CLF_TRAIN_CHECKPOINT_FILES_H

#include <jansson.h>

#include "model/backprop/training.h"

/* Records sizes and checksums of all files in a folder except state.json; the caller releases *files with
 * json_decref(). */
clf_status clf__checkpoint_files_mark(json_t **files, const char *folder);
/* Checks a folder against recorded sizes and checksums. Returns CLF_FORMAT naming a file that is missing or
 * has changed, or CLF_FILE naming a file that cannot be read at the moment. */
clf_status clf__checkpoint_files_check(const json_t *files, const char *folder);
/* Returns the status for a checkpoint file that could not be read: CLF_FORMAT if the file is missing, else
 * `status`. */
clf_status clf__checkpoint_files_judge(clf_status status, const char *path);

/* clf__file_copy(), or clf__file_link() between checkpoints, which then share the file. */
typedef clf_status clf__copy_function(const char *target, const char *source);
/* Copies the configuration and the existing tokenizer files of a model folder. */
clf_status clf__checkpoint_files_copy(const char *target, const char *source, clf__copy_function *copy);

/* Removes the temporary files that a killed run left in a model folder. */
clf_status clf__checkpoint_files_sweep(const char *folder);

/* Writes model.safetensors, and optimizer.safetensors if there are moments. */
clf_status clf__checkpoint_files_write(const char *folder, const struct clf__training *training,
                                       int has_moments);
/* With a sharded optimizer, each rank writes its moments to optimizer-RANK-of-RANKS.safetensors. Collective,
 * between updates; a single rank may fail. */
clf_status clf__checkpoint_files_write_shard(const char *folder, struct clf__training *training,
                                             const struct clf__communicator *ranks);
/* Reads the moments, or this rank's share of the moments, from the files of any number of ranks. */
clf_status clf__checkpoint_files_restore(struct clf__training *training, const char *folder);

#endif
