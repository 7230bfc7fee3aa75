/* The flags of `clformer train`: those of the recipe's table, and the command's own. */
#ifndef CLF_TOOLS_TRAIN_ARGUMENTS_H
#define CLF_TOOLS_TRAIN_ARGUMENTS_H

#include <clformer/recipe.h>

#include "shared/command.h"

/* Parses the arguments: the recipe of --recipe, then the flags over it; *chooses says whether there was any
 * of these. Returns -1 to go on, or the exit status to end with, as flags_parse(). */
int train_arguments(struct flags *flags, struct clf_recipe *recipe, int *chooses, int argc, char **argv);

#endif
