/* Internals of an open device, for code that calls OpenCL directly. A device and its objects may be used by
 * only one thread at a time. */
#ifndef CLF_DEVICE_DEVICE_H
#define CLF_DEVICE_DEVICE_H

#include <clformer/device.h>

#include "base/fair_lock.h"
#include "runtime/device/caps.h"
#include "runtime/opencl/listed_device.h"
#include "runtime/opencl/opencl.h"
#include "runtime/tuning/barrier_trial.h"
#include "runtime/tuning/level_trial.h"

/* Work enqueued since the host last waited for the queue. */
struct clf__pace {
    double operations; /* number of operations */
    double since;      /* time of the first launch, or when earlier work ended */
    double rate;       /* measured operations per second; 0: not measured yet */
    double total;      /* operations enqueued since the device was opened */
};

struct clf_device {
    struct clf_device_list *list; /* owns *info */
    const struct clf_device_info *info;
    char *label; /* "2 \"name\"", for messages */
    cl_device_id id;
    struct clf__fair_lock lock; /* lock.h */
    cl_context context;
    cl_command_queue queue; /* in order */
    struct clf__caps caps;
    struct clf__level_trials trials; /* of matrix instructions, if AUTO considered any */
    struct clf__barrier_trial barrier_trial;
    char *build_options;            /* compiler options of every program */
    struct clf__programs *programs; /* runtime/program/program.h */
    _Atomic uint64_t used_bytes;    /* bytes of all live buffers; any thread may read them */
    uint64_t peak_bytes;            /* maximum of used_bytes */
    uint64_t last_buffer;           /* number of the newest buffer */
    int unflushed;                  /* launches since the last flush: queue.h */
    int has_flushed;                /* flushed since the host last waited */
    struct clf__pace pace;          /* work since the host last waited */
    int is_dry_run;                 /* dry_run.h */
    struct clf__profile *profile;   /* profile.h; NULL: off */
    struct clf_device_peaks peaks;  /* last measurement */
    struct clf__buffer *packed;     /* scratch of math/gemm/activations.c, or NULL */
    struct clf__buffer *transposed; /* scratch of math/gemm/native_gradient.c, or NULL */
    struct clf__slab *slab;         /* the last slab of slab.c; NULL: none, or all of its buffers are freed */
    struct clf_device *next_keyed;  /* used by open/program_key.c */
    int has_no_slabs;               /* allocating a slab failed; do not try again */
    struct clf_device *next_holder; /* used by runtime/device/exclusive.c */
    int claims;                     /* the same: claims without a release */
    /* Launches whose groups wait for each other: disabled because the kernel failed, after a timeout, or
     * after wrong results; and the number of steps for which they and separate launches gave equal results.
     */
    int has_no_persistent_launches, persistent_proofs;
    int has_no_linear_pairs, linear_pair_proofs;
};

struct clf__buffer {
    struct clf_device *device;
    cl_mem memory;   /* NULL: allocated in a dry run */
    uint64_t number; /* starts at 1; unique among the device's buffers */
    size_t bytes;
    struct clf__slab *slab; /* the slab that contains it, or NULL */
    size_t first;           /* offset in the slab */
    char what[];            /* for messages */
};

/* A large buffer that contains smaller buffers. */
struct clf__slab {
    struct clf__buffer *whole; /* NULL: not allocated yet */
    size_t used;               /* bytes in use */
    int users;
};

/* Allocates the structure of a buffer, without device memory. */
clf_status clf__buffer_allocate(struct clf__buffer **out, struct clf_device *device, size_t bytes,
                                const char *what);

/* Like clf__buffer_create(); is_weight selects the advice in the error message. */
clf_status clf__buffer_create_for(struct clf__buffer **out, struct clf_device *device, size_t bytes,
                                  const char *what, int is_weight);

/* Enqueues a read and sets *out to its event, which the caller releases even after a failure unless it is
 * NULL. `target` must stay valid until the read has ended. */
clf_status clf__buffer_read_later(cl_event *out, const struct clf__buffer *buffer, size_t offset,
                                  size_t bytes, void *target);

/* Returns whether the slab has space for `bytes` more bytes within `limit`. */
int clf__slab_has_room(const struct clf__slab *slab, size_t bytes, size_t limit);
/* Reserve space for a buffer in a slab and count the buffer as a user; create the sub-buffer. */
void clf__slab_reserve(struct clf__slab *slab, struct clf__buffer *buffer);
clf_status clf__slab_cut(struct clf__buffer *buffer);
/* Removes one user; without users the slab is freed. */
void clf__slab_leave(struct clf__slab *slab);

#endif
