/* What dataset.c fills and dataset_plan.c cuts into batches. */
#ifndef CLF_TRAIN_DATASET_INTERNAL_H
#define CLF_TRAIN_DATASET_INTERNAL_H

#include "train/dataset.h"

/* One pair: source ids, then target ids, end token included. Frames: the target's alone. */
struct clf__pair {
    size_t first;       /* in the ids */
    int source, target; /* lengths */
};

/* Pairs order[first] .. order[first + count - 1] of a plan. */
struct clf__planned_batch {
    int first, count;
};

struct clf__dataset {
    int feature_size; /* 0: tokens */
    int decoder_start_id;
    int32_t *ids;
    size_t id_count, id_capacity;
    struct clf__pair *pairs;
    int count, capacity;
    char **paths; /* (count) of the .npy files; NULL for tokens */
    /* The plan. */
    int *order; /* (count) */
    struct clf__planned_batch *batches;
    int batch_count;
    /* One batch, of the size of the plan's largest. */
    int *source_first, *input_first;
    int32_t *source_ids, *input_ids, *labels;
    float *frames;
};

void clf__dataset_forget_plan(struct clf__dataset *dataset);

#endif
