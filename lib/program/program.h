/* The programs of an opened device: compiled at first use and kept. */
#ifndef CLF_PROGRAM_PROGRAM_H
#define CLF_PROGRAM_PROGRAM_H

#include "opencl/opencl.h"
#include "program/ahead.h"
#include "program/arguments.h"
#include "program/cache.h"
#include "program/kernel_sources.h"

struct clf_device;

struct clf__kernel {
    char *name;
    cl_kernel kernel;
    cl_uint argument_count;
    struct clf__argument_value *values; /* (argument_count), as they are set */
    struct clf__program *program;
    uint64_t hash; /* of program, defines and kernel */
    int has_run;
    /* Limits of the GPU form, which may be lower than the device's; 0 where the driver does not report them.
     */
    size_t most_items;    /* work-items in a group */
    uint64_t local_bytes; /* local memory that a group takes, without arguments */
};

struct clf__program {
    char *name;
    char *defines;
    char *options; /* all that the compiler got */
    char *source;  /* likewise */
    cl_program program;
    double build_seconds; /* 0 where it was not compiled */
    char *stored_kernels; /* of the cache's file that it came from, as in cache.c; NULL when compiled */
};

struct clf__programs {
    struct clf__program **programs; /* one allocation each: kernels point at them */
    int count;
    struct clf__kernel **kernels; /* an open hash table; capacity is a power of two, or 0 */
    int kernel_count;
    int kernel_capacity;
    struct clf__kernel_source *added; /* beside the embedded ones */
    int added_count;
    struct clf__program_cache cache;
    struct clf__programs_ahead ahead;
};

/* The kernel of cl/<program>.cl built with defines (NULL: none). CLF_BUILD when it does not compile. */
clf_status clf__program_kernel(struct clf__kernel **out, struct clf_device *device, const char *program,
                               const char *kernel, const char *defines);

/* Takes a program from the cache, if it is there and whole, without asking for a kernel of it. Says nothing.
 */
clf_status clf__program_load(struct clf_device *device, const char *name, const char *defines);

/* The text of a program: cl/include/prelude.cl and the file of cl/ with this name, whose lines `#include
 * "folder/other.cl"` are replaced by that file; #line directives make the driver's messages name our file and
 * our line. The caller frees *out. */
clf_status clf__program_source(char **out, const struct clf__programs *programs, const char *name);

/* Compiles a program's source with its options, whatever the cache holds. CLF_BUILD when it does not compile;
 * the driver's log goes to the log. */
clf_status clf__program_compile(cl_program *out, struct clf_device *device,
                                const struct clf__program *program);

/* Gives a device its programs, none of them compiled yet; are_kept: on disk too, for the next start. */
clf_status clf__programs_create(struct clf_device *device, int are_kept);
void clf__programs_free(struct clf__programs *programs); /* NULL is ignored */

#endif
