/* Shared by the two halves of the library preloaded before Oclgrind's runtime. */
#ifndef OCLGRIND_PRELOAD_H
#define OCLGRIND_PRELOAD_H

#include <CL/cl.h>

/* Returns the function of that name that this library replaces. */
typedef void (*preload_function)(void);
preload_function preload_real(const char *name);
#define REAL(name) ((__typeof__(&name))preload_real(#name))

/* Ends the program if a call that must succeed failed. */
void preload_must(cl_int error, const char *what);

#endif
