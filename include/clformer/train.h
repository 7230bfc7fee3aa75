/* Training a model on a device, and averaging checkpoints. */
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

/* Properties of a run, known before the first update. */
struct clf_train_start {
    size_t size;        /* size of this struct in the library, see clformer.h */
    int64_t parameters; /* number of parameters; shared parameters count once */
    int pairs, lines;   /* sentence pairs used for training, and lines read */
    int left_out_empty, left_out_long, left_out_broken; /* pairs skipped as empty, too long or malformed */
    int validation_pairs;
    const char *checkpoint; /* folder of the model that the run starts from */
    int64_t first_update;   /* 1, or more if an earlier run is resumed */
    int64_t max_updates;    /* 0: no limit */
    uint64_t device_bytes;  /* peak memory on the device, including validation */
    uint64_t host_bytes;    /* host memory for gradient sums: pending micro-batches, and buffers exchanged
                               between ranks */
    int ranks;              /* number of ranks; each uses the same amount of memory */
    int reserved;           /* 0 */
};

/* One update. */
struct clf_train_update {
    size_t size;    /* size of this struct in the library, see clformer.h */
    int64_t update; /* from 1 */
    int epoch;      /* from 1 */
    double loss;    /* training loss per counted label */
    double nll;     /* -log p per counted label */
    double learning_rate;
    double gradient_norm;                 /* before clipping */
    int64_t source_tokens, target_tokens; /* in this update */
    double seconds;                       /* duration of this update */
    int64_t skipped;                      /* total number of updates skipped for non-finite gradients */
    int64_t expected_updates; /* update at which max-updates or max-epochs ends the run, whichever comes
                                 first; 0: no limit. Epochs differ by a few updates, so the value is exact
                                 only in the last epoch. Patience may end the run sooner */
    double waited;            /* seconds of the update that rank 0 spent waiting for data from other ranks */
};

/* A sample translation of a validation; strings are UTF-8. */
struct clf_train_sample {
    const char *source, *reference, *translation;
};

/* One validation. */
struct clf_train_validation {
    size_t size; /* size of this struct in the library, see clformer.h */
    int64_t update;
    int epoch;
    double loss, nll, perplexity; /* per counted label, computed without dropout; nll, perplexity and the loss
                                     of the preset jadore also without label smoothing */
    double bleu;                  /* negative if not computed */
    int is_best;                  /* 1 if this is the best validation so far */
    const char *better_by; /* "BLEU" or "loss": the measure that improved over the best earlier validation;
                              NULL if none improved or this is the first validation */
    const struct clf_train_sample *samples;
    int sample_count;
    const char *checkpoint; /* folder of the checkpoint */
};

/* Seconds by stage since clf_train() was called. If the device was opened with profiling, a stage ends
 * when the device has finished it. Otherwise the device may still be working on a stage when the next one
 * begins. */
struct clf_train_times {
    size_t size;       /* size of this struct in the library, see clformer.h */
    double data;       /* reading texts, making batches */
    double passes;     /* forward and backward passes, and gradient sums over ranks */
    double update;     /* gradient norms and Adam */
    double validation; /* losses, translations and their BLEU */
    double checkpoint; /* writing checkpoints and the final model */
};

/* Callbacks of a training run; start from clf_train_hooks_init(). Each may be NULL. Callbacks run on the
 * thread of clf_train(), and their arguments are valid during the call. With several ranks only rank 0 is
 * called, except for `interrupted`, which is called on every rank; if one rank stops, all ranks stop. A run
 * that resumes from a checkpoint may report updates, and the last validation, a second time. */
struct clf_train_hooks {
    size_t size; /* size of this struct, see clformer.h */
    void (*started)(const struct clf_train_start *start, void *payload);
    void (*updated)(const struct clf_train_update *update, void *payload);
    void (*validated)(const struct clf_train_validation *validation, void *payload);
    /* Called last, on success and on failure. */
    void (*ended)(const struct clf_train_times *times, void *payload);
    /* Polled between updates: a non-zero result saves a checkpoint and ends the run with CLF_INTERRUPTED.
     * Also polled while a vocabulary is learned and while weights are initialised; before the first update
     * nothing is saved. SentencePiece cannot be interrupted: it finishes on a separate thread, and exit()
     * waits for it.
     */
    int (*interrupted)(void *payload);
    void *payload;
    /* The ranks of a distributed run. Each rank makes the same call with the same recipe and texts, an output
     * folder that all ranks share, and a separate device of the same kind. Rank 0 writes the files. NULL: a
     * single rank. */
    struct clf_ranks *ranks;
};

/** Sets the first `size` bytes of hooks to zero, and hooks->size to `size`. */
CLF_API void clf_train_hooks_init_sized(struct clf_train_hooks *hooks, size_t size);

/** Sets all fields except size to zero. */
static inline void clf_train_hooks_init(struct clf_train_hooks *hooks)
{
    clf_train_hooks_init_sized(hooks, sizeof *hooks);
}

/**
 * Trains a model according to a recipe, or resumes an interrupted run with the same output folder.
 *
 * @param device device for training; borrowed for the call.
 * @param recipe the options; borrowed for the call.
 * @param output folder of the model: config.json, model.safetensors and the tokenizer's files at the end,
 *     recipe.json from the start, and checkpoints/, where each checkpoint is a model folder with the
 *     optimizer's state. Missing folders are created.
 * @param hooks NULL for none.
 * @return CLF_FILE, CLF_FORMAT or CLF_TEXT for unusable data; CLF_BAD_ARGUMENT for a recipe that contradicts
 *         itself, for a recipe or texts that differ from those of the run to resume, and for an output that
 *         is a file, holds a model that would be overwritten, or is in use by another run; CLF_DEVICE_MEMORY
 *         with the sizes; CLF_UNSUPPORTED for a model that is too large to train, and after too many updates
 *         with non-finite gradients; CLF_NETWORK; CLF_INTERRUPTED. If one rank fails, all ranks fail with its
 *         message, which begins with its number and host. The last good checkpoint is always kept; if there
 *         is none, all files and folders that this call created are removed.
 */
CLF_API clf_status clf_train(struct clf_device *device, const struct clf_recipe *recipe, const char *output,
                             const struct clf_train_hooks *hooks);

/**
 * Writes a model whose weights are the mean of the weights of several models; with one model, writes it in
 * another precision.
 *
 * @param output path of a folder that does not exist yet; it also receives the other files of the first
 *     model. Missing parent folders are created.
 * @param folders (count) paths of models with the same configuration.
 * @param count 1 or more.
 * @param precision precision of the stored weights: fp32, fp16 or bf16.
 * @return CLF_FILE or CLF_FORMAT, naming folder and tensor; CLF_UNSUPPORTED for int8 or a value too large for
 *         fp16; CLF_BAD_ARGUMENT for a count below 1 or a NULL folder.
 */
CLF_API clf_status clf_average(const char *output, const char *const *folders, int count,
                               clf_precision precision);

/**
 * Writes a model to a new folder, with its weights stored as they are loaded in the given precision. The new
 * model is smaller, loads faster, and translates bit-identically to the original loaded in that precision.
 *
 * @param output path of a folder that does not exist yet; it also receives the other files of the model.
 *     Missing parent folders are created.
 * @param folder path of a model in any supported format, or an Argos Translate package. The new folder has
 *     the same format; with int8, weights that are already stored in int8 are copied unchanged.
 * @param precision precision of linear weights and embeddings: fp32, fp16, bf16, or int8 with one scale per
 *     row; all other weights are written in fp32.
 * @return CLF_FILE or CLF_FORMAT, naming folder and tensor; CLF_UNSUPPORTED for a value too large for fp16 or
 *         not finite in int8; CLF_BAD_ARGUMENT for an unknown precision or a NULL folder.
 */
CLF_API clf_status clf_convert(const char *output, const char *folder, clf_precision precision);

#ifdef __cplusplus
}
#endif
#endif
