/* `clformer --try-level INDEX LEVEL`: the child process of lib/open/level_choice.c. */
#ifndef CLF_TOOLS_DEVICES_TRY_LEVEL_H
#define CLF_TOOLS_DEVICES_TRY_LEVEL_H

/* Tries the matrix instructions of a GPU level and prints the result as one line. */
int devices_try_level(int argc, char **argv);

#endif
