/* Structures and functions shared by the files of backprop. */
#ifndef CLF_BACKPROP_INTERNAL_H
#define CLF_BACKPROP_INTERNAL_H

#include "math/layers/workspace.h"
#include "model/backprop/training.h"
#include "model/config/sides.h"
#include "model/upload.h"

/* values, gradients, two moments, in the order of enum clf__training_values */
enum { CLF__TRAINED_KINDS = 4 };

/* The location of a parameter: rows of a weight, or elements of a vector, starting at `first`. */
struct clf__parameter_place {
    struct clf__weight *weights[CLF__TRAINED_KINDS]; /* NULL for a vector */
    struct clf__tensor vectors[CLF__TRAINED_KINDS];  /* (1, n); buffer NULL: not trained */
    int first;
};

/* A trained array on the device (one parameter or several stacked ones) with its gradient and moments, which
 * have the same layout. */
struct clf__trained {
    struct clf__tensor arrays[CLF__TRAINED_KINDS]; /* (1, n) */
    struct clf__weight *weight;                    /* the weight that holds the values; NULL for a vector */
    int decays;
    int first_part, parts; /* range of the partial sums of squares */
    int stage;             /* the stage that completes the gradient (buckets.c) */
    size_t place;          /* offset of the gradient in all gradients, in floats */
};

/* A gradient bucket: gradients that the ranks all-reduce together. */
struct clf__bucket {
    int range;
    size_t first, count;  /* floats in the mapped range */
    size_t place;         /* offset of the first float in all gradients */
    const size_t *shares; /* (ranks) floats in each rank's share */
};

/* All buckets. The backward pass maps complete gradients to the host, from the top layer down, and the ranks
 * all-reduce them asynchronously. */
struct clf__gradient_buckets {
    struct clf__mapped_range *ranges; /* (range_count) in the order in which they become complete */
    int *stages;                      /* (range_count) the stage that completes the range */
    int range_count;
    int begun;                 /* number of ranges that the current pass has started to map */
    int is_on;                 /* the current pass maps gradients */
    struct clf__bucket *items; /* (count) in the order of the ranges */
    int count;
    size_t *shares; /* the shares of all buckets */
    size_t longest, largest_share;
};

/* A part of an array that is in this rank's share: the rank updates it and keeps its moments. */
struct clf__share_part {
    int trained, bucket;
    size_t first, count; /* floats in the array */
    struct clf__tensor moments[2];
};

/* The inputs of a pass for one stack: the sources, or the decoder's inputs. */
struct clf__pass_side {
    struct clf__sequence_views views;
    struct clf__id_groups ids, positions;
    int rows;
};

/* One forward pass: the uploaded batch and the dropout settings. */
struct clf__pass {
    struct clf__pass_side sides[2]; /* by enum clf__side */
    struct clf__sequence_ranges cross;
    const struct clf__sequences *sources; /* may have more frames than the encoder has rows */
    struct clf__tensor labels;
    int64_t counted; /* number of labels other than -1 */
    int is_training; /* 0: no dropout, no gradients */
    uint32_t number;
    float gradient_scale;
};

/* The activations of one stack. */
struct clf__activations_of_side {
    struct clf__tensor sums;   /* (N, D) the input of the embedding norm */
    struct clf__tensor inputs; /* (N, D) input of the first layer */
    struct clf__layer_record *layers;
    struct clf__tensor normed; /* (N, D) the output of the final norm */
};

struct clf__training {
    struct clf__transformer *transformer;
    struct clf__training_limits limits;
    struct clf__training_options options;
    struct clf__arena arena;
    const struct clf__communicator *ranks;
    struct clf__parameter_tree gradients, moments[2]; /* moments only if not sharded */
    struct clf__pool shards;                          /* this rank's share of the moments, if sharded */
    struct clf__share_part
        *share_parts; /* (share_part_count) this rank's share of the arrays, or all arrays */
    int share_part_count;
    float *gathered[CLF__TICKETS]; /* buckets of an all-gather, for sharded moments */
    struct clf__gradient_buckets buckets;
    struct clf__parameter_list list;
    struct clf__parameter_place *places; /* (parameters) location of each parameter */
    struct clf__trained *trained;
    int trained_count;
    struct clf__tensor *untrained; /* gradients of zeros in stacked biases, which are not parameters */
    int untrained_count;
    struct clf__activations_of_side activations[2]; /* by enum clf__side */
    struct clf__tensor dencoded;                    /* (N, D) the gradient of the encoder's output */
    struct clf__gradient_workspace workspace;
    struct clf__attention_scratch scratch;
    int source_rows;   /* maximum number of encoder rows */
    int *source_first; /* (sequences + 1) the first encoder row of each source in the batch */
    struct clf__tensor frames;
    struct clf__tensor front_record; /* (1, n) the record of a convolutional front end; buffer NULL: none */
    struct clf__tensor logits;       /* (rows of a chunk, V), later their gradient */
    struct clf__tensor losses;       /* (target tokens, 2) */
    struct clf__tensor parts;        /* (1, n) sums of squares */
    struct clf__upload upload;
    struct clf__pass pass; /* the current pass */
    float *host;           /* losses and sums of squares, read from the device */
    float *zeros;          /* (D) if keeps_padding, else NULL */
};

/* Returns CLF_UNSUPPORTED if the count exceeds INT_MAX, because the kernels use int indices. */
clf_status clf__training_check_count(const char *name, int64_t count);

/* Returns the gradients, or the moments of one kind. */
static inline struct clf__parameter_tree *clf__training_tree(struct clf__training *training, int kind)
{
    return kind == CLF__GRADIENTS ? &training->gradients : &training->moments[kind - CLF__FIRST_MOMENTS];
}

/* Returns the trained model's encoder or decoder. */
static inline struct clf__stack *clf__training_stack(const struct clf__training *training,
                                                     enum clf__side side)
{
    return clf__stack_of(clf__transformer_stacks(training->transformer), side);
}

/* Finds the device arrays of all parameters: fills in places, trained and untrained. */
clf_status clf__training_place(struct clf__training *training);

/* Returns the number of arrays that have the model's layout; sharded moments have another layout. */
static inline int clf__training_kinds(const struct clf__training *training)
{
    return training->options.shards_moments ? CLF__FIRST_MOMENTS : CLF__TRAINED_KINDS;
}

/* buckets.c: gradient buckets. */
clf_status clf__buckets_create(struct clf__training *training);
void clf__buckets_free(struct clf__training *training);
/* Returns the stage that completes the gradients of a layer. */
int clf__gradient_stage(const struct clf__config *config, enum clf__side side, int layer);
/* If this pass maps gradients, maps those that are complete after `stage`. */
clf_status clf__buckets_map_until(struct clf__training *training, int stage);

/* shards.c: fills in share_parts; called after clf__buckets_create(). */
clf_status clf__shards_create(struct clf__training *training);
void clf__shards_free(struct clf__training *training);
/* Gathers the updated values of all ranks on each rank. */
clf_status clf__shards_exchange_values(struct clf__training *training);

/* Fills and uploads the inputs of a batch. */
clf_status clf__training_upload(struct clf__training *training, struct clf__pass *pass,
                                const struct clf__training_batch *batch);
/* Returns the maximum number of integers in a batch's upload. */
int64_t clf__training_upload_size(const struct clf__training_limits *limits);

/* Run the forward and backward passes of the stacks. The backward passes start from the gradient of the
 * decoder's output in the workspace. */
clf_status clf__training_stacks_forward(struct clf__training *training, const struct clf__pass *pass);
clf_status clf__training_stacks_backward(struct clf__training *training, const struct clf__pass *pass);

/* Returns the output of a stack. */
struct clf__tensor clf__training_output(const struct clf__training *training, const struct clf__pass *pass,
                                        enum clf__side side);

/* Computes logits, losses and, in training, the gradient of the decoder's output (in the workspace), in
 * chunks of rows. */
clf_status clf__training_project(struct clf__training *training, const struct clf__pass *pass);
/* Reads the summed losses of all rows; waits for the device. */
clf_status clf__training_read_losses(struct clf__training *training, const struct clf__pass *pass,
                                     struct clf__training_loss *loss);
/* Returns the number of rows in a chunk of logits. */
int clf__training_logits_rows(const struct clf__training *training);

/* Returns 1 if the model has relative biases, whose gradients the host completes. */
static inline int clf__training_has_relative(const struct clf__training *training)
{
    return clf__config_has_positions(&training->transformer->config, CLF__POSITIONS_RELATIVE);
}

#endif
