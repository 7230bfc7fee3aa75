/* What a device can do, from what it reports and from probe kernels, never from its name. */
#ifndef CLF_DEVICE_CAPS_H
#define CLF_DEVICE_CAPS_H

#include <clformer/device.h>

#include "tuning/levels.h"
#include "tuning/tuning.h"

/* Work-items a group of a GPU form: where its launch names no other number, GROUP in cl/include/prelude.cl;
 * of tiles, which every device must run; and of long rows, on devices that run so many. */
enum { CLF__GROUP = 64, CLF__TILE_GROUP = 128, CLF__LONG_GROUP = 256 };
#define CLF__LONG_GROUP_DEFINE "-DGROUP=256"

struct clf__caps {
    clf_form form;           /* CLF_FORM_CPU or CLF_FORM_GPU, never AUTO */
    clf_gemm gemm;           /* CLF_GEMM_NATIVE or CLF_GEMM_CLBLAST, never AUTO */
    int asks_for_clblast;    /* the caller or the environment, neither the default nor what is tuned */
    clf_attention attention; /* CLF_ATTENTION_FUSED or CLF_ATTENTION_BATCHED, never AUTO */
    unsigned compute_units;
    size_t max_work_group; /* work-items */
    uint64_t local_memory_bytes;
    uint64_t memory_bytes;
    uint64_t usable_bytes; /* free when the device was opened, as far as the system reports it */
    uint64_t max_buffer_bytes;
    clf_instructions instructions; /* the level that was asked for */
    int has_integer_dot_product;
    const struct clf__level *level; /* as the device's first kernels found */
    int has_device_atomics;         /* acquire and release across the device, in OpenCL C 3.0 */
    int has_fixed_addresses; /* a buffer stays where one launch saw it; OpenCL promises no device that */
    int is_paced;            /* a watchdog may watch it: its work is enqueued in portions (queue.h) */
    int apart; /* > 0: its programs are built apart from those of other devices: opening/apart.h */
    unsigned
        without; /* the features that $CLFORMER_WITHOUT turns off: CLF__WITHOUT_... of base/environment.h */
    struct clf__tuning tuning; /* its choices are made above */
};

const struct clf__caps *clf__device_caps(const struct clf_device *device);

/* Whether products in every precision but fp32 are by matrix instructions. */
int clf__caps_have_matrix(const struct clf__caps *caps);

/* Changes a tuned number (not a choice) of an open device, for those who measure. */
void clf__device_set_knob(struct clf_device *device, enum clf__knob knob, int value);

struct clf__listed_device;

/* What a listed device can do, with the forms that the options ask for; AUTO takes what suits the device.
 * CLF_UNSUPPORTED for a form that the device cannot take. */
clf_status clf__caps_choose(struct clf__caps *out, const struct clf__listed_device *device,
                            const struct clf_device_options *options);

/* The compiler options of every program on the device; the caller frees *out. */
clf_status clf__caps_build_options(char **out, const struct clf__listed_device *device,
                                   const struct clf__caps *caps);

#endif
