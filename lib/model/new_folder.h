/* Writes a model folder with the files of another folder and new weights. */
#ifndef CLF_MODEL_NEW_FOLDER_H
#define CLF_MODEL_NEW_FOLDER_H

#include "model/formats/format.h"
#include "model/weights/weights.h"

struct clf__new_folder {
    const char *from; /* source of all other files and of the format */
    struct clf__format_weights weights;
    /* Writes the weights, and the extra content that the format stores in the same file. */
    clf_status (*write)(void *user, const char *path, const struct clf__beside *beside);
    void *user;
};

/* Returns CLF_FILE if the path exists. */
clf_status clf__new_folder_check(const char *output);
/* Writes the folder, completely or not at all. Weights, training state and files left by a killed program are
 * not copied. */
clf_status clf__new_folder_write(const char *output, const struct clf__new_folder *folder);

#endif
