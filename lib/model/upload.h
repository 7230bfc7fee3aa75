/* What a batch of sequences becomes on the device: integers, sent in one copy. */
#ifndef CLF_MODEL_UPLOAD_H
#define CLF_MODEL_UPLOAD_H

#include "config/sides.h"
#include "ops/mask.h"
#include "tensor/tensor.h"

/* Several sequences, one after the other: sequence b is rows first[b] .. first[b + 1] - 1. */
struct clf__sequences {
    int count;
    const int *first;    /* (count + 1) */
    const int32_t *ids;  /* tokens, or NULL for frames */
    const float *frames; /* (rows, feature size), or NULL for tokens */
};

/* Collected on the host, handed out as views of one tensor. */
struct clf__upload {
    struct clf__tensor tensor; /* (1, capacity) i32 */
    int32_t *staging;          /* (capacity), freed by its owner */
    int count;
};

/* Room for `count` integers. */
clf_status clf__upload_reserve(struct clf__upload *upload, struct clf__arena *arena, int64_t count);
/* The next `count` integers: *target is where to put them, the view is what kernels get. */
struct clf__tensor clf__upload_take(struct clf__upload *upload, int count, int32_t **target);
/* The same as a table of ranges. */
struct clf__sequence_ranges clf__upload_take_ranges(struct clf__upload *upload, int sequences,
                                                    int32_t **target);
clf_status clf__upload_send(const struct clf__upload *upload);
/* Without waiting: what was collected stays until the device is waited for, after a failure by
 * clf__device_settle(). */
clf_status clf__upload_send_later(const struct clf__upload *upload);

/* What an embedder and self-attention need of sequences: ids (zeros for frames), rows of the table of
 * positions, pad tokens that are hidden, where each sequence lies. */
struct clf__sequence_views {
    struct clf__tensor ids, positions;  /* (1, rows) i32 */
    struct clf__tensor hidden;          /* (1, rows) i32; buffer NULL: the configuration hides none */
    struct clf__sequence_ranges ranges; /* of each sequence to itself */
    const int32_t *host_positions;      /* what they hold, in the staging */
    const int32_t *host_hidden;
};
/* Takes 3 integers a row and 4 a sequence. */
void clf__upload_take_sequences(struct clf__sequence_views *views, struct clf__upload *upload,
                                const struct clf__config *config, const struct clf__sequences *sequences,
                                enum clf__side side);

#endif
