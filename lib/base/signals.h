/* Shields the threads and processes of an OpenCL driver from termination signals. */
#ifndef CLF_BASE_SIGNALS_H
#define CLF_BASE_SIGNALS_H

#include <signal.h>

/* Blocks SIGINT, SIGTERM and SIGHUP on this thread and on the threads and processes it starts: PoCL aborts
 * if Ctrl-C, which signals all processes of the terminal, kills the linker that PoCL runs. */
void clf__signals_block(sigset_t *before);

/* Restores the signals of this thread. */
void clf__signals_restore(const sigset_t *before);

#endif
