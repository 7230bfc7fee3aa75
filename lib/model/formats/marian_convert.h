/* Writes a Marian folder with converted weights. */
#ifndef CLF_FORMATS_MARIAN_CONVERT_H
#define CLF_FORMATS_MARIAN_CONVERT_H

#include "model/weights/marian_folder.h"

/* Copies all files except the weights, including files outside the folder that the configuration names, and
 * writes a configuration with the names of the copies. */
clf_status clf__marian_copy_files(const char *target, const char *folder,
                                  const struct clf__marian_folder *files);

#endif
