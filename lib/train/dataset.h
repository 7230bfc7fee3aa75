/* Pairs of a parallel corpus as ids, and the batches of an epoch. */
#ifndef CLF_TRAIN_DATASET_H
#define CLF_TRAIN_DATASET_H

#include "model/backprop/training.h"
#include "model/config/types.h"
#include "text/tokenizers/tokenizer.h"

struct clf__dataset_options {
    const char *source_path; /* text, one sentence per line. If target_path is NULL: source, tab and target in
                                one line; for speech: path of a recording or a .npy file, tab, transcript */
    const char *target_path;
    struct clf_device *device; /* computes the frames of recordings; NULL if there are no recordings */
    int64_t kept_bytes;    /* maximum bytes of frames kept in memory; other frames are computed again for each
                              batch */
    int tokens;            /* lines are tokens separated by white space */
    int max_source_length; /* in ids, including the end token; longer pairs are skipped */
    int max_target_length;
};

/* The reason why a line is skipped. */
enum clf__left_out { CLF__EMPTY, CLF__TOO_LONG, CLF__BROKEN, CLF__LEFT_OUT_KINDS };

enum { CLF__NAMED_LINES = 20 };

/* The first line that was skipped for a reason; line 0: there is none. */
struct clf__left_out_line {
    int line;
    const char *path; /* the file at fault, borrowed from the options; NULL: the pair is at fault */
    char reason[256];
};

struct clf__dataset_report {
    int lines, pairs;
    uint64_t checksum; /* checksum of the files */
    int left_out[CLF__LEFT_OUT_KINDS];
    int named_lines[CLF__LEFT_OUT_KINDS]
                   [CLF__NAMED_LINES]; /* numbers of the first skipped lines, counted from 1 */
    struct clf__left_out_line first[CLF__LEFT_OUT_KINDS];
};

struct clf__dataset;

/* Loads a corpus. Skipped lines are counted, and logged by number (CLF_LOG_DEBUG). Returns CLF_FORMAT if the
 * files have different numbers of lines or no pair is left. */
clf_status clf__dataset_load(struct clf__dataset **out, const struct clf__config *config,
                             const struct clf__tokenizer *tokenizer,
                             const struct clf__dataset_options *options, struct clf__dataset_report *report);
void clf__dataset_free(struct clf__dataset *dataset);

struct clf__batching {
    int tokens; /* tokens per batch: pairs times the longest source or target, counted on the longer side */
    int count_padding; /* 0: actual tokens, counted on the longer side */
    int max_pairs;     /* 0: any number */
};

/* Plans an epoch: shuffles the pairs, groups pairs of similar length into batches and shuffles the batches.
 * The plan depends only on seed and epoch. Epoch -1, for validation, keeps the order by length. */
clf_status clf__dataset_plan(struct clf__dataset *dataset, const struct clf__batching *batching,
                             uint64_t seed, int epoch);
int clf__dataset_batches(const struct clf__dataset *dataset);
/* Fills batch `index` of the plan; borrowed until the next call. */
clf_status clf__dataset_batch(struct clf__dataset *dataset, int index, struct clf__training_batch *out);
/* Computes the largest batch that any plan with this batching can have. */
void clf__dataset_limits(struct clf__training_limits *out, const struct clf__dataset *dataset,
                         const struct clf__batching *batching);
/* Counts the labels and the source tokens of batch `index` of the plan. */
void clf__dataset_batch_tokens(const struct clf__dataset *dataset, int index, int64_t *source_tokens,
                               int64_t *labels);

#endif
