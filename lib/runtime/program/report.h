/* Reports on the compiled kernels of an open device. */
#ifndef CLF_PROGRAM_REPORT_H
#define CLF_PROGRAM_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct clf_device;

/* A kernel that was used; the strings are valid during the call. */
struct clf__kernel_report {
    const char *program, *defines, *kernel;
    size_t most_items;      /* maximum work-items in a group */
    size_t multiple;        /* preferred work-group size multiple */
    uint64_t local_bytes;   /* local memory of a group */
    uint64_t private_bytes; /* private memory of a work-item */
    double build_seconds;   /* build time of the program; 0: loaded from the cache */
    const char *log;        /* log of that build */
};
/* Any status except CLF_OK ends the report. */
typedef clf_status clf__kernel_visitor(void *user, const struct clf__kernel_report *kernel);

clf_status clf__program_report(struct clf_device *device, clf__kernel_visitor *visit, void *user);

#endif
