/* The flags of `clformer train`: the keys of the recipe and the command's own flags. */
#ifndef CLF_TOOLS_TRAIN_ARGUMENTS_H
#define CLF_TOOLS_TRAIN_ARGUMENTS_H

#include <clformer/recipe.h>

#include "shared/command.h"

/* Parses the arguments: the file of --recipe, overridden by flags. *chooses is 1 if any option was set.
 * Returns -1 to continue, or an exit status, like flags_parse(). */
int train_arguments(struct flags *flags, struct clf_recipe *recipe, int *chooses, int argc, char **argv);

#endif
