/* Training a model on a device, and averaging what training kept. */
#ifndef CLFORMER_TRAIN_H
#define CLFORMER_TRAIN_H

#include <stddef.h>
#include <stdint.h>

#include <clformer/device.h>
#include <clformer/ranks.h>
#include <clformer/recipe.h>
#include <clformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is known before the first update. */
struct clf_train_start {
    int64_t parameters; /* their number, shared ones counted once */
    int pairs, lines;   /* to train on, and what was read to get them */
    int left_out_empty, left_out_long, left_out_broken;
    int validation_pairs;
    const char *checkpoint; /* folder of the model that the run begins with */
    int64_t first_update;   /* 1, or more where an earlier run goes on */
    int64_t max_updates;    /* 0: no limit */
    uint64_t device_bytes;  /* the most memory taken on the device, in validations too */
    uint64_t
        host_bytes; /* of sums of gradients: micro-batches that wait for others, and what ranks exchange */
    int ranks;      /* that train together; each of them takes as much memory */
    int reserved;
};

/* One update. */
struct clf_train_update {
    int64_t update; /* from 1 */
    int epoch;      /* from 1 */
    double loss;    /* that training makes smaller, for each counted label */
    double nll;     /* -log p, for each counted label */
    double learning_rate;
    double gradient_norm;                 /* before it was clipped */
    int64_t source_tokens, target_tokens; /* of this update */
    double seconds;                       /* of this update */
    int64_t skipped;                      /* updates so far whose gradients were not finite */
    int64_t expected_updates; /* after which max-updates or max-epochs ends the run, whichever comes first;
                               * epochs differ by a few updates, so it is exact in the last one. 0: no limit.
                               * Patience may end the run sooner */
    double waited;            /* seconds of it in which rank 0 waited for other ranks and their numbers */
};

struct clf_train_sample {
    const char *source, *reference, *translation;
};

/* One validation. */
struct clf_train_validation {
    int64_t update;
    int epoch;
    double loss, nll, perplexity; /* for each counted label, without dropout; nll and perplexity, and jadore's
                                   * loss, without smoothing */
    double bleu;                  /* negative: not computed */
    int is_best;
    const char *better_by; /* "BLEU" or "loss": what makes it better than the best one before; NULL where
                            * it is not better, or is the first */
    const struct clf_train_sample *samples;
    int sample_count;
    const char *checkpoint; /* folder */
};

/* Where time went, in seconds since clf_train() was called. Where the device profiles, a stage ends when the
 * device is done with it; elsewhere the device may still work on it in the next stage, which then waits. */
struct clf_train_times {
    double data;       /* reading texts, making batches */
    double passes;     /* forward and backward, and the sums of gradients over ranks */
    double update;     /* norms of gradients, and Adam */
    double validation; /* losses, translations and their BLEU */
    double checkpoint; /* writing checkpoints and the final model */
};

/* What the caller hears of; start from CLF_TRAIN_HOOKS_INIT. Each may be NULL, and what one is given is
 * borrowed for the call. Of several ranks rank 0 alone hears; `interrupted` is asked on every one, and one
 * that is told to stop stops them all. A run that goes on from a checkpoint may tell again of
 * updates, and of the last validation, that it told of before it was stopped. */
struct clf_train_hooks {
    size_t size; /* of this struct: see clformer.h */
    void (*started)(void *user, const struct clf_train_start *start);
    void (*updated)(void *user, const struct clf_train_update *update);
    void (*validated)(void *user, const struct clf_train_validation *validation);
    void (*ended)(void *user, const struct clf_train_times *times); /* last, whether the run failed or not */
    /* Asked between updates: non-zero saves a checkpoint and ends with CLF_INTERRUPTED. It is also asked
     * while a vocabulary is learned and while the first weights are drawn; before the first update nothing is
     * kept. SentencePiece cannot be stopped: it finishes on a thread of its own, and exit() waits for it. */
    int (*interrupted)(void *user);
    void *user;
    /* Who trains together: each rank makes the same call, with the same recipe and texts, an output folder
     * that all of them see, and a device of its own of the same kind. Rank 0 writes the files. NULL: one
     * alone */
    struct clf_ranks *ranks;
};
#define CLF_TRAIN_HOOKS_INIT                                                                                 \
    {                                                                                                        \
        sizeof(struct clf_train_hooks), NULL, NULL, NULL, NULL, NULL, NULL, NULL                             \
    }

/**
 * Trains a model as a recipe says, or goes on where an earlier call with the same output stopped.
 *
 * @param device where to train; borrowed.
 * @param output the model's folder: config.json, model.safetensors and the tokenizer's files when it is done,
 * recipe.json from the start, and checkpoints/, each a model folder with the optimizer's state. It and the
 * folders above it are made where they are missing.
 * @param hooks  NULL for none.
 * @return CLF_FILE, CLF_FORMAT or CLF_TEXT for data that cannot be used; CLF_BAD_ARGUMENT for a recipe that
 * contradicts itself or the one that the folder was begun with, for texts that are not those that it was
 * begun with, and for an output that is a file, that holds a model which this call would write over, or where
 * another run trains; CLF_DEVICE_MEMORY with the sizes; CLF_UNSUPPORTED for a model that is too large to
 * train, and after too many updates whose gradients are not finite; CLF_NETWORK; CLF_INTERRUPTED. Where one
 * rank fails all of them do, with its sentence, which its number and host begin. The last good checkpoint
 * stays in any case; where there is none yet, what this call made is removed, folders among it.
 */
clf_status clf_train(struct clf_device *device, const struct clf_recipe *recipe, const char *output,
                     const struct clf_train_hooks *hooks);

/**
 * Writes a model whose weights are the mean of several models' weights; given one model, writes it in another
 * precision.
 *
 * @param output    a folder that does not exist yet; it gets the first model's other files. Those above it
 * are made where they are missing.
 * @param folders   of models of one configuration.
 * @param count     1 or more.
 * @param precision in which the weights are stored: fp32, fp16 or bf16.
 * @return CLF_FILE or CLF_FORMAT, naming folder and tensor; CLF_UNSUPPORTED for int8, or a value too large
 * for fp16; CLF_BAD_ARGUMENT for a count below 1, or a folder that is NULL.
 */
clf_status clf_average(const char *output, const char *const *folders, int count, clf_precision precision);

/**
 * Writes a model to a new folder with its weights as they lie once loaded in a precision: it is smaller,
 * loads sooner, and its translations are, bit for bit, those of that precision on the original.
 *
 * @param output    a folder that does not exist yet; it gets the model's other files. Those above it are made
 * where they are missing.
 * @param folder    a model of any format that loads, a package of Argos Translate too; the new folder has
 * that format, and what is int8 there stays as it is in int8.
 * @param precision of the weights of products and embeddings: fp32, fp16, bf16, or int8 with a scale a row;
 * all others are written in fp32.
 * @return CLF_FILE or CLF_FORMAT, naming folder and tensor; CLF_UNSUPPORTED for a
 * value too large for fp16, or one that is not finite in int8; CLF_BAD_ARGUMENT for an unknown precision, or
 * a folder that is NULL.
 */
clf_status clf_convert(const char *output, const char *folder, clf_precision precision);

#ifdef __cplusplus
}
#endif
#endif
