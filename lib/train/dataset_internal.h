/* The dataset, which dataset.c fills and dataset_plan.c divides into batches. */
#ifndef CLF_TRAIN_DATASET_INTERNAL_H
#define CLF_TRAIN_DATASET_INTERNAL_H

#include "audio/frames.h"
#include "train/dataset.h"

/* One pair: source ids, then target ids with the end token. Speech has only target ids. */
struct clf__pair {
    size_t first;       /* index of the first id in the dataset's ids */
    int source, target; /* lengths */
};

/* The file from which the frames of a pair are read or computed. */
struct clf__frame_source {
    char *path;
    int is_recording;
    float
        *kept; /* (source, feature size) frames kept in memory; NULL: computed or read again for each batch */
};

/* Pairs order[first] .. order[first + count - 1] of a plan. */
struct clf__planned_batch {
    int first, count;
};

struct clf__dataset {
    int feature_size;                /* 0: sources are tokens */
    struct clf__frame_layout layout; /* layout of the frames of recordings */
    int decoder_start_id;
    int32_t *ids;
    size_t id_count, id_capacity;
    struct clf__pair *pairs;
    int count, capacity;
    struct clf__frame_source *frame_sources; /* (count); NULL for tokens */
    struct clf__frame_maker *maker;          /* NULL: there are no recordings */
    int64_t kept_bytes;                      /* bytes of frames kept so far */
    /* The plan. */
    int *order; /* (count) */
    struct clf__planned_batch *batches;
    int batch_count;
    /* Memory for one batch, large enough for the largest of the plan. */
    int *source_first, *input_first;
    int32_t *source_ids, *input_ids, *labels;
    float *frames;
};

void clf__dataset_forget_plan(struct clf__dataset *dataset);

#endif
