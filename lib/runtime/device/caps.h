/* The capabilities of a device, from its reported properties and from probe kernels, never from its name. */
#ifndef CLF_DEVICE_CAPS_H
#define CLF_DEVICE_CAPS_H

#include <clformer/device.h>

#include "runtime/tuning/levels.h"
#include "runtime/tuning/tuning.h"

/* Work-items per group of a GPU variant: the default (GROUP in cl/include/prelude.cl); for tiles, which
 * every device must support; and for long rows, if the device supports it. */
enum { CLF__GROUP = 64, CLF__TILE_GROUP = 128, CLF__LONG_GROUP = 256 };
#define CLF__LONG_GROUP_DEFINE "-DGROUP=256"

struct clf__caps {
    clf_variant variant;     /* CLF_VARIANT_CPU or CLF_VARIANT_GPU, never AUTO */
    clf_gemm gemm;           /* CLF_GEMM_NATIVE or CLF_GEMM_CLBLAST, never AUTO */
    int asks_for_clblast;    /* CLBlast was requested by the caller or the environment, not by tuning */
    clf_attention attention; /* CLF_ATTENTION_FUSED or CLF_ATTENTION_BATCHED, never AUTO */
    unsigned compute_units;
    size_t max_work_group; /* maximum work-items per group */
    uint64_t local_memory_bytes;
    uint64_t memory_bytes;
    uint64_t usable_bytes; /* memory that was free when the device was opened, as far as reported */
    uint64_t max_buffer_bytes;
    clf_instructions instructions; /* the requested instruction set level */
    int has_integer_dot_product;
    const struct clf__level *level; /* detected by the probe kernels */
    int is_int8_plain;              /* int8 GEMM is faster without the matrix instructions of the level */
    int has_device_atomics;         /* device-scope acquire and release, in OpenCL C 3.0 */
    int has_fenced_atomics;         /* without them: the atomic functions of OpenCL C 1.2 passed a trial
                                     * (open/barrier_choice.h) */
    int has_fixed_addresses; /* the address of a buffer stays constant between launches; no OpenCL property
                              * reports this */
    int is_paced;            /* may have a watchdog, so work is enqueued in portions (queue.h) */
    int program_key;         /* > 0: makes the program hashes of this device unique (open/program_key.h) */
    unsigned without; /* features disabled by $CLFORMER_WITHOUT: CLF__WITHOUT_... of base/environment.h */
    struct clf__tuning tuning; /* its choices are already applied to the members above */
};

const struct clf__caps *clf__device_caps(const struct clf_device *device);

/* Returns whether the device uses matrix instructions; and whether GEMM in a precision uses them: never in
 * fp32, in bf16 only if the level has them, and in int8 only if they are faster. */
int clf__caps_have_matrix(const struct clf__caps *caps);
int clf__caps_use_matrix(const struct clf__caps *caps, enum clf__precision precision);

/* Returns the maximum number of decoding steps that are enqueued at the same time: 1 or 2. */
int clf__caps_pipelined_steps(const struct clf__caps *caps);

/* Changes a numeric tunable (not a choice) of an open device, for benchmarks. */
void clf__device_set_tunable(struct clf_device *device, enum clf__tunable tunable, int value);

struct clf__listed_device;

/* Fills in the capabilities of a listed device, with the kernel variants that the options request. Returns
 * CLF_UNSUPPORTED for a variant that the device cannot run. */
clf_status clf__caps_choose(struct clf__caps *out, const struct clf__listed_device *device,
                            const struct clf_device_options *options);

/* Sets *out to the compiler options of every program on the device; the caller frees it. */
clf_status clf__caps_build_options(char **out, const struct clf__listed_device *device,
                                   const struct clf__caps *caps);

#endif
