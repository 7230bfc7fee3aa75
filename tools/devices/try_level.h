/* `clformer --try-level INDEX LEVEL` and `clformer --try-barrier INDEX`: the child processes of
 * lib/open/trial_child.c. */
#ifndef CLF_TOOLS_DEVICES_TRY_LEVEL_H
#define CLF_TOOLS_DEVICES_TRY_LEVEL_H

/* Tries the matrix instructions of a GPU level and prints the result as one line. */
int devices_try_level(int argc, char **argv);

/* Tries waiting work-groups without device-scope atomics and prints the result as one line. */
int devices_try_barrier(int argc, char **argv);

#endif
