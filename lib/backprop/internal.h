/* What the files of training share. */
#ifndef CLF_BACKPROP_INTERNAL_H
#define CLF_BACKPROP_INTERNAL_H

#include "backprop/training.h"
#include "config/sides.h"
#include "layers/workspace.h"
#include "model/upload.h"

/* Values, gradients and moments, in the order of enum clf__training_values. */
enum { CLF__TRAINED_KINDS = 4 };

/* Where a parameter lies: rows first .. of a weight, or numbers first .. of a vector. */
struct clf__place {
    struct clf__weight *weights[CLF__TRAINED_KINDS]; /* NULL where it is a vector */
    struct clf__tensor vectors[CLF__TRAINED_KINDS];  /* (1, n); buffer NULL: not trained */
    int first;
};

/* One array on the device that is trained, with the three that lie as it does: one parameter, or several that
 * are stacked. */
struct clf__trained {
    struct clf__tensor arrays[CLF__TRAINED_KINDS]; /* (1, n) */
    struct clf__weight *weight;                    /* whose values they are; NULL for a vector */
    int decays;
    int first_part, parts; /* of the sums of squares */
    int stage;             /* after which its gradient is complete: see lending.c */
    size_t place;          /* of its gradient among all of them, in floats */
};

/* Gradients that the ranks add up at a time. */
struct clf__stretch {
    int loan;
    size_t first, count;  /* floats of the loan */
    size_t place;         /* of the first among all gradients */
    const size_t *shares; /* (ranks) floats of each of them */
};

/* How gradients are lent to the host while the backward pass goes on, from the top layer down. */
struct clf__lending {
    struct clf__loan *loans;        /* (count), in the order in which they are complete */
    int *stages;                    /* (count) after which they are */
    int count, begun;               /* of this pass */
    int is_on;                      /* the pass that goes on lends */
    struct clf__stretch *stretches; /* (stretch_count), in the order of the loans */
    int stretch_count;
    size_t *shares; /* of all stretches */
    size_t longest, largest_share;
};

/* Numbers of an array whose moments this rank keeps, and steps. */
struct clf__piece {
    int trained, stretch;
    size_t first, count; /* of the array */
    struct clf__tensor moments[2];
};

/* What a pass has of one side: the sources, or the decoder's inputs. */
struct clf__pass_side {
    struct clf__sequence_views views;
    struct clf__id_groups ids, positions;
    int rows;
};

/* One forward pass: what was uploaded, and how dropout goes. */
struct clf__pass {
    struct clf__pass_side sides[2]; /* by enum clf__side */
    struct clf__sequence_ranges cross;
    const struct clf__sequences *sources; /* whose frames may be more than the encoder's rows */
    struct clf__tensor labels;
    int64_t counted; /* labels that count */
    int is_training; /* 0: no dropout, no gradients */
    uint32_t number;
    float gradient_scale;
};

/* The rows that flow through one side. */
struct clf__activations_of_side {
    struct clf__tensor sums;   /* (N, D) before the embeddings' norm */
    struct clf__tensor inputs; /* (N, D) what the first layer gets */
    struct clf__layer_record *layers;
    struct clf__tensor normed; /* (N, D) after the final norm */
};

struct clf__training {
    struct clf__transformer *transformer;
    struct clf__training_limits limits;
    struct clf__training_options options;
    struct clf__arena arena;
    const struct clf__communicator *ranks;
    struct clf__parameter_tree gradients, moments[2]; /* the latter where they are not shared out */
    struct clf__pool shards;                          /* this rank's share of the moments, where they are */
    struct clf__piece *pieces; /* (piece_count) all arrays, or this rank's share of them */
    int piece_count;
    float *gathered[CLF__TICKETS]; /* stretches that ranks send to each other, where moments are shared out */
    struct clf__lending lending;
    struct clf__parameter_list list;
    struct clf__place *places; /* one a parameter */
    struct clf__trained *trained;
    int trained_count;
    struct clf__tensor *untrained; /* gradients of parts of stacked biases that the model does not have */
    int untrained_count;
    struct clf__activations_of_side activations[2]; /* by enum clf__side */
    struct clf__tensor dencoded;                    /* (N, D) the gradient of the encoder's output */
    struct clf__gradient_workspace workspace;
    struct clf__attention_scratch scratch;
    int source_rows;   /* of the encoder, at most */
    int *source_first; /* (sequences + 1) the rows of a batch's sources */
    struct clf__tensor frames;
    struct clf__tensor front_record; /* (1, n) what a front end of convolutions keeps; else buffer NULL */
    struct clf__tensor logits;       /* (rows of a chunk, V), then their gradient */
    struct clf__tensor losses;       /* (target tokens, 2) */
    struct clf__tensor parts;        /* (1, n) sums of squares */
    struct clf__upload upload;
    struct clf__pass pass; /* that goes on */
    float *host;           /* what is read of losses and parts */
    float *zeros;          /* (D) where the padding is kept, else NULL */
};

/* CLF_UNSUPPORTED where so many values outgrow an int, in which kernels count. */
clf_status clf__training_check_count(const char *name, int64_t count);

/* What holds gradients or moments. */
static inline struct clf__parameter_tree *clf__training_mirror(struct clf__training *training, int form)
{
    return form == CLF__GRADIENTS ? &training->gradients : &training->moments[form - CLF__FIRST_MOMENTS];
}

/* Of the model that is trained. */
static inline struct clf__stack *clf__training_stack(const struct clf__training *training,
                                                     enum clf__side side)
{
    return clf__stack_of(clf__transformer_stacks(training->transformer), side);
}

/* Finds every parameter: fills places, trained and untrained. */
clf_status clf__training_place(struct clf__training *training);

/* How many of values, gradients and moments have the layout of the model: moments that are shared out have
 * none. */
static inline int clf__training_kinds(const struct clf__training *training)
{
    return training->options.shards_moments ? CLF__FIRST_MOMENTS : CLF__TRAINED_KINDS;
}

/* lending.c: how the gradients are lent. */
clf_status clf__lending_create(struct clf__training *training);
void clf__lending_free(struct clf__training *training);
/* When the gradients of a layer are complete. */
int clf__lending_stage(const struct clf__config *config, enum clf__side side, int layer);
/* Where this pass lends, lends what is complete now. */
clf_status clf__lending_reach(struct clf__training *training, int stage);

/* shards.c: which moments this rank keeps. Fills pieces, once there is lending. */
clf_status clf__shards_create(struct clf__training *training);
void clf__shards_free(struct clf__training *training);
/* After steps of this rank's pieces: all ranks' values, to each of them. */
clf_status clf__shards_exchange_values(struct clf__training *training);

/* Fills and uploads what a batch needs. */
clf_status clf__training_upload(struct clf__training *training, struct clf__pass *pass,
                                const struct clf__training_batch *batch);
/* How many integers that can be. */
int64_t clf__training_upload_size(const struct clf__training_limits *limits);

/* The stacks forward, and backward from the gradient in the workspace of what comes out of the decoder. */
clf_status clf__training_stacks_forward(struct clf__training *training, const struct clf__pass *pass);
clf_status clf__training_stacks_backward(struct clf__training *training, const struct clf__pass *pass);

/* What comes out of one side's stack. */
struct clf__tensor clf__training_output(const struct clf__training *training, const struct clf__pass *pass,
                                        enum clf__side side);

/* Logits, losses and, in training, their gradients back to the decoder's output in the workspace, a chunk of
 * rows at a time. */
clf_status clf__training_project(struct clf__training *training, const struct clf__pass *pass);
/* The sums over all rows; waits for the device. */
clf_status clf__training_read_losses(struct clf__training *training, const struct clf__pass *pass,
                                     struct clf__training_loss *loss);
/* Rows of a chunk. */
int clf__training_logits_rows(const struct clf__training *training);

/* Whether the host completes gradients of relative biases. Every configuration has a number of buckets. */
static inline int clf__training_has_relative(const struct clf__training *training)
{
    return clf__config_has_positions(&training->transformer->config, CLF__POSITIONS_RELATIVE);
}

#endif
