/* Pairs of a parallel corpus as ids, and the batches of an epoch. */
#ifndef CLF_TRAIN_DATASET_H
#define CLF_TRAIN_DATASET_H

#include "backprop/training.h"
#include "config/config.h"
#include "text/tokenizer.h"

struct clf__dataset_options {
    const char *source_path; /* text, one sentence a line. With target_path NULL: source, tab and target in
                              * one line; for speech: path of a recording or a .npy file, tab, transcript */
    const char *target_path;
    struct clf_device *device; /* makes the frames of recordings; NULL if there are none */
    int64_t kept_bytes;        /* bytes of frames kept in memory at most; other frames are computed again for
                                * each batch */
    int pieces;                /* lines are pieces between white space */
    int max_source_length;     /* ids, the end token included; longer pairs are left out */
    int max_target_length;
};

/* The reason why a line is left out. */
enum clf__left_out { CLF__EMPTY, CLF__TOO_LONG, CLF__BROKEN, CLF__LEFT_OUT_KINDS };

enum { CLF__NAMED_LINES = 20 };

/* The first line of a kind that is left out; line 0: there is none. */
struct clf__left_out_line {
    int line;
    const char *path; /* the file at fault, borrowed from the options; NULL: the pair is at fault */
    char reason[256];
};

struct clf__dataset_report {
    int lines, pairs;
    uint64_t checksum; /* of the files */
    int left_out[CLF__LEFT_OUT_KINDS];
    int named_lines[CLF__LEFT_OUT_KINDS][CLF__NAMED_LINES]; /* the first such lines, counted from 1 */
    struct clf__left_out_line first[CLF__LEFT_OUT_KINDS];
};

struct clf__dataset;

/* Lines that are left out are counted, and each is logged by its number (CLF_LOG_DEBUG). Files of different
 * numbers of lines are CLF_FORMAT, and so is one without a pair. */
clf_status clf__dataset_load(struct clf__dataset **out, const struct clf__config *config,
                             const struct clf__tokenizer *tokenizer,
                             const struct clf__dataset_options *options, struct clf__dataset_report *report);
void clf__dataset_free(struct clf__dataset *dataset);

struct clf__batching {
    int tokens; /* tokens per batch: pairs times the longest source or target, counted on the longer side */
    int count_padding; /* 0: actual tokens, counted on the longer side */
    int max_pairs;     /* 0: any number */
};

/* Plans an epoch: shuffles the pairs, gathers them by length into batches and shuffles the batches, from
 * seed and epoch only. Epoch -1 keeps the order of length, for validation. */
clf_status clf__dataset_plan(struct clf__dataset *dataset, const struct clf__batching *batching,
                             uint64_t seed, int epoch);
int clf__dataset_batches(const struct clf__dataset *dataset);
/* Batch `index` of the plan; borrowed until the next call. */
clf_status clf__dataset_batch(struct clf__dataset *dataset, int index, struct clf__training_batch *out);
/* The largest batch that any plan with this batching can have. */
void clf__dataset_limits(struct clf__training_limits *out, const struct clf__dataset *dataset,
                         const struct clf__batching *batching);
/* Labels that count and source tokens of batch `index` of the plan. */
void clf__dataset_batch_tokens(const struct clf__dataset *dataset, int index, int64_t *source_tokens,
                               int64_t *labels);

#endif
