/* Splits a recording into windows of log-mel frames, which the device computes one window at a time. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/device/lock.h"
#include "transcribe/internal.h"

static const float RANGE =
    8.0F; /* dynamic range in powers of ten below the maximum; lower values are raised to it */

clf_status clf__windows_create(struct clf__windows *windows, struct clf_device *device, int bands)
{
    CLF__LOCK_DEVICE(device);
    *windows = (struct clf__windows){.device = device};
    clf__arena_init(&windows->arena, device);
    CLF__TRY(clf__log_mel_create(&windows->log_mel, device, bands));
    CLF__TRY(clf__allocate(&windows->samples, CLF__PIECE_SAMPLES, sizeof *windows->samples));
    CLF__TRY(clf__allocate(&windows->peaks_host, CLF__WINDOW_FRAMES, sizeof *windows->peaks_host));
    CLF__TRY(
        clf__allocate(&windows->zeros, (size_t)CLF__WINDOW_FRAMES * (size_t)bands, sizeof *windows->zeros));
    CLF__TRY(clf__arena_reserve(&windows->arena, &windows->piece, CLF__F32, 1, CLF__PIECE_SAMPLES,
                                "samples of a window"));
    CLF__TRY(clf__arena_reserve(&windows->arena, &windows->peaks, CLF__F32, 1, CLF__WINDOW_FRAMES,
                                "peaks of a window"));
    return clf__arena_allocate(&windows->arena);
}

void clf__windows_free(struct clf__windows *windows)
{
    CLF__LOCK_DEVICE(windows->device);
    clf__log_mel_free(&windows->log_mel);
    clf__arena_free(&windows->arena);
    clf__free(windows->samples);
    clf__free(windows->peaks_host);
    clf__free(windows->zeros);
}

static clf_status begin(struct clf__windows *windows, struct clf_audio *audio)
{
    windows->audio = audio;
    windows->first = 0;
    windows->count = 0;
    windows->ended = 0;
    return clf_audio_rewind(audio);
}

/* Fills the buffer with the samples from `first` on, and with zeros after the end of the recording. */
static clf_status hold(struct clf__windows *windows, int64_t first)
{
    int64_t spent = first - windows->first;
    if (spent < 0) {
        CLF__TRY(begin(windows, windows->audio));
        spent = first;
    }
    while (spent > 0 || windows->count < CLF__PIECE_SAMPLES) {
        int gone = spent < windows->count ? (int)spent : windows->count;
        size_t read = 0;
        windows->count -= gone;
        windows->first += gone;
        spent -= gone;
        memmove(windows->samples, windows->samples + gone, (size_t)windows->count * sizeof *windows->samples);
        float *end = windows->samples + windows->count;
        size_t room = (size_t)(CLF__PIECE_SAMPLES - windows->count);
        if (!windows->ended) {
            CLF__TRY(clf_audio_read(windows->audio, end, room, &read));
            windows->ended = read < room;
            windows->total = windows->first + windows->count + (int64_t)read;
        }
        memset(end + read, 0, (room - read) * sizeof *end);
        windows->count = CLF__PIECE_SAMPLES;
    }
    return CLF_OK;
}

/* Computes log-mel frames first to first + count - 1 and their maxima, with silence after the recording. */
static clf_status compute(struct clf__windows *windows, struct clf__tensor y, int64_t first, int count)
{
    int64_t middle = first * CLF__FRAME_SAMPLES;
    int64_t from = middle > CLF__FRAME_CONTEXT ? middle - CLF__FRAME_CONTEXT : 0;
    CLF__TRY(hold(windows, from));
    CLF__LOCK_DEVICE(windows->device);
    CLF__TRY(clf__tensor_write(windows->piece, windows->samples));
    return clf__log_mel_forward(clf__tensor_rows(y, 0, count), clf__tensor_columns(windows->peaks, 0, count),
                                windows->piece, (int)(middle - from), &windows->log_mel);
}

static clf_status read_peaks(struct clf__windows *windows)
{
    CLF__LOCK_DEVICE(windows->device);
    return clf__tensor_read(windows->peaks, windows->peaks_host);
}

clf_status clf__windows_measure(struct clf__windows *windows, struct clf_audio *audio, struct clf__tensor y,
                                const struct clf_transcriber *transcriber)
{
    float peak = -INFINITY;
    CLF__TRY(begin(windows, audio));
    /* Frames after the end may still overlap the recording. */
    for (int64_t first = 0;
         !windows->ended || first * CLF__FRAME_SAMPLES < windows->total + CLF__FRAME_CONTEXT;
         first += CLF__WINDOW_FRAMES) {
        CLF__TRY(clf__transcriber_go_on(transcriber));
        CLF__TRY(compute(windows, y, first, CLF__WINDOW_FRAMES));
        CLF__TRY(read_peaks(windows));
        for (int i = 0; i < CLF__WINDOW_FRAMES; i++) {
            peak = fmaxf(peak, windows->peaks_host[i]);
        }
    }
    windows->frames = windows->total / CLF__FRAME_SAMPLES;
    windows->lowest = peak - RANGE;
    return begin(windows, audio);
}

clf_status clf__windows_take(struct clf__windows *windows, struct clf__tensor y, int64_t first, int count)
{
    int left = CLF__WINDOW_FRAMES - count;
    if (count > 0) {
        CLF__TRY(compute(windows, y, first, count));
        CLF__LOCK_DEVICE(windows->device);
        CLF__TRY(clf__log_mel_scale(clf__tensor_rows(y, 0, count), windows->lowest));
    }
    CLF__LOCK_DEVICE(windows->device);
    return left > 0 ? clf__tensor_write(clf__tensor_rows(y, count, left), windows->zeros) : CLF_OK;
}
