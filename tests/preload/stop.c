/* Preloaded, sends the process SIGINT at its $STOP_AT-th clBuildProgram(), and reports on standard error each
 * compilation that starts later: programs, and the binaries of programs, for which PoCL compiles again. */
#define _GNU_SOURCE
#include <CL/cl.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_long builds;

static long last_build(void)
{
    const char *at = getenv("STOP_AT");
    return at != NULL ? atol(at) : 0;
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                      void(CL_CALLBACK *notify)(cl_program, void *), void *user)
{
    cl_int (*build)(cl_program, cl_uint, const cl_device_id *, const char *,
                    void(CL_CALLBACK *)(cl_program, void *), void *);
    long index = atomic_fetch_add(&builds, 1) + 1;
    if (index == last_build()) {
        kill(getpid(), SIGINT);
    } else if (index > last_build()) {
        fprintf(stderr, "a program is compiled after the signal\n");
    }
    *(void **)&build = dlsym(RTLD_NEXT, "clBuildProgram");
    return build(program, count, devices, options, notify, user);
}

cl_int clGetProgramInfo(cl_program program, cl_program_info name, size_t size, void *value, size_t *result)
{
    cl_int (*get)(cl_program, cl_program_info, size_t, void *, size_t *);
    if (name == CL_PROGRAM_BINARY_SIZES && atomic_load(&builds) >= last_build()) {
        fprintf(stderr, "a program is stored after the signal\n");
    }
    *(void **)&get = dlsym(RTLD_NEXT, "clGetProgramInfo");
    return get(program, name, size, value, result);
}
