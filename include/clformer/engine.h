/* An engine: one model on one or several devices, shared by the translators of any number of threads. */
#ifndef CLFORMER_ENGINE_H
#define CLFORMER_ENGINE_H

#include <clformer/translator.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An engine owns the device memory for one batch per device. The lines of all calls share the batches: a line
 * joins between two decoding steps and leaves when it is finished, and its result does not depend on the
 * other lines. Lines with different options can be in one batch. */
struct clf_engine;

/* Engine options; start from clf_engine_options_init(). */
struct clf_engine_options {
    size_t size;      /* size of this struct, see clformer.h */
    int batch_tokens; /* maximum source tokens in a batch; 0: chosen for the device and the model */
    int reserved;
};

/** Sets the first `size` bytes of options to the defaults. */
CLF_API void clf_engine_options_init_sized(struct clf_engine_options *options, size_t size);

/** Sets all options to the defaults. */
static inline void clf_engine_options_init(struct clf_engine_options *options)
{
    clf_engine_options_init_sized(options, sizeof *options);
}

/**
 * Creates an engine over one model folder that is loaded on one or several devices.
 *
 * @param out receives the engine; free it with clf_engine_free() before its models.
 * @param models (count) models, each on a different device, as for clf_translator_create_over().
 * @param count number of elements; at least one is not NULL.
 * @param options NULL for the defaults.
 * @return CLF_BAD_ARGUMENT naming models that differ in folder or precision, or share a device, or an option
 * that is out of range.
 */
CLF_API clf_status clf_engine_create(struct clf_engine **out, struct clf_model *const *models, int count,
                                     const struct clf_engine_options *options);

/** Frees an engine; NULL is ignored. An engine that has translators is not freed and a warning is logged. */
CLF_API void clf_engine_free(struct clf_engine *engine);

/**
 * Creates a translator that shares an engine. It holds only options, so a program may create one for each set
 * of options, or for each request. The times of clf_translator_times() are those of the engine.
 *
 * @param out receives the translator; free it with clf_translator_free() before the engine.
 * @param engine borrowed until the translator is freed.
 * @param options copied, as for clf_translator_create(); batch_tokens is 0. If they need more memory per line
 * than earlier options, the engine allocates it when no line is in a batch.
 * @return the errors of clf_translator_create().
 */
CLF_API clf_status clf_translator_create_shared(struct clf_translator **out, struct clf_engine *engine,
                                                const struct clf_translate_options *options);

#ifdef __cplusplus
}
#endif
#endif
