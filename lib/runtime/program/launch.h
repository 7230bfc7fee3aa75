/* Runs the kernels in cl/. */
#ifndef CLF_PROGRAM_LAUNCH_H
#define CLF_PROGRAM_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "runtime/device/caps.h"
#include "runtime/device/cost.h"

struct clf_device;
struct clf__buffer;

enum clf__argument_kind {
    CLF__ARGUMENT_BUFFER,
    CLF__ARGUMENT_INT,
    CLF__ARGUMENT_FLOAT,
    CLF__ARGUMENT_STRUCT,
    CLF__ARGUMENT_LOCAL
};

/* The kernel variants that have the argument. */
enum clf__argument_variant { CLF__OF_BOTH, CLF__OF_CPU, CLF__OF_GPU };

struct clf__argument {
    enum clf__argument_kind kind;
    enum clf__argument_variant variant;
    const struct clf__buffer *buffer; /* NULL passes a null pointer */
    int32_t integer;
    float real;
    const void *data; /* a struct that the kernel takes by value */
    size_t bytes;     /* size of the struct or of local memory */
};

/* clang-format off */
#define CLF__BUFFER(b)  { .kind = CLF__ARGUMENT_BUFFER, .buffer = (b) }
#define CLF__INT(i)     { .kind = CLF__ARGUMENT_INT, .integer = (i) }
#define CLF__FLOAT(f)   { .kind = CLF__ARGUMENT_FLOAT, .real = (f) }
#define CLF__STRUCT(s)  { .kind = CLF__ARGUMENT_STRUCT, .data = &(s), .bytes = sizeof(s) }
#define CLF__LOCAL(n)   { .kind = CLF__ARGUMENT_LOCAL, .variant = CLF__OF_GPU, .bytes = (n) }
#define CLF__GPU_BUFFER(b) { .kind = CLF__ARGUMENT_BUFFER, .variant = CLF__OF_GPU, .buffer = (b) }
#define CLF__CPU_INT(i) { .kind = CLF__ARGUMENT_INT, .variant = CLF__OF_CPU, .integer = (i) }
/* clang-format on */

/* A kernel of one variant with its work-groups. */
struct clf__grid {
    const char *kernel; /* "softmax_forward_cpu"; NULL: this variant does not exist */
    size_t groups[3];   /* work-groups; zero counts as one, because the caller skips empty launches */
    size_t local[3];    /* work-items per group; zero: one in the CPU variant, CLF__GROUP in the GPU
                         * variant */
};

/* clang-format off */
#define CLF__GRID(name, ...) { .kernel = (name), .groups = { __VA_ARGS__ }, .local = { 0 } }
/* Set members of a struct clf__launch: the same groups for both variants, and the arguments from an array. */
#define CLF__GRIDS(name, ...) \
    .cpu = CLF__GRID(name "_cpu", __VA_ARGS__), .gpu = CLF__GRID(name "_gpu", __VA_ARGS__)
#define CLF__ARGUMENTS(array) .arguments = (array), .argument_count = sizeof(array) / sizeof *(array)
/* clang-format on */

/* One launch. The program is cl/include/prelude.cl followed by the file of this name in cl/, built with
 * `defines`; it is compiled once per device. */
struct clf__launch {
    const char *program;       /* "softmax" */
    const char *defines;       /* "-DHEAD_WIDTH=64", or NULL */
    struct clf__grid cpu, gpu; /* the device uses the grid of its variant */
    const struct clf__argument *arguments;
    int argument_count;
    struct clf__cost cost; /* cost for the profile */
    int *exceeds; /* not NULL: receives whether a group exceeds the limits of the kernel; then nothing is
                   * launched, clf__launch() succeeds, and the caller launches smaller groups */
};

/* Compiles the kernel of a launch without running it. *exceeds receives whether a group exceeds the limits
 * of the kernel; only the local memory arguments are used. */
clf_status clf__launch_check(int *exceeds, struct clf_device *device, const struct clf__launch *launch);

/* Enqueues a launch. Error messages name the kernel and the device. Returns CLF_UNSUPPORTED, with the
 * sizes, if the driver rejects a group that exceeds its reported limits. */
clf_status clf__launch(struct clf_device *device, const struct clf__launch *launch);

#endif
