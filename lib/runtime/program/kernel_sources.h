/* The kernels of cl/, embedded at build time by cl/embed.cmake. */
#ifndef CLF_PROGRAM_KERNEL_SOURCES_H
#define CLF_PROGRAM_KERNEL_SOURCES_H

struct clf__kernel_source {
    const char *name; /* file name without extension, unique: "softmax" */
    const char *path; /* relative to cl/: "rows/softmax.cl"; for headers shared with C, relative to lib/ */
    const char *text;
};

extern const struct clf__kernel_source clf__kernel_sources[];
extern const int clf__kernel_source_count;

#endif
