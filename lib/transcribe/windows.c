/* Splits a recording into windows of log-mel frames, which the device computes one window at a time. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/device/lock.h"
#include "transcribe/internal.h"

clf_status clf__windows_create(struct clf__windows *windows, struct clf_device *device, int bands)
{
    CLF__LOCK_DEVICE(device);
    *windows = (struct clf__windows){.audio = NULL};
    CLF__TRY(clf__spectrogram_create(&windows->spectrogram, device, bands));
    CLF__TRY(clf__spectrogram_resize(&windows->spectrogram, CLF__CHUNK_SAMPLES, CLF__WINDOW_FRAMES));
    return clf__allocate(&windows->zeros, (size_t)CLF__WINDOW_FRAMES * (size_t)bands, sizeof *windows->zeros);
}

void clf__windows_free(struct clf__windows *windows)
{
    CLF__LOCK_DEVICE(windows->spectrogram.device);
    clf__spectrogram_free(&windows->spectrogram);
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

/* Fills the buffer with the samples starting at `first`, and with zeros after the end of the recording. */
static clf_status hold(struct clf__windows *windows, int64_t first)
{
    float *samples = windows->spectrogram.samples_host;
    int64_t spent = first - windows->first;
    if (spent < 0) {
        CLF__TRY(begin(windows, windows->audio));
        spent = first;
    }
    while (spent > 0 || windows->count < CLF__CHUNK_SAMPLES) {
        int gone = spent < windows->count ? (int)spent : windows->count;
        size_t read = 0;
        windows->count -= gone;
        windows->first += gone;
        spent -= gone;
        memmove(samples, samples + gone, (size_t)windows->count * sizeof *samples);
        float *end = samples + windows->count;
        size_t room = (size_t)(CLF__CHUNK_SAMPLES - windows->count);
        if (!windows->ended) {
            CLF__TRY(clf_audio_read(end, &read, windows->audio, room));
            windows->ended = read < room;
            windows->total = windows->first + windows->count + (int64_t)read;
        }
        memset(end + read, 0, (room - read) * sizeof *end);
        windows->count = CLF__CHUNK_SAMPLES;
    }
    return CLF_OK;
}

/* Computes log-mel frames first to first + count - 1, unscaled, with silence after the recording. */
static clf_status compute(struct clf__windows *windows, struct clf__tensor y, int64_t first, int count)
{
    int64_t middle = first * CLF__FRAME_SAMPLES;
    int64_t from = middle > CLF__FRAME_CONTEXT ? middle - CLF__FRAME_CONTEXT : 0;
    const struct clf__frame_range range = {
        .samples = CLF__CHUNK_SAMPLES, .centre = (int)(middle - from), .frames = count};
    CLF__TRY(hold(windows, from));
    CLF__LOCK_DEVICE(windows->spectrogram.device);
    CLF__TRY(clf__spectrogram_upload(&windows->spectrogram, CLF__CHUNK_SAMPLES));
    return clf__spectrogram_compute(&windows->spectrogram, y, &range);
}

static clf_status read_peaks(struct clf__windows *windows)
{
    CLF__LOCK_DEVICE(windows->spectrogram.device);
    return clf__spectrogram_read_peaks(&windows->spectrogram, CLF__WINDOW_FRAMES);
}

clf_status clf__windows_measure(struct clf__windows *windows, struct clf_audio *audio, struct clf__tensor y,
                                const struct clf_transcriber *transcriber)
{
    windows->peak = -INFINITY;
    CLF__TRY(begin(windows, audio));
    /* Frames after the end may still overlap the recording. */
    for (int64_t first = 0; !windows->ended || first < clf__frames_of(windows->total);
         first += CLF__WINDOW_FRAMES) {
        CLF__TRY(clf__transcriber_go_on(transcriber));
        CLF__TRY(compute(windows, y, first, CLF__WINDOW_FRAMES));
        CLF__TRY(read_peaks(windows));
        windows->peak =
            fmaxf(windows->peak, clf__spectrogram_peak(&windows->spectrogram, 0, CLF__WINDOW_FRAMES));
    }
    windows->frames = windows->total / CLF__FRAME_SAMPLES;
    return begin(windows, audio);
}

clf_status clf__windows_take(struct clf__windows *windows, struct clf__tensor y, int64_t first, int count)
{
    int left = CLF__WINDOW_FRAMES - count;
    if (count > 0) {
        CLF__TRY(compute(windows, y, first, count));
        CLF__LOCK_DEVICE(windows->spectrogram.device);
        CLF__TRY(clf__spectrogram_scale(clf__tensor_rows(y, 0, count), windows->peak));
    }
    CLF__LOCK_DEVICE(windows->spectrogram.device);
    return left > 0 ? clf__tensor_write(clf__tensor_rows(y, count, left), windows->zeros) : CLF_OK;
}
