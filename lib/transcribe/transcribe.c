/* Transcribes recordings: each has a window under search at a time, and the windows of all calls share the
 * batches of the engine. */
#include <clformer/transcriber.h>

#include <string.h>

#include "base/memory.h"
#include "base/minmax.h"
#include "base/options.h"
#include "transcribe/call.h"
#include "transcribe/detect.h"
#include "transcribe/side_by_side.h"

struct run {
    struct clf_transcriber *transcriber;
    struct clf_recordings recordings;
    struct clf_translate_options hooks; /* `interrupted` with its payload */
    double *probability;                /* NULL, or: only the language is detected */
    struct clf__transcription *works;   /* (job.count) one without a transcript has no recording */
    struct clf__job job;                /* its units are the current windows of `works` */
    int next;                           /* index of the next recording to open */
};

/* The transcriber whose callbacks run on this thread. */
static _Thread_local const struct clf_transcriber *caller;

/* Finishes a recording that has failed or is complete. */
static void put_away(struct run *run, struct clf__transcription *work, clf_status status)
{
    struct clf_transcript *transcript = NULL;
    status = status == CLF_OK ? clf__transcription_end(work, &transcript) : status;
    clf__transcription_clear(work);
    run->recordings.done(work->index, status, transcript, run->recordings.payload);
}

/* Begins to transcribe the speech in a recording. */
static clf_status begin_speech(const struct run *run, struct clf__transcription *work,
                               struct clf_audio *audio)
{
    struct clf__plan *plan = &work->plan;
    CLF__TRY(clf__plan_make(plan, run->transcriber, audio, &run->hooks));
    CLF__TRY(clf__audio_open_spans(&work->joined, audio, plan->spans.data, plan->spans.count));
    CLF__TRY(clf__transcription_begin(work, work->joined));
    work->spans = plan->spans.data;
    work->span_count = plan->spans.count;
    work->frames = plan->frames;
    return CLF_OK;
}

/* Begins the next readable recording, if there is one. The only failure is CLF_INTERRUPTED. */
static clf_status begin_next(struct run *run, struct clf__transcription *work)
{
    while (work->transcript == NULL && run->next < run->recordings.count) {
        struct clf_audio *audio = NULL;
        CLF__TRY(clf__hooks_go_on(&run->hooks));
        int index = run->next++;
        *work = (struct clf__transcription){.transcriber = run->transcriber,
                                            .recordings = &run->recordings,
                                            .probability = run->probability,
                                            .index = index,
                                            .windows = {.samples = work->windows.samples}};
        clf_status status = clf__recordings_open(&audio, &run->recordings, index);
        if (status == CLF_OK) {
            int needs_speech = run->transcriber->options.vad && run->probability == NULL;
            status = needs_speech ? begin_speech(run, work, audio) : clf__transcription_begin(work, audio);
        }
        if (status != CLF_OK) {
            put_away(run, work, status);
            if (status == CLF_INTERRUPTED) {
                return status;
            }
        }
    }
    return CLF_OK;
}

/* Prepares the next window of a recording; returns 0 if there is none or the recording has failed. */
static int prepare_window(struct run *run, struct clf__transcription *work)
{
    int has_window;
    clf_status status = clf__transcription_next(work, &has_window);
    if (status == CLF_OK && has_window && (run->probability == NULL || work->transcript->language == NULL)) {
        return 1;
    }
    put_away(run, work, status);
    return 0;
}

/* Continues a recording after the search of a window, or with the next recording. */
static clf_status go_on(void *context, struct clf__unit *unit, int *next)
{
    struct run *run = context;
    struct clf__transcription *work = &run->works[unit->number];
    clf_status status = work->transcript != NULL ? clf__transcription_leave(work) : CLF_OK;
    if (status != CLF_OK) {
        put_away(run, work, status);
    }
    do {
        CLF__TRY(begin_next(run, work));
        if (work->transcript == NULL) {
            return CLF_OK; /* no recording is left */
        }
    } while (!prepare_window(run, work));
    *next = CLF__NEXT_SEARCH;
    clf__transcription_search(work, unit);
    return CLF_OK;
}

static clf_status run_job(struct run *run)
{
    struct clf_transcriber *transcriber = run->transcriber;
    struct clf__job *job = &run->job;
    int count = clf__min_int(transcriber->options.batch, run->recordings.count);
    CLF__TRY(clf__allocate(&run->works, (size_t)count, sizeof *run->works));
    CLF__TRY(clf__allocate(&job->units, (size_t)count, sizeof *job->units));
    job->count = count;
    job->returned = go_on;
    job->context = run;
    job->options = &run->hooks;
    job->is_bulk = transcriber->options.priority == CLF_PRIORITY_BULK;
    for (int i = 0; i < count; i++) {
        job->units[i].cost = CLF__WINDOW_FRAMES;
    }
    struct clf__failure failure = clf__failure_keep(clf__job_run(transcriber->engine, job));
    for (int i = 0; i < count; i++) { /* a failure of the call is a failure of each recording */
        if (run->works[i].transcript != NULL) {
            put_away(run, &run->works[i], clf__failure_again(&failure));
        }
        clf__transcription_free(&run->works[i]);
    }
    return clf__failure_again(&failure);
}

static clf_status check_caller(const struct clf_transcriber *transcriber)
{
    if (caller == transcriber) {
        return clf__fail(CLF_BAD_ARGUMENT, "the transcriber was called from its own callback; call it after "
                                           "the running call has returned");
    }
    return clf__service_is_here(transcriber->engine)
               ? clf__fail(CLF_BAD_ARGUMENT, "the transcriber was called from the callback of a job, which "
                                             "would delay all other callbacks; submit another job")
               : CLF_OK;
}

static clf_status start(struct clf_transcriber *transcriber, const struct clf_recordings *recordings,
                        const struct clf__transcribe_hooks *hooks, double *probability)
{
    struct run run = {.transcriber = transcriber,
                      .recordings = *recordings,
                      .hooks = {.interrupted = hooks->interrupted, .payload = hooks->asked},
                      .probability = probability};
    CLF__TRY(check_caller(transcriber));
    const struct clf_transcriber *before = caller;
    atomic_fetch_add(&transcriber->calls, 1);
    caller = transcriber;
    int is_batched = transcriber->options.batch_windows > 0 && probability == NULL;
    clf_status status =
        is_batched ? clf__transcribe_side_by_side(transcriber, recordings, &run.hooks) : run_job(&run);
    caller = before;
    atomic_fetch_sub(&transcriber->calls, 1);
    clf__free(run.works);
    clf__free(run.job.units);
    return status;
}

static struct clf__transcribe_hooks hooks_of(const struct clf_transcriber *transcriber)
{
    const struct clf_transcribe_options *options = &transcriber->options;
    return (struct clf__transcribe_hooks){
        .interrupted = options->interrupted, .asked = options->payload, .payload = options->payload};
}

void clf_recordings_init_sized(struct clf_recordings *recordings, size_t size)
{
    const struct clf_recordings defaults = {.size = sizeof defaults};
    clf__options_init(recordings, size, &defaults);
}

clf_status clf_transcribe_several(struct clf_transcriber *transcriber,
                                  const struct clf_recordings *recordings)
{
    struct clf_recordings own;
    if (transcriber == NULL || recordings == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         transcriber == NULL
                             ? "transcriber: is NULL; create one with clf_transcriber_create()"
                             : "recordings: is NULL; pass the recordings to transcribe");
    }
    clf_recordings_init(&own);
    CLF__TRY(clf__options_take(&own, sizeof own, recordings, "clf_recordings"));
    if (own.count < 0 || own.open == NULL || own.done == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         own.count < 0 ? "recordings: the count %d is negative"
                                       : "%d recordings: the callbacks `open` and `done` must be set",
                         own.count);
    }
    struct clf__transcribe_hooks hooks = hooks_of(transcriber);
    return start(transcriber, &own, &hooks, NULL);
}

/* A single recording. */
struct single {
    const struct clf_transcribe_options *options;
    const struct clf__transcribe_hooks *hooks;
    struct clf_audio *audio;
    struct clf_transcript *transcript;
    clf_status status;
};

static clf_status open_single(struct clf_audio **out, int index, void *user)
{
    struct single *single = user;
    (void)index;
    *out = single->audio;
    return CLF_OK;
}

static void end_single(int index, clf_status status, struct clf_transcript *transcript, void *user)
{
    struct single *single = user;
    (void)index;
    single->status = status;
    single->transcript = transcript;
}

static void tell_segment(int index, const struct clf_segment *segment, void *user)
{
    const struct single *single = user;
    (void)index;
    if (single->hooks->segments != NULL) {
        atomic_fetch_add(single->hooks->segments, 1);
    }
    if (single->options->segment != NULL) {
        single->options->segment(segment, single->hooks->payload);
    }
}

static void tell_progress(int index, double seconds, double of, void *user)
{
    const struct single *single = user;
    (void)index;
    single->options->progress(seconds, of, single->hooks->payload);
}

static clf_status transcribe_single(struct clf_transcript **out, struct clf_transcriber *transcriber,
                                    struct clf_audio *audio, const struct clf__transcribe_hooks *hooks,
                                    double *probability)
{
    const struct clf_transcribe_options *options = &transcriber->options;
    struct single single = {.options = options, .hooks = hooks, .audio = audio};
    struct clf_recordings recordings;
    clf_recordings_init(&recordings);
    recordings.count = 1;
    recordings.open = open_single;
    recordings.done = end_single;
    recordings.segment = tell_segment;
    recordings.progress = options->progress != NULL ? tell_progress : NULL;
    recordings.payload = &single;
    CLF__TRY(start(transcriber, &recordings, hooks, probability));
    *out = single.transcript;
    return single.status;
}

clf_status clf__transcribe(struct clf_transcript **out, struct clf_transcriber *transcriber,
                           struct clf_audio *audio, const struct clf__transcribe_hooks *hooks)
{
    return transcribe_single(out, transcriber, audio, hooks, NULL);
}

clf_status clf__transcribe_check(const struct clf_transcriber *transcriber, const struct clf_audio *audio)
{
    if (transcriber == NULL || audio == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         transcriber == NULL
                             ? "transcriber: is NULL; create one with clf_transcriber_create()"
                             : "audio: is NULL; pass a recording to transcribe");
    }
    return CLF_OK;
}

clf_status clf_transcribe(struct clf_transcript **out, struct clf_transcriber *transcriber,
                          struct clf_audio *audio)
{
    *out = NULL;
    CLF__TRY(clf__transcribe_check(transcriber, audio));
    struct clf__transcribe_hooks hooks = hooks_of(transcriber);
    return clf__transcribe(out, transcriber, audio, &hooks);
}

clf_status clf__transcriber_detect(char **code, double *probability, struct clf_transcriber *transcriber,
                                   struct clf_audio *audio)
{
    struct clf__transcribe_hooks hooks = hooks_of(transcriber);
    struct clf_transcript *transcript;
    *code = NULL;
    *probability = 1;
    CLF__TRY(transcribe_single(&transcript, transcriber, audio, &hooks, probability));
    *code = transcript->language;
    transcript->language = NULL;
    clf_transcript_free(transcript);
    return CLF_OK;
}
