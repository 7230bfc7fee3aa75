#include <limits.h>
#include <string.h>

#include "audio/frames.h"
#include "audio/npy.h"
#include "audio/spectrogram.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "runtime/device/lock.h"

enum { MINUTE = 60 * CLF__LOG_MEL_RATE };

/* A queued recording. Its range includes the appended silence and the frames after the end, which are not
 * returned but may contain the maximum. */
struct waiting {
    float *target;
    int rows; /* rows of `target` */
    struct clf__frame_range range;
    int wanted; /* number of frames to return */
};

struct clf__frame_maker {
    struct clf_device *device;
    struct clf__frame_layout layout;
    struct clf__spectrogram spectrogram; /* has no tables until the first recording */
    struct clf__arena arena;
    struct clf__tensor frames; /* (capacity in frames, bands) */
    float *frames_host;        /* same shape */
    struct waiting *waiting;
    int count, capacity;
    int used_samples, used_frames;
};

clf_status clf__frame_maker_create(struct clf__frame_maker **out, struct clf_device *device,
                                   struct clf__frame_layout layout)
{
    CLF__LOCK_DEVICE(device);
    CLF__TRY(clf__allocate(out, 1, sizeof **out));
    (*out)->device = device;
    (*out)->layout = layout;
    clf__arena_init(&(*out)->arena, device);
    return CLF_OK;
}

static void free_frames(struct clf__frame_maker *maker)
{
    clf__arena_free(&maker->arena);
    clf__free(maker->frames_host);
    maker->frames_host = NULL;
    maker->frames.rows = 0;
}

void clf__frame_maker_free(struct clf__frame_maker *maker)
{
    CLF__LOCK_DEVICE(maker != NULL ? maker->device : NULL);
    if (maker != NULL) {
        free_frames(maker);
        clf__spectrogram_free(&maker->spectrogram);
        clf__free(maker->waiting);
        clf__free(maker);
    }
}

static clf_status make_tables(struct clf__frame_maker *maker)
{
    if (maker->layout.bands > CLF__LOG_MEL_MOST_BANDS) {
        return clf__fail(CLF_UNSUPPORTED,
                         "log-mel frames have at most %d bands, but this model needs %d "
                         "(\"feature_size\"); pass frames in .npy files",
                         CLF__LOG_MEL_MOST_BANDS, maker->layout.bands);
    }
    return maker->spectrogram.log_mel.tables.buffer == NULL
               ? clf__spectrogram_create(&maker->spectrogram, maker->device, maker->layout.bands)
               : CLF_OK;
}

static clf_status allocate_frames(struct clf__frame_maker *maker, int rows)
{
    int bands = maker->layout.bands;
    CLF__TRY(clf__allocate(&maker->frames_host, (size_t)rows * (size_t)bands, sizeof *maker->frames_host));
    CLF__TRY(clf__arena_reserve(&maker->arena, &maker->frames, CLF__F32, rows, bands, "log-mel frames"));
    return clf__arena_allocate(&maker->arena);
}

/* Processes the queue if it leaves too little space, and enlarges the buffers if needed. */
static clf_status make_room(struct clf__frame_maker *maker, int samples, int rows)
{
    const struct clf__tensor *held = &maker->spectrogram.samples;
    if (samples <= held->columns - maker->used_samples && rows <= maker->frames.rows - maker->used_frames) {
        return CLF_OK;
    }
    CLF__TRY(clf__frame_maker_finish(maker));
    if (samples <= held->columns && rows <= maker->frames.rows) {
        return CLF_OK;
    }
    rows = clf__max_int(rows, MINUTE / CLF__FRAME_SAMPLES + 1);
    free_frames(maker);
    CLF__TRY(clf__spectrogram_resize(&maker->spectrogram, clf__max_int(samples, MINUTE), rows));
    clf_status status = allocate_frames(maker, rows);
    if (status != CLF_OK) {
        free_frames(maker);
    }
    return status;
}

static clf_status wait_for(struct clf__frame_maker *maker, const struct waiting *waiting)
{
    CLF__TRY(clf__grow(&maker->waiting, maker->count, &maker->capacity, sizeof *maker->waiting));
    maker->waiting[maker->count++] = *waiting;
    maker->used_samples += waiting->range.samples;
    maker->used_frames += waiting->range.frames;
    return CLF_OK;
}

clf_status clf__frame_maker_add(struct clf__frame_maker *maker, float *target, int rows, const float *samples,
                                int count)
{
    CLF__LOCK_DEVICE(maker->device);
    const struct clf__frame_layout *layout = &maker->layout;
    int seen = (rows - 1) * layout->step + layout->stack;
    struct waiting waiting = {
        .target = target,
        .rows = rows,
        .range = {.samples = count + CLF__SILENCE_SAMPLES, .frames = (int)clf__frames_of(count)},
        .wanted = clf__min_int(seen, count / CLF__FRAME_SAMPLES)};
    CLF__TRY(make_tables(maker));
    CLF__TRY(make_room(maker, waiting.range.samples, waiting.range.frames));
    waiting.range.first_sample = maker->used_samples;
    waiting.range.first_frame = maker->used_frames;
    CLF__TRY(wait_for(maker, &waiting));
    float *room = maker->spectrogram.samples_host + waiting.range.first_sample;
    memcpy(room, samples, (size_t)count * sizeof *room);
    memset(room + count, 0, CLF__SILENCE_SAMPLES * sizeof *room);
    return CLF_OK;
}

static clf_status compute(const struct clf__frame_maker *maker)
{
    CLF__TRY(clf__spectrogram_upload(&maker->spectrogram, maker->used_samples));
    for (int i = 0; i < maker->count; i++) {
        CLF__TRY(clf__spectrogram_compute(&maker->spectrogram, maker->frames, &maker->waiting[i].range));
    }
    return clf__spectrogram_read_peaks(&maker->spectrogram, maker->used_frames);
}

static clf_status scale(const struct clf__frame_maker *maker)
{
    for (int i = 0; i < maker->count; i++) {
        const struct clf__frame_range *range = &maker->waiting[i].range;
        float peak = clf__spectrogram_peak(&maker->spectrogram, range->first_frame, range->frames);
        CLF__TRY(clf__spectrogram_scale(
            clf__tensor_rows(maker->frames, range->first_frame, maker->waiting[i].wanted), peak));
    }
    return clf__tensor_read(clf__tensor_rows(maker->frames, 0, maker->used_frames), maker->frames_host);
}

static void copy_rows(const struct clf__frame_maker *maker, const struct waiting *its)
{
    const struct clf__frame_layout *layout = &maker->layout;
    const float *frames = maker->frames_host + (size_t)its->range.first_frame * (size_t)layout->bands;
    float *target = its->target;
    for (int row = 0; row < its->rows; row++) {
        for (int i = 0; i < layout->stack; i++) {
            int frame = clf__min_int(row * layout->step + i, its->wanted - 1);
            memcpy(target, frames + (size_t)frame * (size_t)layout->bands,
                   (size_t)layout->bands * sizeof *target);
            target += layout->bands;
        }
    }
}

clf_status clf__frame_maker_finish(struct clf__frame_maker *maker)
{
    CLF__LOCK_DEVICE(maker->device);
    clf_status status = maker->count > 0 ? compute(maker) : CLF_OK;
    if (status == CLF_OK && maker->count > 0) {
        status = scale(maker);
    }
    for (int i = 0; i < maker->count && status == CLF_OK; i++) {
        copy_rows(maker, &maker->waiting[i]);
    }
    maker->count = maker->used_samples = maker->used_frames = 0;
    return status;
}

static clf_status read_recording(float **values, int *rows, int *whole, struct clf__frame_maker *maker,
                                 const char *path, int most)
{
    const struct clf__frame_layout *layout = &maker->layout;
    struct clf__recording recording;
    CLF__TRY(clf__recording_read(&recording, layout, path, most));
    *whole = recording.rows < INT_MAX ? (int)recording.rows : INT_MAX;
    *rows = *whole < most ? *whole : most;
    clf_status status =
        clf__allocate(values, (size_t)*rows * (size_t)(layout->stack * layout->bands), sizeof **values);
    if (status == CLF_OK && *rows > 0) {
        status = clf__frame_maker_add(maker, *values, *rows, recording.samples, recording.count);
    }
    clf__recording_free(&recording);
    return status == CLF_OK ? clf__frame_maker_finish(maker) : status;
}

clf_status clf__frames_read(float **values, int *rows, int *whole, struct clf__frame_maker *maker,
                            const char *path, int most)
{
    int is_stored;
    *values = NULL;
    CLF__TRY(clf__frames_are_stored(&is_stored, path));
    if (is_stored) {
        CLF__TRY(clf__npy_read(values, whole, path, maker->layout.stack * maker->layout.bands));
        *rows = *whole < most ? *whole : most;
        return CLF_OK;
    }
    clf_status status = read_recording(values, rows, whole, maker, path, most);
    if (status != CLF_OK) {
        clf__free(*values);
        *values = NULL;
    }
    return status;
}
