#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/larger.h"
#include "base/memory.h"
#include "frames/frames.h"
#include "ops/log_mel.h"
#include "text/npy.h"

enum {
    HOP = CLF__LOG_MEL_HOP,
    CONTEXT = CLF__LOG_MEL_FRAME / 2, /* samples that a frame looks at on either side */
    SILENCE = 2 * CONTEXT,            /* behind a recording, for the frames whose middle is behind it */
    MINUTE = 60 * CLF__LOG_MEL_RATE,
};
static const float RANGE = 8.0F; /* powers of ten below the loudest: what is quieter is raised to there */

/* A recording that waits: where it lies in the room, and how many frames it has there with those behind its
 * end, of which none is wanted, but which may be the loudest. */
struct waiting {
    float *target;
    int first_sample, samples; /* with the silence */
    int first_row, rows, wanted;
};

struct clf__frame_maker {
    struct clf_device *device;
    int bands;
    struct clf__log_mel log_mel;
    struct clf__arena arena;
    struct clf__tensor samples, frames, peaks; /* (1, room), (rows, bands), (1, rows) */
    float *samples_host, *frames_host, *peaks_host;
    struct waiting *waiting;
    int count, capacity;
    int used_samples, used_rows;
};

clf_status clf__frame_maker_create(struct clf__frame_maker **out, struct clf_device *device, int bands)
{
    CLF__TRY(clf__allocate(out, 1, sizeof **out));
    (*out)->device = device;
    (*out)->bands = bands;
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
    if (maker != NULL) {
        free_room(maker);
        clf__log_mel_free(&maker->log_mel);
        clf__free(maker->waiting);
        clf__free(maker);
    }
}

static clf_status make_tables(struct clf__frame_maker *maker)
{
    if (maker->bands > CLF__LOG_MEL_MOST_BANDS) {
        return clf__fail(CLF_UNSUPPORTED,
                         "recordings become log-mel frames of %d bands at most, and this model takes %d "
                         "(\"feature_size\"); give it frames in .npy files",
                         CLF__LOG_MEL_MOST_BANDS, maker->bands);
    }
    return maker->log_mel.tables.buffer == NULL
               ? clf__log_mel_create(&maker->log_mel, maker->device, maker->bands)
               : CLF_OK;
}

/* Of samples, and of frames: recordings that fill a minute have so many, and few beside for their ends. */
static clf_status allocate_room(struct clf__frame_maker *maker, int samples, int rows)
{
    CLF__TRY(clf__allocate(&maker->samples_host, (size_t)samples, sizeof *maker->samples_host));
    CLF__TRY(
        clf__allocate(&maker->frames_host, (size_t)rows * (size_t)maker->bands, sizeof *maker->frames_host));
    CLF__TRY(clf__allocate(&maker->peaks_host, (size_t)rows, sizeof *maker->peaks_host));
    CLF__TRY(clf__arena_reserve(&maker->arena, &maker->samples, CLF__F32, 1, samples, "samples"));
    CLF__TRY(
        clf__arena_reserve(&maker->arena, &maker->frames, CLF__F32, rows, maker->bands, "log-mel frames"));
    CLF__TRY(clf__arena_reserve(&maker->arena, &maker->peaks, CLF__F32, 1, rows, "their peaks"));
    return clf__arena_allocate(&maker->arena);
}

/* Makes room, where what waits leaves too little. */
static clf_status make_room(struct clf__frame_maker *maker, int samples, int rows)
{
    if (samples <= maker->samples.columns - maker->used_samples &&
        rows <= maker->frames.rows - maker->used_rows) {
        return CLF_OK;
    }
    CLF__TRY(clf__frame_maker_finish(maker));
    if (samples <= maker->samples.columns && rows <= maker->frames.rows) {
        return CLF_OK;
    }
    free_room(maker);
    clf_status status =
        allocate_room(maker, clf__larger(samples, MINUTE), clf__larger(rows, MINUTE / HOP + 1));
    if (status != CLF_OK) {
        free_room(maker);
    }
    return status;
}

static clf_status wait_for(struct clf__frame_maker *maker, const struct waiting *waiting)
{
    if (maker->count == maker->capacity) {
        int capacity = maker->capacity > 0 ? 2 * maker->capacity : 16;
        CLF__TRY(clf__resize(&maker->waiting, (size_t)capacity, sizeof *maker->waiting));
        maker->capacity = capacity;
    }
    maker->waiting[maker->count++] = *waiting;
    maker->used_samples += waiting->samples;
    maker->used_rows += waiting->rows;
    return CLF_OK;
}

clf_status clf__frame_maker_add(struct clf__frame_maker *maker, float *target, int frames,
                                const float *samples, int count)
{
    int rows = (count + CONTEXT + HOP - 1) / HOP; /* the last one still looks at the recording */
    CLF__TRY(make_tables(maker));
    CLF__TRY(make_room(maker, count + SILENCE, rows));
    const struct waiting waiting = {.target = target,
                                    .first_sample = maker->used_samples,
                                    .samples = count + SILENCE,
                                    .first_row = maker->used_rows,
                                    .rows = rows,
                                    .wanted = frames};
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
        CLF__TRY(clf__log_mel_forward(clf__tensor_rows(maker->frames, its->first_row, its->rows),
                                      clf__tensor_columns(maker->peaks, its->first_row, its->rows),
                                      clf__tensor_columns(maker->samples, its->first_sample, its->samples), 0,
                                      &maker->log_mel));
    }
    return clf__tensor_read(clf__tensor_columns(maker->peaks, 0, maker->used_rows), maker->peaks_host);
}

static clf_status scale(const struct clf__frame_maker *maker)
{
    for (int i = 0; i < maker->count; i++) {
        const struct waiting *its = &maker->waiting[i];
        float peak = -INFINITY;
        for (int row = its->first_row; row < its->first_row + its->rows; row++) {
            peak = fmaxf(peak, maker->peaks_host[row]);
        }
        CLF__TRY(
            clf__log_mel_scale(clf__tensor_rows(maker->frames, its->first_row, its->wanted), peak - RANGE));
    }
    return clf__tensor_read(clf__tensor_rows(maker->frames, 0, maker->used_rows), maker->frames_host);
}

clf_status clf__frame_maker_finish(struct clf__frame_maker *maker)
{
    clf_status status = maker->count > 0 ? compute(maker) : CLF_OK;
    if (status == CLF_OK && maker->count > 0) {
        status = scale(maker);
    }
    for (int i = 0; i < maker->count && status == CLF_OK; i++) {
        const struct waiting *its = &maker->waiting[i];
        size_t width = (size_t)maker->bands;
        memcpy(its->target, maker->frames_host + (size_t)its->first_row * width,
               (size_t)its->wanted * width * sizeof *its->target);
    }
    maker->count = maker->used_samples = maker->used_rows = 0;
    return status;
}

static clf_status read_recording(float **values, int *frames, int *whole, struct clf__frame_maker *maker,
                                 const char *path, int most)
{
    struct clf__recording recording;
    CLF__TRY(clf__recording_read(&recording, path, most));
    *whole = recording.frames < INT_MAX ? (int)recording.frames : INT_MAX;
    *frames = *whole < most ? *whole : most;
    clf_status status = clf__allocate(values, (size_t)*frames * (size_t)maker->bands, sizeof **values);
    if (status == CLF_OK && *frames > 0) {
        status = clf__frame_maker_add(maker, *values, *frames, recording.samples, recording.count);
    }
    clf__recording_free(&recording);
    return status == CLF_OK ? clf__frame_maker_finish(maker) : status;
}

clf_status clf__frames_read(float **values, int *frames, int *whole, struct clf__frame_maker *maker,
                            const char *path, int most)
{
    int is_stored;
    *values = NULL;
    CLF__TRY(clf__frames_are_stored(&is_stored, path));
    if (is_stored) {
        CLF__TRY(clf__npy_read(values, whole, path, maker->bands));
        *frames = *whole < most ? *whole : most;
        return CLF_OK;
    }
    clf_status status = read_recording(values, frames, whole, maker, path, most);
    if (status != CLF_OK) {
        clf__free(*values);
        *values = NULL;
    }
    return status;
}
