/* Converts a batch of sequences to device tables of integers, sent in one copy. */
#ifndef CLF_MODEL_UPLOAD_H
#define CLF_MODEL_UPLOAD_H

#include "math/ops/mask.h"
#include "math/tensor/tensor.h"
#include "model/config/sides.h"

/* Several sequences in order: sequence b is rows first[b] to first[b + 1] - 1. */
struct clf__sequences {
    int count;
    const int *first;    /* (count + 1) */
    const int32_t *ids;  /* tokens, or NULL for frames */
    const float *frames; /* (rows, feature size), or NULL for tokens */
};

/* A host buffer of integers, returned as views of one device tensor. */
struct clf__upload {
    struct clf__tensor tensor; /* (1, capacity) i32 */
    int32_t *staging;          /* (capacity), owned by the struct's owner */
    int count;
};

/* Reserves space for `count` integers. */
clf_status clf__upload_reserve(struct clf__upload *upload, struct clf__arena *arena, int64_t count);
/* Takes the next `count` integers: the caller writes to *target, kernels read the returned view. */
struct clf__tensor clf__upload_take(struct clf__upload *upload, int count, int32_t **target);
/* Takes space for a table of ranges. */
struct clf__sequence_ranges clf__upload_take_ranges(struct clf__upload *upload, int sequences,
                                                    int32_t **target);
clf_status clf__upload_send(const struct clf__upload *upload);
/* Sends the tables without waiting. The staging buffer must not change until the device has finished or,
 * after a failure, until clf__device_settle(). */
clf_status clf__upload_send_later(const struct clf__upload *upload);

/* Tables of sequences for an embedder and self-attention: ids (zeros for frames), position rows, mask of pad
 * tokens, and ranges. */
struct clf__sequence_views {
    struct clf__tensor ids, positions;  /* (1, rows) i32 */
    struct clf__tensor hidden;          /* (1, rows) i32; buffer NULL: no tokens are masked */
    struct clf__sequence_ranges ranges; /* self-attention range of each sequence */
    const int32_t *host_positions;      /* content of the positions in the staging buffer */
    const int32_t *host_hidden;
};
/* Fills in the tables of a batch, with 3 integers per row and 4 per sequence. */
void clf__upload_take_sequences(struct clf__sequence_views *views, struct clf__upload *upload,
                                const struct clf__config *config, const struct clf__sequences *sequences,
                                enum clf__side side);

#endif
