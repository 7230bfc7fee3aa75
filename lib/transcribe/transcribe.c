/* Batched transcription: one window of each active recording is decoded at a time. */
#include <clformer/transcriber.h>

#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "transcribe/transcription.h"

struct run {
    struct clf_transcriber *transcriber;
    struct clf_recordings recordings;
    struct clf__transcription *works;     /* (slots) a slot without a transcript is free */
    struct clf__attempt *attempts;        /* (slots) */
    struct clf__ids *previous;            /* (slots) */
    struct clf__transcription **at_slots; /* (slots) recordings with a window */
    int next;                             /* index of the next recording to open */
};

/* Finishes a recording that has failed or is complete. */
static void put_away(struct run *run, struct clf__transcription *work, clf_status status)
{
    struct clf_transcript *transcript = NULL;
    status = status == CLF_OK ? clf__transcription_end(work, &transcript) : status;
    clf__transcription_free(work);
    run->recordings.done(work->index, status, transcript, run->recordings.payload);
}

/* Begins the next readable recording in a free slot, if there is one. The only failure is CLF_INTERRUPTED. */
static clf_status begin_next(struct run *run, struct clf__transcription *work, struct clf__windows *windows)
{
    while (work->transcript == NULL && run->next < run->recordings.count) {
        struct clf_audio *audio = NULL;
        CLF__TRY(clf__transcriber_go_on(run->transcriber));
        int index = run->next++;
        *work = (struct clf__transcription){.transcriber = run->transcriber,
                                            .recordings = &run->recordings,
                                            .index = index,
                                            .windows = windows};
        clf_status status = run->recordings.open(&audio, index, run->recordings.payload);
        if (status == CLF_OK && audio == NULL) {
            status =
                clf__fail(CLF_BAD_ARGUMENT, "recording %d: the callback `open` returned no recording", index);
        }
        status = status == CLF_OK ? clf__transcription_begin(work, audio) : status;
        if (status != CLF_OK) {
            put_away(run, work, status);
            if (status == CLF_INTERRUPTED) {
                return status;
            }
        }
    }
    return CLF_OK;
}

/* Fills free slots with recordings that have a window. */
static clf_status fill_places(struct run *run)
{
    for (int i = 0; i < run->transcriber->slots; i++) {
        struct clf__transcription *work = &run->works[i];
        do {
            CLF__TRY(begin_next(run, work, &run->transcriber->windows[i]));
            if (work->transcript == NULL) {
                break; /* no recording is left */
            }
            if (!clf__transcription_next(work)) {
                put_away(run, work, CLF_OK);
            }
        } while (work->transcript == NULL);
    }
    return CLF_OK;
}

/* Takes a window of each recording; returns the count. */
static int take_windows(struct run *run)
{
    int count = 0;
    for (int i = 0; i < run->transcriber->slots; i++) {
        struct clf__transcription *work = &run->works[i];
        if (work->transcript != NULL) {
            work->slot = count;
            clf_status status = clf__transcription_take(work);
            if (status != CLF_OK) {
                put_away(run, work, status);
            } else {
                run->at_slots[count++] = work;
            }
        }
    }
    return count;
}

/* Decodes the windows at the first `count` slots. */
static clf_status do_windows(struct run *run, int count)
{
    CLF__TRY(clf__encode_windows(run->transcriber, count));
    for (int i = 0; i < count; i++) {
        struct clf__transcription *work = run->at_slots[i];
        run->previous[i] = clf__transcription_previous(work);
        run->attempts[i] = (struct clf__attempt){
            .slot = i,
            .language = work->language,
            .previous = &run->previous[i],
            .window = work->seek,
            .out = &work->decoded,
        };
    }
    CLF__TRY(clf__decode_with_fallback(run->transcriber, run->attempts, count));
    for (int i = 0; i < count; i++) {
        clf_status status = clf__transcription_leave(run->at_slots[i]);
        if (status != CLF_OK) {
            put_away(run, run->at_slots[i], status);
        }
    }
    return CLF_OK;
}

static int is_at_work(const struct run *run)
{
    for (int i = 0; i < run->transcriber->slots; i++) {
        if (run->works[i].transcript != NULL) {
            return 1;
        }
    }
    return 0;
}

static clf_status transcribe(struct run *run)
{
    size_t slots = (size_t)run->transcriber->slots;
    CLF__TRY(clf__allocate(&run->works, slots, sizeof *run->works));
    CLF__TRY(clf__allocate(&run->attempts, slots, sizeof *run->attempts));
    CLF__TRY(clf__allocate(&run->previous, slots, sizeof *run->previous));
    CLF__TRY(clf__allocate(&run->at_slots, slots, sizeof *run->at_slots));
    clf_status status = fill_places(run);
    while (status == CLF_OK && is_at_work(run)) {
        status = clf__transcriber_go_on(run->transcriber);
        int count = status == CLF_OK ? take_windows(run) : 0;
        if (count > 0) {
            status = do_windows(run, count);
        }
        status = status == CLF_OK ? fill_places(run) : status;
    }
    for (size_t i = 0; i < slots; i++) { /* a failure of the batch is a failure of each recording */
        if (run->works[i].transcript != NULL) {
            put_away(run, &run->works[i], status);
        }
    }
    return status;
}

static clf_status start(struct clf_transcriber *transcriber, const struct clf_recordings *recordings)
{
    if (atomic_exchange(&transcriber->is_working, 1)) {
        return clf__fail(CLF_BAD_ARGUMENT, "the transcriber is in use by another thread, or was called from "
                                           "its own callback; create a transcriber for each thread");
    }
    struct run run = {.transcriber = transcriber, .recordings = *recordings};
    clf_status status = transcribe(&run);
    atomic_store(&transcriber->is_working, 0);
    clf__free(run.works);
    clf__free(run.attempts);
    clf__free(run.previous);
    clf__free(run.at_slots);
    return status;
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
    return start(transcriber, &own);
}

/* The single recording of clf_transcribe(). */
struct single {
    const struct clf_transcribe_options *options;
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
    single->options->segment(segment, single->options->payload);
}

static void tell_progress(int index, double seconds, double of, void *user)
{
    const struct single *single = user;
    (void)index;
    single->options->progress(seconds, of, single->options->payload);
}

clf_status clf_transcribe(struct clf_transcript **out, struct clf_transcriber *transcriber,
                          struct clf_audio *audio)
{
    *out = NULL;
    if (transcriber == NULL || audio == NULL) {
        return clf__fail(CLF_BAD_ARGUMENT,
                         transcriber == NULL
                             ? "transcriber: is NULL; create one with clf_transcriber_create()"
                             : "audio: is NULL; pass a recording to transcribe");
    }
    struct single single = {.options = &transcriber->options, .audio = audio};
    struct clf_recordings recordings;
    clf_recordings_init(&recordings);
    recordings.count = 1;
    recordings.open = open_single;
    recordings.done = end_single;
    recordings.segment = transcriber->options.segment != NULL ? tell_segment : NULL;
    recordings.progress = transcriber->options.progress != NULL ? tell_progress : NULL;
    recordings.payload = &single;
    CLF__TRY(start(transcriber, &recordings));
    *out = single.transcript;
    return single.status;
}
