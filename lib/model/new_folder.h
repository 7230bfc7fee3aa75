/* A model folder made of another one's files and new weights. */
#ifndef CLF_MODEL_NEW_FOLDER_H
#define CLF_MODEL_NEW_FOLDER_H

#include "checkpoint/checkpoint.h"
#include "formats/format.h"

struct clf__new_folder {
    const char *from; /* whose other files are copied, and whose format it has */
    struct clf__format_weights weights;
    /* The weights, with what the format keeps beside them. */
    clf_status (*write)(void *user, const char *path, const struct clf__beside *beside);
    void *user;
};

/* CLF_FILE where the path is there already. */
clf_status clf__new_folder_check(const char *output);
/* Writes it; the folder appears whole or not at all. Weights, the state of a training and what a killed
 * program left are not copied. */
clf_status clf__new_folder_write(const char *output, const struct clf__new_folder *folder);

#endif
