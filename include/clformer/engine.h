/* An engine: one model on one or several devices, shared by the translators or transcribers of any number of
 * threads. Jobs: translations and transcriptions that run while the program does something else. */
#ifndef CLFORMER_ENGINE_H
#define CLFORMER_ENGINE_H

#include <clformer/translator.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An engine owns the device memory for one batch per device. The lines of all calls share the batches: a line
 * joins between two decoding steps and leaves when it is finished, and its result does not depend on the
 * other lines. Lines with different options can be in one batch. The same holds for the windows of recordings
 * (transcriber.h). */
struct clf_engine;

/* Engine options; start from clf_engine_options_init(). */
struct clf_engine_options {
    size_t size;       /* size of this struct, see clformer.h */
    int batch_tokens;  /* maximum source tokens in a batch; 0: chosen for the device and the model */
    int batch_windows; /* maximum windows of recordings in a batch; 0: chosen for the device and the model */
    /* Bytes of device memory that keep encoded sources, so that a line that occurs again is not encoded
     * again. 0: 1/64 of the free memory, at most 64 MiB and 4096 tokens; negative: none. Recordings are
     * always encoded, and a translator without a shared engine encodes every line. */
    int64_t cache_bytes;
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

/** Frees an engine; NULL is ignored. An engine that has translators or transcribers is not freed and a
 * warning is logged. */
CLF_API void clf_engine_free(struct clf_engine *engine);

/**
 * Creates a translator that shares an engine. It holds only options, so a program may create one for each set
 * of options, or for each request. The times of clf_translator_times() are those of the engine.
 *
 * @param out receives the translator; free it with clf_translator_free() before the engine.
 * @param engine borrowed until the translator is freed.
 * @param options copied, as for clf_translator_create(); batch_tokens must be 0. If they need more memory per
 * line than earlier options, the engine allocates it when no line is in a batch.
 * @return the errors of clf_translator_create().
 */
CLF_API clf_status clf_translator_create_shared(struct clf_translator **out, struct clf_engine *engine,
                                                const struct clf_translate_options *options);

/* A job: a call like clf_translate(), clf_score() or clf_transcribe() that is submitted and runs in the
 * background. The first job of an engine starts threads: one for each device, and the callback thread, which
 * calls the callbacks of all jobs, one after another. A job therefore makes progress whether or not a thread
 * waits for it. The threads end when the engine is freed, or the translator if it does not share an engine. A
 * job of clf_transcribe_submit() has its own thread instead, on which its callbacks run.
 *
 * Any thread may use a job until it is freed. Callbacks of jobs may submit, poll, cancel, take and free jobs;
 * functions that would wait fail in a callback with CLF_BAD_ARGUMENT: clf_job_wait() for a job that is not
 * over, and all calls that translate or score with the engine. A slow callback delays other callbacks of the
 * callback thread, but no line. */
struct clf_job;

/* Job options; start from clf_job_options_init(). */
struct clf_job_options {
    size_t size;                     /* size of this struct, see clformer.h */
    const struct clf_line *prefixes; /* (count) as for clf_translate_prefixed(); NULL: no prefixes */
    /* Called once, on the thread of the callbacks, when the job has its results or has failed, unless it was
     * freed before; may take the results and free the job. Can be called before clf_translate_submit()
     * returns. */
    void (*finished)(struct clf_job *job, void *payload);
    /* Last argument of `finished`. If not NULL, also the last argument of the hooks of the translator's
     * options for this job. A hook does not free its own job, but may cancel it. */
    void *payload;
};

/** Sets the first `size` bytes of options to the defaults. */
CLF_API void clf_job_options_init_sized(struct clf_job_options *options, size_t size);

/** Sets all options to the defaults. */
static inline void clf_job_options_init(struct clf_job_options *options)
{
    clf_job_options_init_sized(options, sizeof *options);
}

/**
 * Submits lines to translate. Reads the lines, and returns before they are translated; the result is that of
 * clf_translate(). The hooks of the translator's options are called on the callback thread.
 *
 * @param out receives the job; free it with clf_job_free() before the translator.
 * @param translator borrowed until the job is freed.
 * @param lines (count) lines, copied.
 * @param count number of lines, 0 or more.
 * @param options copied, with the prefixes; NULL for the defaults.
 * @return CLF_BAD_ARGUMENT as clf_translate(); CLF_OUT_OF_MEMORY also if no thread can be started; CLF_DEVICE
 *         if all devices have failed.
 */
CLF_API clf_status clf_translate_submit(struct clf_job **out, struct clf_translator *translator,
                                        const struct clf_line *lines, int count,
                                        const struct clf_job_options *options);

/**
 * Submits pairs to score. The result is that of clf_score().
 *
 * @param out as clf_translate_submit().
 * @param translator as clf_translate_submit().
 * @param sources (count) source lines, borrowed for the call.
 * @param targets (count) target lines, borrowed for the call.
 * @param count number of pairs, 0 or more.
 * @param options as clf_translate_submit(), without prefixes.
 * @return as clf_translate_submit().
 */
CLF_API clf_status clf_score_submit(struct clf_job **out, struct clf_translator *translator,
                                    const struct clf_line *sources, const struct clf_line *targets, int count,
                                    const struct clf_job_options *options);

/**
 * Returns 1 if a job is over: finished, failed or cancelled; else 0. Never waits for it. A job is over when
 * its callbacks have returned.
 *
 * @param job the job.
 * @param lines receives the number of finished lines, counted from the first: those that options.translated
 * was or would be called with. Pairs to score all finish at the end. For a transcription, the number of
 * finished segments. May be NULL.
 */
CLF_API int clf_job_poll(struct clf_job *job, int *lines);

/**
 * Waits until a job is over.
 *
 * @param is_over receives 1 if the job is over, 0 if the wait timed out.
 * @param job the job.
 * @param milliseconds maximum time to wait; negative: no limit.
 * @return CLF_BAD_ARGUMENT for a NULL job, or on the callback thread for a job that is not over. The status
 * of the job itself is that of clf_job_take().
 */
CLF_API clf_status clf_job_wait(int *is_over, struct clf_job *job, int milliseconds);

/**
 * Ends a job early: its lines leave the batch before the next step, and the job fails with CLF_INTERRUPTED.
 * Returns at once. A job whose results are complete does not change. NULL is ignored.
 */
CLF_API void clf_job_cancel(struct clf_job *job);

/**
 * Takes the translations of a job that is over, or in its `finished`.
 *
 * @param out receives (count) translations in order; free them with clf_translations_free().
 * @param job a job of clf_translate_submit().
 * @return the errors of clf_translate(), with the message of the job's failure in clf_last_error();
 *         CLF_INTERRUPTED for a job that was cancelled; CLF_BAD_ARGUMENT for a job that is not over, that has
 *         pairs to score, or whose translations were taken.
 */
CLF_API clf_status clf_job_take(struct clf_translation **out, struct clf_job *job);

/** Takes the scores of a job of clf_score_submit(), as clf_job_take(); free them with clf_scores_free(). */
CLF_API clf_status clf_job_take_scores(struct clf_score **out, struct clf_job *job);

/**
 * Frees a job; NULL is ignored. A job that is not over is cancelled, and the call returns when its callbacks
 * have returned. In a callback, the call does not wait, and the translator is in use until the job is over.
 */
CLF_API void clf_job_free(struct clf_job *job);

#ifdef __cplusplus
}
#endif
#endif
