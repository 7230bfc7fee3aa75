/* What the two halves of the library share that is loaded before Oclgrind's runtime. */
#ifndef OCLGRIND_PRELOAD_H
#define OCLGRIND_PRELOAD_H

#include <CL/cl.h>

/* The function of that name that would be called without this library. */
typedef void (*preload_function)(void);
preload_function preload_real(const char *name);
#define REAL(name) ((__typeof__(&name))preload_real(#name))

/* Ends the program where a call failed that has to succeed here. */
void preload_must(cl_int error, const char *what);

#endif
