/* Uploads the integer tables of a batch of sequences to the device in one copy. */
#ifndef CLF_MODEL_UPLOAD_H
#define CLF_MODEL_UPLOAD_H

#include "math/ops/mask.h"
#include "math/tensor/tensor.h"
#include "model/config/sides.h"

/* A batch of sequences: sequence b is rows first[b] to first[b + 1] - 1. */
struct clf__sequences {
    int count;
    const int *first;    /* (count + 1) */
    const int32_t *ids;  /* tokens, or NULL for frames */
    const float *frames; /* (rows, feature size), or NULL for tokens */
};

/* An integer tensor with a host buffer, divided among several tables. */
struct clf__upload {
    struct clf__tensor tensor; /* (1, capacity) i32 */
    int32_t *staging;          /* (capacity) host buffer; not owned */
    int count;
};

/* Reserves space for `count` integers. */
clf_status clf__upload_reserve(struct clf__upload *upload, struct clf__arena *arena, int64_t count);
/* Allocates the next `count` integers: the caller writes to *target, and kernels read the returned view. */
struct clf__tensor clf__upload_take(struct clf__upload *upload, int count, int32_t **target);
/* Allocates space for a table of ranges. */
struct clf__sequence_ranges clf__upload_take_ranges(struct clf__upload *upload, int sequences,
                                                    int32_t **target);
clf_status clf__upload_send(const struct clf__upload *upload);
/* Enqueues the copy. The host buffer must not change until the device has finished or, after a failure, until
 * clf__device_settle(). */
clf_status clf__upload_send_later(const struct clf__upload *upload);

/* Tables of a batch for embedding and self-attention. */
struct clf__sequence_views {
    struct clf__tensor ids, positions;  /* (1, rows) i32 */
    struct clf__tensor hidden;          /* mask of pad tokens (1, rows) i32; buffer NULL: no masked tokens */
    struct clf__sequence_ranges ranges; /* self-attention range of each sequence */
    const int32_t *host_positions;      /* host values of `positions` */
    const int32_t *host_hidden;
};
/* Fills in the tables of a batch, which take 3 integers per row and 4 per sequence. */
void clf__upload_take_sequences(struct clf__sequence_views *views, struct clf__upload *upload,
                                const struct clf__config *config, const struct clf__sequences *sequences,
                                enum clf__side side);

#endif
