/* The inside of an open device, for code that calls OpenCL directly. A device and its objects may be used
 * by only one thread at a time. */
#ifndef CLF_DEVICE_DEVICE_H
#define CLF_DEVICE_DEVICE_H

#include <clformer/device.h>

#include "base/fair_lock.h"
#include "device/caps.h"
#include "opencl/listed_device.h"
#include "opencl/opencl.h"

/* Enqueued work that nobody has waited for. */
struct clf__pace {
    double operations; /* launched since the host last waited */
    double since;      /* when the first of them was enqueued */
    double rate;       /* measured operations per second; 0: not measured yet */
};

struct clf_device {
    struct clf_device_list *list; /* owns what info points at */
    const struct clf_device_info *info;
    char *label; /* "2 \"name\"", for messages */
    cl_device_id id;
    struct clf__fair_lock lock; /* lock.h */
    cl_context context;
    cl_command_queue queue; /* in order */
    struct clf__caps caps;
    char *build_options;            /* of every program */
    struct clf__programs *programs; /* program/program.h */
    uint64_t used_bytes;            /* of all buffers alive */
    uint64_t peak_bytes;            /* the maximum of these */
    uint64_t last_buffer;           /* the number of the newest one */
    int unflushed;                  /* launches since the last flush: queue.h */
    int has_flushed;                /* since the host last waited for the queue */
    struct clf__pace pace;          /* likewise */
    int is_dry_run;                 /* dry_run.h */
    struct clf__profile *profile;   /* profile.h; NULL: off */
    struct clf_device_peaks peaks;  /* last measurement */
    struct clf__buffer *packed;     /* scratch of gemm/activations.c, NULL until it is needed */
    struct clf__buffer *transposed; /* scratch of gemm/native_gradient.c, likewise */
    struct clf__slab *slab;         /* the last slab of slab.c; NULL: none, or all of its buffers are freed */
    struct clf_device *next_keyed;  /* of opening/program_key.c */
    int has_no_slabs;               /* allocating one failed, so no other is tried */
    struct clf_device *next_holder; /* used by device/exclusive.c */
    int has_no_persistent_launches; /* their kernel fails, a group waited too long, or results differ */
    int persistent_proofs;          /* steps with equal results from persistent and separate launches */
};

struct clf__buffer {
    struct clf_device *device;
    cl_mem memory;   /* NULL: allocated in a dry run */
    uint64_t number; /* from 1; unique among the device's buffers */
    size_t bytes;
    struct clf__slab *slab; /* the slab that contains it, or NULL */
    size_t first;           /* its first byte there */
    char what[];            /* for messages */
};

/* Memory shared by buffers. */
struct clf__slab {
    struct clf__buffer *whole; /* NULL: not made yet */
    size_t used;               /* from its start on */
    int users;
};

/* A buffer without memory. */
clf_status clf__buffer_allocate(struct clf__buffer **out, struct clf_device *device, size_t bytes,
                                const char *what);

/* clf__buffer_create(); is_weight chooses the advice of a refusal. */
clf_status clf__buffer_create_for(struct clf__buffer **out, struct clf_device *device, size_t bytes,
                                  const char *what, int is_weight);

/* Returns whether the device's memory in use would stay within `limit` with this many more bytes. */
int clf__slab_has_room(const struct clf__slab *slab, size_t bytes, size_t limit);
/* Reserves space for a buffer in a slab and makes the buffer a user of it; then creates its memory there. */
void clf__slab_reserve(struct clf__slab *slab, struct clf__buffer *buffer);
clf_status clf__slab_cut(struct clf__buffer *buffer);
/* Releases one user; the last one frees the slab. */
void clf__slab_leave(struct clf__slab *slab);

#endif
