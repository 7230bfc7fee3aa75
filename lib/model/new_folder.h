/* Writes a model folder with new weights and the other files of an existing folder. */
#ifndef CLF_MODEL_NEW_FOLDER_H
#define CLF_MODEL_NEW_FOLDER_H

#include "model/formats/format.h"
#include "model/weights/weights.h"

struct clf__new_folder {
    const char *from; /* folder of the other files; also determines the format */
    struct clf__format_weights weights;
    /* Writes the weights file, including the additional content of the format. */
    clf_status (*write)(void *user, const char *path, const struct clf__beside *beside);
    void *user;
};

/* Returns CLF_FILE if `output` exists. */
clf_status clf__new_folder_check(const char *output);
/* Writes the folder completely or not at all. Does not copy weights, training state or files left by a killed
 * program. */
clf_status clf__new_folder_write(const char *output, const struct clf__new_folder *folder);

#endif
