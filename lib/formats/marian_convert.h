/* A folder of Marian's with weights of ours. */
#ifndef CLF_FORMATS_MARIAN_CONVERT_H
#define CLF_FORMATS_MARIAN_CONVERT_H

#include "checkpoint/marian_folder.h"

/* Copies all but the weights, wherever a configuration says that they lie, and writes one that names the
 * copies. */
clf_status clf__marian_copy_files(const char *target, const char *folder,
                                  const struct clf__marian_folder *files);

#endif
