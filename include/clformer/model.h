/* A trained encoder-decoder, loaded from a folder onto a device. */
#ifndef CLFORMER_MODEL_H
#define CLFORMER_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include <clformer/device.h>
#include <clformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct clf_model;

/* What a model is; strings are borrowed from it. */
struct clf_model_info {
    const char *folder;
    const char *system; /* "marian", "paper", "jadore", "annotated", "speech" or "illustrated" */
    int d_model;
    int encoder_layers, decoder_layers;
    int encoder_heads, decoder_heads;
    int encoder_ffn, decoder_ffn;
    int source_vocabulary; /* ids; 0 where the source is frames */
    int target_vocabulary;
    int feature_size;        /* floats a frame; 0 where the source is text */
    int max_source_length;   /* tokens, the end token included; or frames */
    int max_target_length;   /* generated tokens, the end token included */
    int64_t parameters;      /* their number, shared ones counted once */
    clf_precision precision; /* never CLF_PRECISION_AUTO */
    uint64_t weight_bytes;   /* on the device */
};

/* How to load a model; start from CLF_MODEL_OPTIONS_INIT. */
struct clf_model_options {
    size_t size; /* of this struct: see clformer.h */
    clf_precision precision;
    int reserved; /* 0 */
};
#define CLF_MODEL_OPTIONS_INIT                                                                               \
    {                                                                                                        \
        sizeof(struct clf_model_options), CLF_PRECISION_AUTO, 0                                              \
    }

/**
 * Loads a model folder: its configuration, its weights and the tokenizer's files.
 *
 * @param out    receives the model; free it with clf_model_free() before its device is closed.
 * @param device where the weights go; borrowed for the model's life.
 * @param folder an encoder-decoder's folder of Hugging Face, CTranslate2, Marian, Argos Translate or
 * clformer; or a package of Argos Translate, a file, where the library was built with zlib. A package is
 * unpacked below $TMPDIR, or /tmp, until this function returns.
 * @param options NULL for the defaults.
 * @return CLF_FILE, CLF_FORMAT or CLF_UNSUPPORTED, naming file and key or tensor; CLF_DEVICE_MEMORY with the
 * sizes; CLF_BAD_ARGUMENT for an unknown precision, and for a device or folder that is NULL.
 */
clf_status clf_model_load(struct clf_model **out, struct clf_device *device, const char *folder,
                          const struct clf_model_options *options);

/**
 * Loads a model folder onto several devices at once, for clf_translator_create_over().
 *
 * @param models  receives `count` models, one a device, each to be freed with clf_model_free(); NULL for a
 * device that fails, or has no room for it, which is said in a logged warning.
 * @param devices `count` of them, 1 at least, each another one; borrowed for the models' lives.
 * @param folder  as clf_model_load() takes it.
 * @param options NULL for the defaults.
 * @return as clf_model_load(); a device's own failure only where every device has one. On failure all models
 * are NULL.
 */
clf_status clf_models_load(struct clf_model **models, struct clf_device *const *devices, int count,
                           const char *folder, const struct clf_model_options *options);

/** What a model is; borrowed from it. */
const struct clf_model_info *clf_model_describe(const struct clf_model *model);

/** Frees a model; NULL is ignored. */
void clf_model_free(struct clf_model *model);

#ifdef __cplusplus
}
#endif
#endif
