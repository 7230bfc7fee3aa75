#include <limits.h>
#include <math.h>
#include <string.h>

#include "audio/frames.h"
#include "audio/npy.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "math/ops/log_mel.h"
#include "runtime/device/lock.h"

enum {
    HOP = CLF__LOG_MEL_HOP,
    CONTEXT = CLF__LOG_MEL_FRAME / 2, /* samples of context on either side of a frame's centre */
    SILENCE = 2 * CONTEXT,            /* silence after a recording, for frames centred after its end */
    MINUTE = 60 * CLF__LOG_MEL_RATE,
};
static const float RANGE =
    8.0F; /* dynamic range in powers of ten below the maximum; lower values are raised to it */

/* A queued recording: its position in the buffer and its number of frames. These include frames after the
 * end, which are not returned but may contain the maximum. */
struct waiting {
    float *target;
    int rows;                  /* rows of `target` */
    int first_sample, samples; /* range of samples, including the silence */
    int first_frame, frames, wanted;
};

struct clf__frame_maker {
    struct clf_device *device;
    struct clf__frame_layout layout;
    struct clf__log_mel log_mel;
    struct clf__arena arena;
    struct clf__tensor samples, frames, peaks; /* (1, capacity), (rows, bands), (1, rows) */
    float *samples_host, *frames_host, *peaks_host;
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

static void free_room(struct clf__frame_maker *maker)
{
    clf__arena_free(&maker->arena);
    clf__free(maker->samples_host);
    clf__free(maker->frames_host);
    clf__free(maker->peaks_host);
    maker->samples_host = maker->frames_host = maker->peaks_host = NULL;
    maker->samples.columns = maker->frames.rows = 0;
}

void clf__frame_maker_free(struct clf__frame_maker *maker)
{
    CLF__LOCK_DEVICE(maker != NULL ? maker->device : NULL);
    if (maker != NULL) {
        free_room(maker);
        clf__log_mel_free(&maker->log_mel);
        clf__free(maker->waiting);
        clf__free(maker);
    }
}

static clf_status make_tables(struct clf__frame_maker *maker)
{
    if (maker->layout.bands > CLF__LOG_MEL_MOST_BANDS) {
        return clf__fail(CLF_UNSUPPORTED,
                         "recordings: log-mel frames have at most %d bands, and this model takes %d "
                         "(\"feature_size\"); give it frames in .npy files",
                         CLF__LOG_MEL_MOST_BANDS, maker->layout.bands);
    }
    return maker->log_mel.tables.buffer == NULL
               ? clf__log_mel_create(&maker->log_mel, maker->device, maker->layout.bands)
               : CLF_OK;
}

/* Allocates buffers for a number of samples and frames. */
static clf_status allocate_room(struct clf__frame_maker *maker, int samples, int rows)
{
    CLF__TRY(clf__allocate(&maker->samples_host, (size_t)samples, sizeof *maker->samples_host));
    CLF__TRY(clf__allocate(&maker->frames_host, (size_t)rows * (size_t)maker->layout.bands,
                           sizeof *maker->frames_host));
    CLF__TRY(clf__allocate(&maker->peaks_host, (size_t)rows, sizeof *maker->peaks_host));
    CLF__TRY(clf__arena_reserve(&maker->arena, &maker->samples, CLF__F32, 1, samples, "samples"));
    CLF__TRY(clf__arena_reserve(&maker->arena, &maker->frames, CLF__F32, rows, maker->layout.bands,
                                "log-mel frames"));
    CLF__TRY(clf__arena_reserve(&maker->arena, &maker->peaks, CLF__F32, 1, rows, "their peaks"));
    return clf__arena_allocate(&maker->arena);
}

/* Processes the queue if it leaves too little space, and enlarges the buffers if needed. */
static clf_status make_room(struct clf__frame_maker *maker, int samples, int rows)
{
    if (samples <= maker->samples.columns - maker->used_samples &&
        rows <= maker->frames.rows - maker->used_frames) {
        return CLF_OK;
    }
    CLF__TRY(clf__frame_maker_finish(maker));
    if (samples <= maker->samples.columns && rows <= maker->frames.rows) {
        return CLF_OK;
    }
    free_room(maker);
    clf_status status =
        allocate_room(maker, clf__max_int(samples, MINUTE), clf__max_int(rows, MINUTE / HOP + 1));
    if (status != CLF_OK) {
        free_room(maker);
    }
    return status;
}

static clf_status wait_for(struct clf__frame_maker *maker, const struct waiting *waiting)
{
    CLF__TRY(clf__grow(&maker->waiting, maker->count, &maker->capacity, sizeof *maker->waiting));
    maker->waiting[maker->count++] = *waiting;
    maker->used_samples += waiting->samples;
    maker->used_frames += waiting->frames;
    return CLF_OK;
}

clf_status clf__frame_maker_add(struct clf__frame_maker *maker, float *target, int rows, const float *samples,
                                int count)
{
    CLF__LOCK_DEVICE(maker->device);
    const struct clf__frame_layout *layout = &maker->layout;
    int frames = (count + CONTEXT + HOP - 1) / HOP; /* the last frame still overlaps the recording */
    int seen = (rows - 1) * layout->step + layout->stack;
    CLF__TRY(make_tables(maker));
    CLF__TRY(make_room(maker, count + SILENCE, frames));
    const struct waiting waiting = {.target = target,
                                    .rows = rows,
                                    .first_sample = maker->used_samples,
                                    .samples = count + SILENCE,
                                    .first_frame = maker->used_frames,
                                    .frames = frames,
                                    .wanted = clf__min_int(seen, count / HOP)};
    CLF__TRY(wait_for(maker, &waiting));
    float *room = maker->samples_host + waiting.first_sample;
    memcpy(room, samples, (size_t)count * sizeof *room);
    memset(room + count, 0, SILENCE * sizeof *room);
    return CLF_OK;
}

static clf_status compute(const struct clf__frame_maker *maker)
{
    CLF__TRY(
        clf__tensor_write(clf__tensor_columns(maker->samples, 0, maker->used_samples), maker->samples_host));
    for (int i = 0; i < maker->count; i++) {
        const struct waiting *its = &maker->waiting[i];
        CLF__TRY(clf__log_mel_forward(clf__tensor_rows(maker->frames, its->first_frame, its->frames),
                                      clf__tensor_columns(maker->peaks, its->first_frame, its->frames),
                                      clf__tensor_columns(maker->samples, its->first_sample, its->samples), 0,
                                      &maker->log_mel));
    }
    return clf__tensor_read(clf__tensor_columns(maker->peaks, 0, maker->used_frames), maker->peaks_host);
}

static clf_status scale(const struct clf__frame_maker *maker)
{
    for (int i = 0; i < maker->count; i++) {
        const struct waiting *its = &maker->waiting[i];
        float peak = -INFINITY;
        for (int row = its->first_frame; row < its->first_frame + its->frames; row++) {
            peak = fmaxf(peak, maker->peaks_host[row]);
        }
        CLF__TRY(
            clf__log_mel_scale(clf__tensor_rows(maker->frames, its->first_frame, its->wanted), peak - RANGE));
    }
    return clf__tensor_read(clf__tensor_rows(maker->frames, 0, maker->used_frames), maker->frames_host);
}

static void copy_rows(const struct clf__frame_maker *maker, const struct waiting *its)
{
    const struct clf__frame_layout *layout = &maker->layout;
    const float *frames = maker->frames_host + (size_t)its->first_frame * (size_t)layout->bands;
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
