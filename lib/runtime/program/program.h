/* The programs of an open device, compiled at first use. */
#ifndef CLF_PROGRAM_PROGRAM_H
#define CLF_PROGRAM_PROGRAM_H

#include "runtime/opencl/opencl.h"
#include "runtime/program/ahead.h"
#include "runtime/program/arguments.h"
#include "runtime/program/cache.h"
#include "runtime/program/kernel_sources.h"

struct clf_device;

struct clf__kernel {
    char *name;
    cl_kernel kernel;
    cl_uint argument_count;
    struct clf__argument_value *values; /* (argument_count) current values */
    struct clf__program *program;
    uint64_t hash; /* hash of program, defines and kernel */
    int has_run;
    /* Limits of the GPU variant, which may be lower than the device's; 0 if the driver does not report
     * them. */
    size_t most_items;    /* work-items in a group */
    uint64_t local_bytes; /* local memory of a group without arguments */
};

struct clf__program {
    char *name;
    char *defines;
    char *options; /* all compiler options */
    char *source;  /* complete source */
    cl_program program;
    double build_seconds; /* 0: loaded from the cache */
    char *stored_kernels; /* kernels in the cache file, as in cache.c; NULL if the program was compiled */
};

struct clf__programs {
    struct clf__program **programs; /* allocated separately, because kernels point to them */
    int count;
    struct clf__kernel **kernels; /* an open hash table; capacity is a power of two, or 0 */
    int kernel_count;
    int kernel_capacity;
    struct clf__kernel_source *added; /* sources in addition to the embedded ones */
    int added_count;
    struct clf__program_cache cache;
    struct clf__programs_ahead ahead;
};

/* Gets a kernel of cl/<program>.cl, compiled with `defines` (NULL: none). Returns CLF_BUILD if the program
 * does not compile. */
clf_status clf__program_kernel(struct clf__kernel **out, struct clf_device *device, const char *program,
                               const char *kernel, const char *defines);

/* Loads a program from the cache, if the file exists and is valid, without creating a kernel. Logs
 * nothing. */
clf_status clf__program_load(struct clf_device *device, const char *name, const char *defines);

/* Assembles the source of a program: cl/include/prelude.cl and the file of this name in cl/, with #include
 * lines expanded and #line directives for the driver's messages. The caller frees *out. */
clf_status clf__program_source(char **out, const struct clf__programs *programs, const char *name);

/* Compiles a program without the cache. Returns CLF_BUILD if it does not compile; the driver's messages are
 * logged. */
clf_status clf__program_compile(cl_program *out, struct clf_device *device,
                                const struct clf__program *program);

/* Creates the empty program table of a device. are_kept: programs are also cached on disk. */
clf_status clf__programs_create(struct clf_device *device, int are_kept);
void clf__programs_free(struct clf__programs *programs); /* NULL is ignored */

#endif
