/* Each part is a recording in memory with a separate transcription. The parts of a recording are begun and
 * reported in order; parts that finish earlier wait. */
#include "transcribe/side_by_side.h"

#include <string.h>

#include "base/memory.h"

/* A recording that was opened. */
struct recording {
    struct recording *next;  /* opened later */
    struct clf_audio *audio; /* NULL: not open */
    char *name;              /* a copy: parts in progress may outlive the audio */
    int index;
    struct clf__plan plan;
    struct clf_transcript **finished; /* (plan.count) transcripts of parts that wait for earlier parts */
    struct clf_transcript *transcript;
    int capacity;     /* allocated segments of the transcript */
    int begun;        /* number of parts that were begun */
    int reported;     /* number of parts that are in the transcript */
    int running;      /* number of parts in slots */
    int is_over;      /* `done` was called */
    int32_t language; /* -1: the first part detects it */
};

/* A part in progress. */
struct slot {
    struct recording *recording; /* NULL: free */
    int part;
    struct clf__transcription work;
    struct clf_audio *audio; /* its samples */
    float *samples;          /* (CLF__WINDOW_SAMPLES) NULL: not allocated */
};

struct run {
    struct clf_transcriber *transcriber;
    const struct clf_recordings *recordings;
    const struct clf_translate_options *hooks;
    struct clf_recordings quiet; /* a part has no callbacks */
    struct recording *first, *last;
    int opened; /* number of recordings */
    struct slot *slots;
    struct clf__job job; /* its units are the slots */
};

/* Frees a recording that is over and has no part in progress. */
static void release(struct run *run, struct recording *recording)
{
    if (!recording->is_over || recording->running > 0) {
        return;
    }
    struct recording **link = &run->first;
    struct recording *before = NULL;
    while (*link != recording) {
        before = *link;
        link = &before->next;
    }
    *link = recording->next;
    run->last = run->last == recording ? before : run->last;
    for (int i = 0; recording->finished != NULL && i < recording->plan.count; i++) {
        clf_transcript_free(recording->finished[i]);
    }
    clf__free(recording->finished);
    clf__free(recording->name);
    clf_transcript_free(recording->transcript);
    clf__plan_free(&recording->plan);
    clf__free(recording);
}

/* Ends a recording that has failed or is complete; the owner may free the audio. */
static void put_away(const struct run *run, struct recording *recording, clf_status status)
{
    struct clf_transcript *transcript = status == CLF_OK ? recording->transcript : NULL;
    recording->transcript = status == CLF_OK ? NULL : recording->transcript;
    recording->is_over = 1;
    recording->audio = NULL;
    run->recordings->done(recording->index, status, transcript, run->recordings->payload);
}

static clf_status prepare(const struct run *run, struct recording *recording)
{
    struct clf__plan *plan = &recording->plan;
    CLF__TRY(clf__recordings_open(&recording->audio, run->recordings, recording->index));
    CLF__TRY(clf__copy_string(&recording->name, clf_audio_name(recording->audio)));
    CLF__TRY(clf__plan_make(plan, run->transcriber, recording->audio, run->hooks));
    CLF__TRY(clf__allocate(&recording->finished, (size_t)plan->count, sizeof *recording->finished));
    CLF__TRY(clf__allocate(&recording->transcript, 1, sizeof *recording->transcript));
    recording->transcript->has_words = run->transcriber->options.word_timestamps;
    return clf__copy_string(&recording->transcript->text, "");
}

/* Opens the next recording and plans its parts; a recording that fails is over. */
static clf_status open_next(struct run *run)
{
    struct recording *recording;
    CLF__TRY(clf__hooks_go_on(run->hooks));
    CLF__TRY(clf__allocate(&recording, 1, sizeof *recording));
    recording->index = run->opened++;
    recording->language = run->transcriber->language;
    *(run->last != NULL ? &run->last->next : &run->first) = recording;
    run->last = recording;
    clf_status status = prepare(run, recording);
    if (status != CLF_OK) {
        put_away(run, recording, status);
        release(run, recording);
        return status == CLF_INTERRUPTED ? status : CLF_OK;
    }
    return CLF_OK;
}

/* Reads the samples of a part. */
static clf_status read_part(struct slot *slot, size_t *count)
{
    struct recording *recording = slot->recording;
    const struct clf__part *part = &recording->plan.parts[slot->part];
    struct clf_audio *joined;
    if (slot->samples == NULL) {
        CLF__TRY(clf__allocate(&slot->samples, CLF__WINDOW_SAMPLES, sizeof *slot->samples));
    }
    CLF__TRY(clf__audio_open_spans(&joined, recording->audio, recording->plan.spans.data + part->first,
                                   part->count));
    clf_status status = clf_audio_read(slot->samples, count, joined, CLF__WINDOW_SAMPLES);
    clf_audio_free(joined);
    return status;
}

/* Begins the next part of a recording in a slot. */
static clf_status begin_part(struct run *run, struct slot *slot, struct recording *recording)
{
    struct clf__transcription *work = &slot->work;
    size_t count;
    slot->recording = recording;
    slot->part = recording->begun++;
    recording->running++;
    *work = (struct clf__transcription){.transcriber = run->transcriber,
                                        .recordings = &run->quiet,
                                        .windows = {.samples = work->windows.samples}};
    CLF__TRY(read_part(slot, &count));
    CLF__TRY(clf_audio_open_samples(&slot->audio, slot->samples, count));
    CLF__TRY(clf__transcription_begin(work, slot->audio));
    const struct clf__part *part = &recording->plan.parts[slot->part];
    work->name = recording->name;
    work->spans = recording->plan.spans.data + part->first;
    work->span_count = part->count;
    work->language = recording->language;
    return CLF_OK;
}

static void free_slot(struct run *run, struct slot *slot)
{
    struct recording *recording = slot->recording;
    clf__transcription_clear(&slot->work);
    clf_audio_free(slot->audio);
    slot->audio = NULL;
    slot->recording = NULL;
    recording->running--;
    release(run, recording);
}

/* Ends a part whose recording has failed, or fails its recording. */
static void fail_part(struct run *run, struct slot *slot, clf_status status)
{
    if (!slot->recording->is_over) {
        put_away(run, slot->recording, status);
    }
    free_slot(run, slot);
}

/* Moves the segments and the text of a part to the transcript, and reports the segments. */
static clf_status report_part(const struct run *run, struct recording *recording, struct clf_transcript *part)
{
    const struct clf_recordings *recordings = run->recordings;
    struct clf_transcript *transcript = recording->transcript;
    CLF__TRY(clf__append(&transcript->text, "%s", part->text));
    if (transcript->language == NULL) {
        transcript->language = part->language;
        part->language = NULL;
    }
    for (int i = 0; i < part->count; i++) {
        CLF__TRY(clf__grow(&transcript->segments, transcript->count, &recording->capacity,
                           sizeof *transcript->segments));
        struct clf_segment *segment = &transcript->segments[transcript->count];
        *segment = part->segments[i];
        part->segments[i] = (struct clf_segment){0};
        segment->id = transcript->count++;
        if (recordings->segment != NULL) {
            recordings->segment(recording->index, segment, recordings->payload);
        }
    }
    return CLF_OK;
}

/* Reports that all parts before this number are transcribed. */
static void report_progress(const struct run *run, const struct recording *recording, int parts)
{
    const struct clf_recordings *recordings = run->recordings;
    const struct clf__part *part = &recording->plan.parts[parts - 1];
    double all = (double)recording->plan.frames / CLF__FRAMES_A_SECOND, done = all;
    if (recordings->progress != NULL && part->count > 0) {
        if (parts < recording->plan.count) {
            done = (double)recording->plan.spans.data[part->first + part->count - 1].end / CLF_AUDIO_RATE;
        }
        recordings->progress(recording->index, done, all, recordings->payload);
    }
}

/* Ends a part: keeps its transcript, and reports finished parts in order. */
static void finish_part(struct run *run, struct slot *slot)
{
    struct recording *recording = slot->recording;
    clf_status status = clf__transcription_end(&slot->work, &recording->finished[slot->part]);
    while (status == CLF_OK && recording->reported < recording->plan.count &&
           recording->finished[recording->reported] != NULL) {
        struct clf_transcript **part = &recording->finished[recording->reported++];
        status = report_part(run, recording, *part);
        clf_transcript_free(*part);
        *part = NULL;
        if (status == CLF_OK) {
            report_progress(run, recording, recording->reported);
        }
    }
    if (status != CLF_OK || recording->reported == recording->plan.count) {
        put_away(run, recording, status);
    }
    free_slot(run, slot);
}

/* Returns the recording whose parts are being started, or NULL. */
static struct recording *find_current(const struct run *run)
{
    struct recording *last = run->last;
    return last != NULL && !last->is_over && last->begun < last->plan.count ? last : NULL;
}

/* Begins the next part in a slot, if any part is left. The other parts of a recording wait until the first
 * part has detected the language. */
static clf_status begin_next(struct run *run, struct slot *slot, int *next)
{
    while (slot->recording == NULL) {
        struct recording *recording = find_current(run);
        const struct clf_transcriber *transcriber = run->transcriber;
        int detects_once = transcriber->is_multilingual && !transcriber->options.multilingual;
        if (recording == NULL && run->opened == run->recordings->count) {
            *next = CLF__NEXT_NONE;
            return CLF_OK;
        }
        if (recording == NULL) {
            CLF__TRY(open_next(run));
        } else if (recording->begun > 0 && detects_once && recording->language < 0) {
            *next = CLF__NEXT_LATER;
            return CLF_OK;
        } else {
            clf_status status = begin_part(run, slot, recording);
            if (status != CLF_OK) {
                fail_part(run, slot, status);
            }
        }
    }
    return CLF_OK;
}

/* Adds the window of a slot that was searched. */
static clf_status leave(struct slot *slot)
{
    struct recording *recording = slot->recording;
    CLF__TRY(recording->is_over ? CLF_INTERRUPTED : clf__transcription_leave(&slot->work));
    int detects_once = !slot->work.transcriber->options.multilingual;
    recording->language = detects_once ? slot->work.language : recording->language;
    return CLF_OK;
}

/* Continues a part after the search of a window, or with the next part. */
static clf_status go_on(void *context, struct clf__unit *unit, int *next)
{
    struct run *run = context;
    struct slot *slot = &run->slots[unit->number];
    clf_status status = slot->recording != NULL ? leave(slot) : CLF_OK;
    if (status != CLF_OK) {
        fail_part(run, slot, status);
    }
    for (;;) {
        int has_window;
        CLF__TRY(begin_next(run, slot, next));
        if (slot->recording == NULL) {
            return CLF_OK;
        }
        status = clf__transcription_next(&slot->work, &has_window);
        if (status == CLF_OK && has_window) {
            clf__transcription_search(&slot->work, unit);
            *next = CLF__NEXT_SEARCH;
            return CLF_OK;
        }
        if (status == CLF_OK) {
            finish_part(run, slot);
        } else {
            fail_part(run, slot, status);
        }
    }
}

static clf_status run_job(struct run *run)
{
    struct clf_transcriber *transcriber = run->transcriber;
    struct clf__job *job = &run->job;
    int count = run->recordings->count > 0 ? transcriber->options.batch_windows : 0;
    CLF__TRY(clf__allocate(&run->slots, (size_t)count, sizeof *run->slots));
    CLF__TRY(clf__allocate(&job->units, (size_t)count, sizeof *job->units));
    job->count = count;
    job->returned = go_on;
    job->context = run;
    job->options = run->hooks;
    job->is_bulk = transcriber->options.priority == CLF_PRIORITY_BULK;
    for (int i = 0; i < count; i++) {
        job->units[i].cost = CLF__WINDOW_FRAMES;
    }
    return clf__job_run(transcriber->engine, job);
}

clf_status clf__transcribe_side_by_side(struct clf_transcriber *transcriber,
                                        const struct clf_recordings *recordings,
                                        const struct clf_translate_options *hooks)
{
    struct run run = {.transcriber = transcriber, .recordings = recordings, .hooks = hooks};
    struct clf__failure failure = clf__failure_keep(run_job(&run));
    for (int i = 0; i < run.job.count; i++) { /* a failure of the call is a failure of each recording */
        struct slot *slot = &run.slots[i];
        if (slot->recording != NULL) {
            fail_part(&run, slot, clf__failure_again(&failure));
        }
        clf__transcription_free(&slot->work);
        clf__free(slot->samples);
    }
    while (run.first != NULL) { /* parts that have not begun are dropped */
        put_away(&run, run.first, clf__failure_again(&failure));
        release(&run, run.first);
    }
    clf__free(run.slots);
    clf__free(run.job.units);
    return clf__failure_again(&failure);
}
