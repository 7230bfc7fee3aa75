/* A trained encoder-decoder model, loaded from a folder onto a device. */
#ifndef CLFORMER_MODEL_H
#define CLFORMER_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include <clformer/device.h>
#include <clformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct clf_model; /* a loaded model; threads may share it, see clf_device_open() */

/* Properties of a model; the strings are owned by the model. */
struct clf_model_info {
    size_t size; /* size of this struct in the library, see clformer.h */
    const char *folder;
    const char *architecture; /* "marian", "bart", "t5", "whisper", "paper", ... */
    int d_model;
    int encoder_layers, decoder_layers;
    int encoder_heads, decoder_heads;
    int encoder_ffn, decoder_ffn;
    int source_vocabulary; /* number of ids; 0 if sources are frames */
    int target_vocabulary;
    int feature_size;        /* floats per frame; 0 if sources are text */
    int max_source_length;   /* tokens including the end token; frames for a speech model */
    int max_target_length;   /* generated tokens including the end token */
    int64_t parameters;      /* number of parameters; shared parameters count once */
    clf_precision precision; /* precision of the loaded weights; never CLF_PRECISION_AUTO */
    uint64_t weight_bytes;   /* size of the weights on the device */
};

/* Options for loading a model; start from clf_model_options_init(). */
struct clf_model_options {
    size_t size; /* size of this struct, see clformer.h */
    clf_precision precision;
    int reserved; /* 0 */
};

/** Sets the first `size` bytes of options to the defaults. */
CLF_API void clf_model_options_init_sized(struct clf_model_options *options, size_t size);

/** Sets all options to the defaults. */
static inline void clf_model_options_init(struct clf_model_options *options)
{
    clf_model_options_init_sized(options, sizeof *options);
}

/**
 * Loads a model: configuration, weights and tokenizer.
 *
 * @param out receives the model; free it with clf_model_free() before closing its device.
 * @param device the device that stores the weights; borrowed until the model is freed.
 * @param folder path of the folder of an encoder-decoder model in the format of Hugging Face, CTranslate2,
 *     Marian, Argos Translate or clformer; of an OpenAI Whisper model (.pt), with its .tiktoken file in
 *     the same folder; or of an Argos Translate package, if the library was built with zlib. A package is
 *     unpacked to $TMPDIR or /tmp for the duration of the call.
 * @param options NULL for the defaults.
 * @return CLF_FILE, CLF_FORMAT or CLF_UNSUPPORTED, naming the file and the key or tensor; CLF_DEVICE_MEMORY
 *         with the sizes; CLF_BAD_ARGUMENT for an unknown precision or a NULL device or folder.
 */
CLF_API clf_status clf_model_load(struct clf_model **out, struct clf_device *device, const char *folder,
                                  const struct clf_model_options *options);

/**
 * Loads a model onto several devices at once, for clf_translator_create_over().
 *
 * @param models receives `count` models, one per device; free each with clf_model_free(). NULL for a device
 *     that fails or has too little memory; a warning is logged.
 * @param devices (count) different devices; borrowed until the models are freed.
 * @param count number of devices, 1 or more.
 * @param folder as for clf_model_load().
 * @param options NULL for the defaults.
 * @return the errors of clf_model_load(); a device error only if every device fails. On failure all
 *         models are NULL.
 */
CLF_API clf_status clf_models_load(struct clf_model **models, struct clf_device *const *devices, int count,
                                   const char *folder, const struct clf_model_options *options);

/** Returns the properties of a model, owned by the model. */
CLF_API const struct clf_model_info *clf_model_describe(const struct clf_model *model);

/** Returns the target token with an id, owned by the model; NULL for an id outside the vocabulary. */
CLF_API const char *clf_model_token(const struct clf_model *model, int32_t id);

/** Returns the id of a target token, or -1 if it is not in the vocabulary. */
CLF_API int32_t clf_model_token_id(const struct clf_model *model, const char *token);

/** Frees a model; NULL is ignored. */
CLF_API void clf_model_free(struct clf_model *model);

#ifdef __cplusplus
}
#endif
#endif
