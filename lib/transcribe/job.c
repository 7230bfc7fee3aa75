/* Jobs that transcribe: each has a thread, which reads the recording, waits for the windows and calls the
 * callbacks. */
#include <clformer/transcriber.h>

#include "base/memory.h"
#include "base/task.h"
#include "engine/handle.h"
#include "transcribe/call.h"
#include "transcribe/internal.h"

struct speech_job {
    struct clf_job handle;
    struct clf_transcriber *transcriber;
    struct clf_audio *audio;
    struct clf__transcribe_hooks hooks;
    atomic_int segments; /* finished */
    atomic_int is_stopped;
    struct clf_transcript *transcript; /* guarded by the engine's lock once the job is complete */
};

static void free_job(struct clf_job *handle)
{
    struct speech_job *job = (struct speech_job *)handle;
    clf_transcript_free(job->transcript);
    clf__free(job);
}

static void leave(struct clf_job *handle)
{
    atomic_fetch_sub(&((struct speech_job *)handle)->transcriber->calls, 1);
}

static int count_segments(struct clf_job *handle)
{
    return atomic_load(&((struct speech_job *)handle)->segments);
}

static void cancel(struct clf_job *handle, const struct clf__failure *failure)
{
    (void)failure;
    atomic_store(&((struct speech_job *)handle)->is_stopped, 1);
}

static const struct clf__handle_kind transcripts = {.results = "a transcript",
                                                    .take = "clf_job_take_transcript",
                                                    .cancel = cancel,
                                                    .leave = leave,
                                                    .free = free_job,
                                                    .count = count_segments};

static int is_interrupted(void *payload)
{
    struct speech_job *job = payload;
    const struct clf_transcribe_options *options = &job->transcriber->options;
    return atomic_load(&job->is_stopped) ||
           (options->interrupted != NULL && options->interrupted(job->hooks.payload));
}

static void *run(void *argument)
{
    struct speech_job *job = argument;
    struct clf_engine *engine = job->handle.engine;
    clf__handle_set_here(&job->handle);
    clf_status status = clf__transcribe(&job->transcript, job->transcriber, job->audio, &job->hooks);
    if (status == CLF_INTERRUPTED && atomic_load(&job->is_stopped)) {
        status = clf__handle_fail_cancelled();
    }
    clf__handle_finish(&job->handle, status);
    clf__engine_end_thread(engine);
    return NULL;
}

clf_status clf_transcribe_submit(struct clf_job **out, struct clf_transcriber *transcriber,
                                 struct clf_audio *audio, const struct clf_job_options *options)
{
    struct clf_job_options own;
    struct speech_job *job;
    *out = NULL;
    CLF__TRY(clf__handle_options(&own, options));
    CLF__TRY(clf__transcribe_check(transcriber, audio));
    if (own.prefixes != NULL) {
        return clf__fail(CLF_BAD_ARGUMENT, "prefixes: are for translations; set them to NULL to transcribe");
    }
    CLF__TRY(clf__allocate(&job, 1, sizeof *job));
    clf__handle_init(&job->handle, &transcripts, transcriber->engine, &own);
    job->transcriber = transcriber;
    job->audio = audio;
    job->hooks = (struct clf__transcribe_hooks){
        .interrupted = is_interrupted,
        .asked = job,
        .payload = own.payload != NULL ? own.payload : transcriber->options.payload,
        .segments = &job->segments,
    };
    atomic_fetch_add(&transcriber->calls, 1);
    *out = &job->handle;
    clf_status status = clf__engine_begin_thread(transcriber->engine, run, job);
    if (status != CLF_OK) {
        *out = NULL;
        leave(&job->handle);
        clf__handle_free(&job->handle);
    }
    return status;
}

clf_status clf_job_take_transcript(struct clf_transcript **out, struct clf_job *job)
{
    *out = NULL;
    CLF__TRY(clf__handle_check_take(job, &transcripts));
    struct speech_job *own = (struct speech_job *)job;
    pthread_mutex_lock(&job->engine->lock);
    *out = own->transcript;
    own->transcript = NULL;
    pthread_mutex_unlock(&job->engine->lock);
    return *out != NULL ? CLF_OK : clf__handle_fail_taken();
}
