/* The inside of an opened device, for those who call OpenCL themselves. One thread at a time uses a device
 * and all made on it. */
#ifndef CLF_DEVICE_DEVICE_H
#define CLF_DEVICE_DEVICE_H

#include <clformer/device.h>

#include "base/fair_lock.h"
#include "device/caps.h"
#include "opencl/listed_device.h"
#include "opencl/opencl.h"

/* Work that a device was given and has not been waited for. */
struct clf__pace {
    double operations; /* launched since the host last waited */
    double since;      /* when the first of them was enqueued */
    double rate;       /* operations a second that the device was seen to reach; 0: not seen yet */
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
    uint64_t peak_bytes;            /* the most that these were */
    uint64_t last_buffer;           /* the number of the newest one */
    int unflushed;                  /* launches since the last flush: queue.h */
    int has_flushed;                /* since the host last waited for the queue */
    struct clf__pace pace;          /* likewise */
    int is_dry_run;                 /* dry_run.h */
    struct clf__profile *profile;   /* profile.h; NULL: off */
    struct clf_device_peaks peaks;  /* as they were last measured */
    struct clf__buffer *packed;     /* scratch of gemm/activations.c, NULL until it is needed */
    struct clf__buffer *transposed; /* scratch of gemm/native_gradient.c, likewise */
    struct clf__slab *slab;         /* of slab.c, the last one; NULL: none, or all in it are gone */
    struct clf_device *next_apart;  /* of opening/apart.c */
    int has_no_slabs;               /* one could not be made, and no other is tried */
    struct clf_device *next_holder; /* of device/exclusive.c */
    int has_no_persistent_launches; /* their kernel fails, a group waited too long, or results differ */
    int persistent_proofs;          /* steps whose results were those of a launch for each operation, too */
};

struct clf__buffer {
    struct clf_device *device;
    cl_mem memory;   /* NULL: made in a dry run */
    uint64_t number; /* from 1; no other buffer of the device ever has it */
    size_t bytes;
    struct clf__slab *slab; /* that it is a part of, or NULL */
    size_t first;           /* its first byte there */
    char what[];            /* for messages */
};

/* Memory that buffers share. */
struct clf__slab {
    struct clf__buffer *whole; /* NULL: not made yet */
    size_t used;               /* from its start on */
    int users;
};

/* All of a buffer but its memory. */
clf_status clf__buffer_allocate(struct clf__buffer **out, struct clf_device *device, size_t bytes,
                                const char *what);

/* clf__buffer_create(); is_weight chooses the advice of a refusal. */
clf_status clf__buffer_create_for(struct clf__buffer **out, struct clf_device *device, size_t bytes,
                                  const char *what, int is_weight);

/* Whether so many bytes more would end within `limit`. */
int clf__slab_has_room(const struct clf__slab *slab, size_t bytes, size_t limit);
/* Sets a buffer's place aside in a slab, of which it is a user from now on; and gives it the memory there. */
void clf__slab_reserve(struct clf__slab *slab, struct clf__buffer *buffer);
clf_status clf__slab_cut(struct clf__buffer *buffer);
/* One of its users is gone; with the last one goes the slab. */
void clf__slab_leave(struct clf__slab *slab);

#endif
